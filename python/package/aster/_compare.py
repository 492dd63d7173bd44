"""Runs or sweeps side by side, with differences and with confidence over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ._aster import UsageError, beyond_chance, sampled
from ._points import flat
from ._run import Run
from ._sweep import Sweep
from ._table import needed

if TYPE_CHECKING:
    import pandas

Compared: TypeAlias = "Run | Sequence[Run] | Sweep"
"""What can be compared: a run, runs that differ in their seeds alone, or a sweep."""

FIGURES = (
    "total.all.iops",
    "total.all.mb_per_s",
    "total.all.latency.mean_us",
    "total.all.latency.p50_us",
    "total.all.latency.p99_us",
    "total.all.latency.p999_us",
    "waf",
)
"""What is compared unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure over seeds."""

    values: tuple[float, ...]
    """The figure of each seed."""
    mean: float
    half_width: float | None
    """Half of the 95 % confidence interval of the mean; ``None`` for a single seed."""

    @staticmethod
    def of(values: Sequence[float]) -> Measured:
        return Measured(tuple(values), *sampled(list(values)))

    @property
    def seeds(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of all that are compared, at one point of their parameters."""

    parameters: Mapping[str, Any]
    figure: str
    of: tuple[Measured, ...]

    def percent(self, other: int = 1) -> float | None:
        """How much more the other one has than the first; ``None`` where the first has 0."""
        first = self.of[0].mean
        return (self.of[other].mean / first - 1) * 100 if first else None

    def is_certain(self, other: int = 1) -> bool | None:
        """Whether the two differ with 95 % confidence (Welch's t-test over seeds); ``None`` with a single
        seed of either."""
        return beyond_chance(list(self.of[0].values), list(self.of[other].values))


class Comparison(list[Difference]):
    """Differences, a row for each figure and point. ``print`` shows them as a table."""

    def __init__(self, names: Sequence[str], rows: Iterable[Difference]) -> None:
        super().__init__(rows)
        self.names = list(names)

    def to_pandas(self) -> pandas.DataFrame:
        """As a data frame of pandas: the parameters, ``figure``, and for each that is compared its mean, the
        half of its confidence interval, and from the second on the difference in percent and whether it is
        certain."""
        frame: pandas.DataFrame = needed("pandas", "to_pandas()").DataFrame(list(map(self._row, self)))
        return frame

    def _row(self, row: Difference) -> dict[str, Any]:
        cells: dict[str, Any] = {**row.parameters, "figure": row.figure}
        for number, (name, measured) in enumerate(zip(self.names, row.of, strict=True)):
            cells[name] = measured.mean
            cells[f"{name} ±"] = measured.half_width
            if number:
                cells[f"{name} %"] = row.percent(number)
                cells[f"{name} certain"] = row.is_certain(number)
        return cells

    def __str__(self) -> str:
        parameters = list(dict.fromkeys(key for row in self for key in row.parameters))
        head = [*parameters, "figure", self.names[0]]
        for name in self.names[1:]:
            head += [name, "%"]
        lines = [head]
        for row in self:
            line = [str(row.parameters.get(key, "")) for key in parameters] + [row.figure]
            for number, measured in enumerate(row.of):
                width = measured.half_width
                line.append(f"{measured.mean:,.6g}" + (f" ± {width:,.3g}" if width is not None else ""))
                if number:
                    percent = row.percent(number)
                    mark = "?" if row.is_certain(number) is False else ""
                    line.append("–" if percent is None else f"{percent:+.1f}{mark}")
            lines.append(line)
        widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
        left = len(parameters) + 1
        text = "\n".join(
            "  ".join(
                cell.ljust(width) if column < left else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )
        if any(row.is_certain(number) is False for row in self for number in range(1, len(row.of))):
            text += "\n? may be chance: the seeds differ more among themselves (95 % confidence)"
        return text


Points: TypeAlias = "dict[tuple[tuple[str, Any], ...], list[Mapping[str, Any]]]"


def _points(compared: Compared) -> Points:
    """Figures of each seed, by the parameters of the point."""
    if isinstance(compared, Run):
        return {(): [flat(compared.report)]}
    if isinstance(compared, Sweep):
        points: Points = {}
        for row in compared.to_arrow().to_pylist():
            key = tuple((name, row[name]) for name in compared.parameters)
            points.setdefault(key, []).append(row)
        return points
    runs = list(compared)
    if not runs or not all(isinstance(run, Run) for run in runs):
        raise UsageError(f"compare: expected a run, a list of runs or a sweep, but is {compared!r}")
    return {(): [flat(run.report) for run in runs]}


def compare(
    *compared: Compared, names: Sequence[str] | None = None, figures: Sequence[str] | None = None
) -> Comparison:
    """Runs or sweeps side by side: each a run, a list of runs that differ in their seeds alone, or a sweep.

    Sweeps are compared point by point, where their parameters have the same values. ``figures`` are paths in
    the report, such as ``"total.all.latency.p99_us"``; ``names`` are what the table calls those that are
    compared (A, B …). Differences are to the first one. With several seeds they come with 95 % confidence.
    """
    if len(compared) < 2:
        raise UsageError("compare: two or more are needed")
    called = list(names) if names is not None else [chr(ord("A") + at) for at in range(len(compared))]
    if len(called) != len(compared):
        raise UsageError(f"names: {len(compared)} are needed, but there are {len(called)}")
    all_points = [_points(each) for each in compared]
    common = [key for key in all_points[0] if all(key in points for points in all_points[1:])]
    if not common:
        raise UsageError("compare: the sweeps have no point in common")
    rows = []
    for key in common:
        for figure in figures or FIGURES:
            seeds = [[row.get(figure) for row in points[key]] for points in all_points]
            numbers = [[value for value in each if isinstance(value, int | float)] for each in seeds]
            if all(numbers):
                rows.append(Difference(dict(key), figure, tuple(map(Measured.of, numbers))))
            elif figures is not None and not any(
                row.get("error") for points in all_points for row in points[key]
            ):
                raise UsageError(f"figures: {figure}: not all have this figure, or it is no number")
    return Comparison(called, rows)
