"""What a sweep goes over: values of keys, and which of their combinations are points."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ._aster import UsageError


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; with ``log`` spread evenly over their orders of
    magnitude, with ``integer`` whole ones."""

    low: float
    high: float
    log: bool = False
    integer: bool = False

    def check(self, key: str) -> None:
        """Raises :class:`aster.UsageError` for a range without numbers."""
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise UsageError(
                f"{key}: a range goes from a lower to a higher number, not from {self.low} to {self.high}"
            )
        if self.log and self.low <= 0:
            raise UsageError(f"{key}: a range over orders of magnitude begins above 0, not at {self.low}")
        if self.integer and (self.low != int(self.low) or self.high != int(self.high)):
            raise UsageError(
                f"{key}: a range of whole numbers has whole ends, not {self.low} and {self.high}"
            )

    def at(self, share: float) -> float | int:
        """The number at this share of the range, from 0 to 1."""
        if self.integer:
            # Each whole number has as much of the range as any other.
            low, high = self.low - 0.5, self.high + 0.5
            value = low * (high / low) ** share if self.log else low + (high - low) * share
            return min(max(round(value), int(self.low)), int(self.high))
        if self.log:
            # Few digits: what a mathematical library adds behind them differs from machine to machine.
            return float(f"{self.low * (self.high / self.low) ** share:.9g}")
        return float(f"{self.low + (self.high - self.low) * share:.9g}")


Values: TypeAlias = "Range | Sequence[Any]"
Space: TypeAlias = Mapping[str, Values]
"""Keys with the values that a sweep gives them: a list of values, or a :class:`Range`."""


def checked(space: Space) -> dict[str, Range | list[Any]]:
    """The space, if there is something in each of its keys."""
    out: dict[str, Range | list[Any]] = {}
    for key, values in space.items():
        if isinstance(values, Range):
            values.check(key)
            out[key] = values
        elif isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
            raise UsageError(f"{key}: expected a list of values or a range, but is {values!r}")
        else:
            out[key] = [getattr(value, "item", lambda value=value: value)() for value in values]
            if not out[key]:
                raise UsageError(f"{key}: there is no value in its list")
    return out


def grid(space: Mapping[str, Range | list[Any]]) -> Iterator[dict[str, Any]]:
    """All combinations, the last key's values next to each other."""
    for key, values in space.items():
        if isinstance(values, Range):
            raise UsageError(f"{key}: a grid needs a list of values; a range is for the other methods")
    lists = [values for values in space.values() if not isinstance(values, Range)]
    for combination in itertools.product(*lists):
        yield dict(zip(space, combination, strict=True))


def _value(values: Range | list[Any], share: float) -> Any:
    if isinstance(values, Range):
        return values.at(share)
    return values[min(int(share * len(values)), len(values) - 1)]


def drawn(space: Mapping[str, Range | list[Any]], samples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Independent random points."""
    numbers = random.Random(seed)
    for _ in range(samples):
        yield {key: _value(values, numbers.random()) for key, values in space.items()}


def latin_hypercube(
    space: Mapping[str, Range | list[Any]], samples: int, seed: int
) -> Iterator[dict[str, Any]]:
    """Random points of which, for each key, one is in each of ``samples`` equal parts of its values."""
    numbers = random.Random(seed)
    columns = {}
    for key in space:
        shares = [(part + numbers.random()) / samples for part in range(samples)]
        numbers.shuffle(shares)
        columns[key] = shares
    for at in range(samples):
        yield {key: _value(values, columns[key][at]) for key, values in space.items()}


METHODS = ("grid", "random", "latin-hypercube", "search")
"""How points are chosen."""


def points(
    space: Mapping[str, Range | list[Any]], method: str, samples: int | None, seed: int
) -> list[dict[str, Any]]:
    """The points of a sweep that are known before it runs."""
    if method == "grid":
        if samples is not None:
            raise UsageError("samples: a grid has a point for each combination; leave it out")
        return list(grid(space))
    assert samples is not None
    choose = drawn if method == "random" else latin_hypercube
    return list(choose(space, samples, seed))
