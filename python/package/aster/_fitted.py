"""What came of a fit."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._profile import Profile

FIGURES = {"iops": "IOPS", "p50_us": "p50 µs", "p99_us": "p99 µs"}

FAR = 25.0
"""Percent of error from which on a figure counts as not matched."""


@dataclass(frozen=True, slots=True)
class Met:
    """A figure that was measured, and what the fitted drive gives."""

    job: str
    direction: str
    """``"read"``, ``"write"`` or ``"trim"``."""
    held_back: bool
    """Whether the search didn't see it."""
    figure: str
    """``"iops"``, ``"p50_us"`` or ``"p99_us"``."""
    measured: float
    simulated: float | None
    """``None`` if the simulated job had no such requests."""

    @property
    def percent(self) -> float | None:
        """How much more the simulated drive has than the real one."""
        return None if self.simulated is None else (self.simulated / self.measured - 1) * 100


def _error(met: Sequence[Met]) -> dict[str, Any]:
    """Absolute errors in percent, by figure: the median and the worst of all jobs."""
    out: dict[str, Any] = {}
    for figure in FIGURES:
        errors = [abs(each.percent) for each in met if each.figure == figure and each.percent is not None]
        if errors:
            out[figure] = {"median_percent": statistics.median(errors), "worst_percent": max(errors)}
    return out


class Fit:
    """A profile that was fitted to a real drive, and how well. ``print`` shows it as a table."""

    def __init__(
        self,
        *,
        profile: Profile,
        base: Profile,
        keys: Mapping[str, Any],
        met: Sequence[Met],
        loss: float,
        trials: int,
        limits: Sequence[str],
        capacity: int | None,
        requests: int,
        region_mib: int,
        precondition: int | None,
    ) -> None:
        self.profile, self.base = profile, base
        self.keys = dict(keys)
        """The keys that were fitted."""
        self.met = list(met)
        """Measured and simulated figures of each job."""
        self.loss, self.trials = loss, trials
        self._limits, self._capacity = list(limits), capacity
        self._requests, self._region_mib, self._precondition = requests, region_mib, precondition

    @property
    def fitted_error(self) -> dict[str, Any]:
        """Error of the jobs that the search saw: how well they were fitted, which predicts nothing."""
        return _error([each for each in self.met if not each.held_back])

    @property
    def held_back_error(self) -> dict[str, Any]:
        """Error of the jobs that the search didn't see: how far the profile can be trusted."""
        return _error([each for each in self.met if each.held_back])

    @property
    def unmatched(self) -> list[str]:
        """What couldn't be matched, in words."""
        out = []
        for each in self.met:
            percent = each.percent
            if percent is None or abs(percent) > FAR:
                is_there = (
                    "nothing" if each.simulated is None else f"{each.simulated:,.6g} ({percent:+.0f} %)"
                )
                held = ", held back" if each.held_back else ""
                out.append(
                    f"{each.job} {each.direction}{held}: {FIGURES[each.figure]} {each.measured:,.6g} "
                    f"measured, {is_there} simulated"
                )
        return out + self._limits

    @property
    def notes(self) -> list[str]:
        """What to know of the figures."""
        drive = self.profile.keys["geometry"]
        luns = drive["channels"] * drive["ways"] * drive["luns"]
        block = drive["pages_per_block"] * drive["page_bytes"]
        mib = (luns * drive["blocks_per_lun"] * block) >> 20
        real = f"; the real one has {self._capacity / 1e9:,.6g} GB" if self._capacity else ""
        before = (
            f"it was fresh, and the jobs worked on {self._region_mib:,} MiB that had been written once: "
            f"garbage collection took no part"
            if self._precondition is None
            else f"it was filled, with {self._precondition} % of it overwritten at random"
        )
        base = self.base.keys["geometry"]
        shape = [
            f"{self.base.name} has {base[key]:,} {words}"
            for key, words in (("blocks_per_lun", "blocks a LUN"), ("pages_per_block", "pages a block"))
            if base[key] != drive[key]
        ]
        notes = [
            f"the simulated drive has {mib:,} MiB of flash, {drive['blocks_per_lun']:,} blocks a LUN of "
            f"{drive['pages_per_block']:,} pages" + "".join(f"; {each}" for each in shape) + real,
            before,
            f"each job made {self._requests:,} requests, or a few more: what a real drive does only after "
            f"minutes, such as a cache of SLC that runs full, is not in the figures",
        ]
        if not any(each.held_back for each in self.met):
            notes.append("no job was held back: nothing is predicted")
        return notes

    @property
    def data(self) -> dict[str, Any]:
        """All of it for programs: what ``fit.json`` has."""
        return {
            "base": self.base.name,
            "base_overrides": self.base.overrides,
            "keys": self.keys,
            "trials": self.trials,
            "loss": self.loss,
            "fitted_error": self.fitted_error,
            "held_back_error": self.held_back_error,
            "unmatched": self.unmatched,
            "notes": self.notes,
            "figures": [
                {
                    "job": each.job,
                    "direction": each.direction,
                    "held_back": each.held_back,
                    "figure": each.figure,
                    "measured": each.measured,
                    "simulated": each.simulated,
                    "percent": each.percent,
                }
                for each in self.met
            ],
        }

    def to_toml(self) -> str:
        """The fitted profile, with what was fitted as a comment before it."""
        lines = [f"Fitted to figures of fio, beginning with {self.base.name}. Fitted keys:"]
        lines += [f"  {key} = {_toml(value)}" for key, value in self.keys.items()]
        for name, error in (("fitted", self.fitted_error), ("held back", self.held_back_error)):
            words = ", ".join(
                f"{FIGURES[figure].split()[0]} {of['median_percent']:.1f} % "
                f"(worst {of['worst_percent']:.1f} %)"
                for figure, of in error.items()
            )
            lines.append(f"Median error of jobs that were {name}: {words or 'there are none'}.")
        lines += [f"Note: {note}." for note in self.notes]
        comment = "".join(f"# {line}\n" for line in lines)
        return comment + "\n" + self.profile.to_toml()

    def __str__(self) -> str:
        head = ["job", "", "figure", "measured", "fitted drive", "error"]
        rows = [head]
        for each in self.met:
            percent = each.percent
            rows.append(
                [
                    f"{each.job} {each.direction}",
                    "held back" if each.held_back else "",
                    FIGURES[each.figure],
                    f"{each.measured:,.6g}",
                    "–" if each.simulated is None else f"{each.simulated:,.6g}",
                    "–" if percent is None else f"{percent:+.1f} %",
                ]
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        text = [
            "  ".join(
                cell.ljust(width) if column < 3 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        text.append("")
        for name, error in (("fitted", self.fitted_error), ("held back", self.held_back_error)):
            for figure, of in error.items():
                text.append(
                    f"{name:9}  {FIGURES[figure]:7} median error {of['median_percent']:5.1f} %, "
                    f"worst {of['worst_percent']:5.1f} %"
                )
        text += ["", "fitted keys:", *(f"  {key} = {_toml(value)}" for key, value in self.keys.items())]
        if self.unmatched:
            text += ["", "not matched:", *(f"  {line}" for line in self.unmatched)]
        text += ["", *(f"note: {note}" for note in self.notes)]
        return "\n".join(text)

    def __repr__(self) -> str:
        jobs = len({each.job for each in self.met})
        return f"<aster.Fit of {jobs} jobs from {self.base.name}: loss {self.loss:.3g}>"


def _toml(value: Any) -> str:
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else f"{value}"
