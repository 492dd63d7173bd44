"""fio's JSON output: what was asked of a drive, and what came of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._aster import UsageError

DIRECTIONS = ("read", "write", "trim")

HOW_TO = "run fio 3 with --output-format=json, or json+"

LEFT_OUT = {
    # How much is done. The simulated drive is smaller than the real one, and is asked for less.
    "size", "filesize", "io_size", "io_limit", "number_ios", "loops", "runtime", "timeout", "time_based",
    "ramp_time", "offset", "fileoffset", "offset_increment", "steadystate", "ss", "steadystate_duration",
    "ss_dur", "steadystate_ramp_time", "ss_ramp", "steadystate_check_interval", "ss_interval",
    # Where, and beside what: there is one drive, and what ran together is known.
    "filename", "directory", "name", "stonewall", "wait_for_previous", "new_group", "group_reporting",
    "numjobs", "exitall", "exit_what", "exitall_on_error", "startdelay",
    # What fio writes down.
    "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "lat_percentiles",
    "clat_percentiles", "slat_percentiles", "percentile_list",
}  # fmt: skip
"""Options that the simulated job doesn't take over."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of one direction of a job."""

    iops: float
    p50_us: float
    p99_us: float
    ios: int

    def items(self) -> list[tuple[str, float]]:
        """The figures that are to be met, by their names in a report."""
        return [("iops", self.iops), ("p50_us", self.p50_us), ("p99_us", self.p99_us)]


@dataclass(frozen=True, slots=True)
class FioJob:
    """A job of fio with all its copies."""

    name: str
    source: str
    """The file that it was read from."""
    options: Mapping[str, str]
    copies: int
    figures: Mapping[str, Figures]
    """By direction, of those that it has."""

    @property
    def place(self) -> str:
        """How errors call it."""
        return f"{self.source}: job {self.name!r}"

    def number(self, option: str, default: int) -> int:
        """A whole number among the options."""
        text = self.options.get(option, "")
        try:
            return int(text) if text else default
        except ValueError:
            raise UsageError(f"{self.place}: {option}: expected a whole number, but is {text!r}") from None


@dataclass(frozen=True, slots=True)
class Stage:
    """Jobs that ran side by side."""

    jobs: tuple[FioJob, ...]


def read(paths: Iterable[str | Path]) -> list[Stage]:
    """The stages of all files, in their order, with a name for each job that no other one has."""
    stages: list[Stage] = []
    for path in map(Path, paths):
        stages += _stages(str(path), _document(path))
    counts: dict[str, int] = {}
    for stage in stages:
        for job in stage.jobs:
            counts[job.name] = counts.get(job.name, 0) + 1
    return _named(stages, counts)


def _named(stages: Sequence[Stage], counts: Mapping[str, int]) -> list[Stage]:
    """A job whose name others have, too, is called by its file as well, and by a number if need be."""
    used: dict[str, int] = {}
    named = []
    for stage in stages:
        jobs = []
        for job in stage.jobs:
            name = job.name if counts[job.name] == 1 else f"{Path(job.source).stem}/{job.name}"
            used[name] = used.get(name, 0) + 1
            if used[name] > 1:
                name = f"{name}#{used[name]}"
            jobs.append(FioJob(name, job.source, job.options, job.copies, job.figures))
        named.append(Stage(tuple(jobs)))
    return named


