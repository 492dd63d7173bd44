"""A search around points that are good already: damped least squares (Levenberg and Marquardt)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._knobs import Values, share_of
from ._space import Range
from ._table import needed

BESIDE = 4
"""Points that are refined side by side at first: the best of so many combinations of what is chosen from
lists."""

WORTH = 0.97
"""What a round must make of a point's loss for another one to follow."""

STEP = 0.03
"""By which a dimension is moved, as a share of its range, to see what it does to each figure."""

DAMPING = (0.003, 0.1, 3.0)
"""How much a round holds back from the step that would be right if all were linear; all are tried."""

Point = Mapping[str, Any]
Residuals = Sequence[float]
"""For each figure how far it is from what was measured."""


def loss_of(residuals: Residuals) -> float:
    """The root of the mean square."""
    return math.sqrt(math.fsum(each * each for each in residuals) / len(residuals))


@dataclass(frozen=True, slots=True)
class Tried:
    """A point, and what came of it."""

    point: Point
    residuals: Residuals

    @property
    def loss(self) -> float:
        return loss_of(self.residuals)


def starts(space: Mapping[str, Values], tried: Sequence[Tried]) -> list[Tried]:
    """The best of each combination of values of lists, the best combination first."""
    best: dict[str, Tried] = {}
    for each in sorted(tried, key=lambda each: each.loss):
        best.setdefault(repr([each.point[key] for key in _chosen(space)]), each)
    return list(best.values())


def _chosen(space: Mapping[str, Values]) -> list[str]:
    return [key for key, values in space.items() if not isinstance(values, Range)]


def round_of(space: Mapping[str, Values]) -> int:
    """How many tries a round takes."""
    return sum(isinstance(values, Range) for values in space.values()) + len(DAMPING)


def refine(
    space: Mapping[str, Values],
    tried: Sequence[Tried],
    tries: int,
    run: Callable[[Sequence[Point]], list[Residuals | None]],
) -> Tried:
    """The best point that at most ``tries`` more tries find.

    A round sees what each dimension does to each figure, and goes where all of them together should be met.
    Of several points half are given up after each round, and one that gains little at once: then it is the
    turn of the next combination of what is chosen from lists.
    """
    ranges = {key: values for key, values in space.items() if isinstance(values, Range)}
    each_round = round_of(space)
    waiting = starts(space, tried)
    best = waiting[0]
    # Few rounds are better spent on the best point alone.
    beside = min(max(tries // (3 * each_round), 1), BESIDE)
    at_work, waiting = waiting[:beside], waiting[beside:]
    while ranges and at_work and tries >= each_round:
        after = []
        for each in at_work:
            if tries < each_round:
                break
            tries -= each_round
            better = _round(ranges, each, run)
            if better is not None:
                best = min(best, better, key=lambda each: each.loss)
                if better.loss < WORTH * each.loss:
                    after.append(better)
        after.sort(key=lambda each: each.loss)
        at_work = after[: max(len(at_work) // 2, 1)]
        if not at_work:
            at_work, waiting = waiting[:1], waiting[1:]
    return best


def _round(
    ranges: Mapping[str, Range],
    at: Tried,
    run: Callable[[Sequence[Point]], list[Residuals | None]],
) -> Tried | None:
    """A better point, or ``None``."""
    numpy = needed("numpy", "a fit")
    here = {key: min(max(share_of(values, at.point[key]), 0.0), 1.0) for key, values in ranges.items()}
    # Away from the nearer end of the range.
    there = {key: share + (STEP if share < 0.5 else -STEP) for key, share in here.items()}
    asked = [dict(at.point) | {key: ranges[key].at(share)} for key, share in there.items()]
    slopes = []
    for (key, values), point, of_point in zip(ranges.items(), asked, run(asked), strict=True):
        # What was really moved: whole numbers may not be as near as that.
        by = share_of(values, point[key]) - here[key]
        if of_point is None or by == 0:
            slopes.append([0.0] * len(at.residuals))
        else:
            slopes.append([(new - old) / by for new, old in zip(of_point, at.residuals, strict=True)])
    jacobian, residuals = numpy.array(slopes).T, numpy.array(at.residuals)
    normal, gradient = jacobian.T @ jacobian, jacobian.T @ residuals
    candidates = []
    for damping in DAMPING:
        scale = damping * (numpy.diag(normal) + 1e-3 * normal.max() + 1e-12)
        step = numpy.linalg.solve(normal + numpy.diag(scale), -gradient)
        shares = {
            key: min(max(here[key] + float(by), 0.0), 1.0) for key, by in zip(ranges, step, strict=True)
        }
        # Few digits: what linear algebra adds behind them differs from machine to machine.
        candidates.append(
            dict(at.point) | {key: ranges[key].at(round(share, 5)) for key, share in shares.items()}
        )
    found = [
        Tried(point, of_point)
        for point, of_point in zip(candidates, run(candidates), strict=True)
        if of_point is not None
    ]
    return min((each for each in found if each.loss < at.loss), key=lambda each: each.loss, default=None)