def _document(path: Path) -> Mapping[str, Any]:
    """fio's JSON in a file, in which it may print lines before and after it."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "not text"
        raise UsageError(f"{path}: {problem}; fio's JSON output is expected here ({HOW_TO})") from None
    lines = text.splitlines(keepends=True)
    begin = next((at for at, line in enumerate(lines) if line.lstrip().startswith("{")), None)
    if begin is None:
        terse = any(line.split(";", 2)[1:2] and ";fio-" in line for line in lines)
        kind = "this is fio's terse output, which has too little" if terse else "there is no JSON in it"
        raise UsageError(f"{path}: {kind}; {HOW_TO}")
    try:
        document, _ = json.JSONDecoder().raw_decode("".join(lines[begin:]).lstrip())
    except json.JSONDecodeError as error:
        line = begin + error.lineno
        raise UsageError(
            f"{path}: line {line}: {error.msg}: its JSON is damaged, or fio was ended before its end"
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise UsageError(f"{path}: lacks \"jobs\", so it isn't fio's JSON output; {HOW_TO}")
    if not document["jobs"]:
        raise UsageError(f'{path}: "jobs" is empty: fio ran none')
    return document


def _options(where: str, options: Any) -> dict[str, str]:
    if not isinstance(options, dict):
        raise UsageError(f"{where}: expected options by their names; {HOW_TO}")
    return {str(name): str(value) for name, value in options.items()}


def _is_set(options: Mapping[str, str], *names: str) -> bool:
    return any(options.get(name, "0") != "0" for name in names)


def _stages(source: str, document: Mapping[str, Any]) -> list[Stage]:
    common = _options(f"{source}: global options", document.get("global options", {}))
    stages: list[list[tuple[str, dict[str, str], list[Mapping[str, Any]]]]] = []
    for number, entry in enumerate(document["jobs"], 1):
        if not isinstance(entry, dict) or not isinstance(entry.get("jobname"), str):
            raise UsageError(f'{source}: job {number}: lacks "jobname"; {HOW_TO}')
        name = entry["jobname"]
        where = f"{source}: job {name!r}"
        if "job options" not in entry and not common:
            raise UsageError(f'{where}: lacks "job options", by which it is repeated; {HOW_TO}')
        options = common | _options(f"{where}: job options", entry.get("job options", {}))
        if entry.get("error"):
            raise UsageError(f"{where}: ended with error {entry['error']}; leave it out, or run it again")
        last = stages[-1][-1] if stages else None
        if last is not None and last[0] == name and last[1] == options and _copies(where, options) > 1:
            # Without group_reporting each copy has figures of its own.
            last[2].append(entry)
        elif stages and not _is_set(options, "stonewall", "wait_for_previous"):
            stages[-1].append((name, options, [entry]))
        else:
            stages.append([(name, options, [entry])])
    return [Stage(tuple(_job(source, *each) for each in stage)) for stage in stages]


def _copies(where: str, options: Mapping[str, str]) -> int:
    text = options.get("numjobs") or "1"
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"{where}: numjobs: expected a whole number above 0, but is {text!r}")
    return int(text)


def _job(source: str, name: str, options: dict[str, str], entries: list[Mapping[str, Any]]) -> FioJob:
    where = f"{source}: job {name!r}"
    if "mixed" in entries[0]:
        raise UsageError(f"{where}: has reads and writes in one; run it without unified_rw_reporting")
    figures = {}
    for direction in DIRECTIONS:
        of_copies = [
            entry[direction]
            for entry in entries
            if isinstance(entry.get(direction), dict) and entry[direction].get("iops")
        ]
        if of_copies:
            figures[direction] = _figures(f"{where}: {direction}", of_copies)
    if not figures:
        raise UsageError(
            f"{where}: has 0 IOPS in every direction, so there is nothing to fit; leave it out, or "
            f"run it longer"
        )
    return FioJob(name, source, options, _copies(where, options), figures)


def _figures(where: str, of_copies: Sequence[Mapping[str, Any]]) -> Figures:
    ios = [_number(where, copy, "total_ios") for copy in of_copies]
    iops = math.fsum(_number(where, copy, "iops") for copy in of_copies)
    latencies = [_latencies(where, copy) for copy in of_copies]
    if all("bins" in each for each in latencies):
        bins: dict[int, int] = {}
        for each in latencies:
            for at, count in each["bins"].items():
                bins[at] = bins.get(at, 0) + count
        p50, p99 = (_of_bins(bins, share) for share in (0.5, 0.99))
    else:
        # Copies do the same, so that their percentiles differ little; in the mean they are about all copies'.
        weights = [max(count, 1.0) for count in ios]
        p50, p99 = (
            math.fsum(
                weight * _percentile(where, each, percent)
                for weight, each in zip(weights, latencies, strict=True)
            )
            / math.fsum(weights)
            for percent in (50, 99)
        )
    for name, value in (("iops", iops), ("50th percentile", p50), ("99th percentile", p99)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{where}: {name}: expected a number above 0, but is {value}")
    return Figures(iops, p50 / 1e3, p99 / 1e3, int(sum(ios)))


def _number(where: str, of: Mapping[str, Any], name: str) -> float:
    value = of.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageError(f"{where}: lacks {name!r}; {HOW_TO}")
    return float(value)


def _latencies(where: str, of: Mapping[str, Any]) -> Mapping[str, Any]:
    """Latencies in nanoseconds: those of completion, or where only these have percentiles, of the whole."""
    kinds: list[dict[str, Any]] = [
        of[name] for name in ("clat_ns", "lat_ns") if isinstance(of.get(name), dict)
    ]
    for kind in kinds:
        if isinstance(kind.get("bins"), dict) and kind["bins"]:
            return {"bins": _bins(where, kind["bins"])}
        if isinstance(kind.get("percentile"), dict) and kind["percentile"]:
            return kind
    if "clat" in of or "lat" in of:
        raise UsageError(f"{where}: has latencies in microseconds, which fio 2 wrote; {HOW_TO}")
    raise UsageError(
        f"{where}: has no percentiles of clat_ns or lat_ns; {HOW_TO}, without gtod_reduce or disable_clat"
    )


def _percentile(where: str, latencies: Mapping[str, Any], percent: int) -> float:
    if "bins" in latencies:
        return _of_bins(latencies["bins"], percent / 100)
    for name, value in latencies["percentile"].items():
        try:
            if abs(float(name) - percent) < 1e-6:
                return float(value)
        except (TypeError, ValueError):
            break
    raise UsageError(
        f"{where}: has no {percent}th percentile; run fio with {percent} in percentile_list, or with "
        f"--output-format=json+"
    )


def _bins(where: str, bins: Mapping[str, Any]) -> dict[int, int]:
    """How many requests had which latency, as json+ has them."""
    try:
        return {int(at): int(count) for at, count in bins.items()}
    except (TypeError, ValueError):
        raise UsageError(f"{where}: bins: expected counts by nanoseconds; {HOW_TO}") from None


def _of_bins(bins: Mapping[int, int], share: float) -> float:
    """The latency below or at which this share of all is."""
    wanted = share * sum(bins.values())
    seen = 0
    for at in sorted(bins):
        seen += bins[at]
        if seen >= wanted:
            return float(at)
    return 0.0
