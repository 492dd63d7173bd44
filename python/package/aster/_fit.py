"""From fio's figures of a real drive to a profile, by search."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from . import _aster, _fio, _knobs, _search
from ._array import Array
from ._aster import RunError, UsageError, __version__
from ._engine import engine
from ._fio import Stage
from ._fio_jobs import Asked, job_file, lines_of, written_bytes
from ._fitted import Fit, Met
from ._journal import Journal
from ._keys import Overrides
from ._knobs import Values
from ._points import Work, sha256_of
from ._profile import Profile, profile
from ._refine import Residuals, Tried, loss_of, refine, round_of
from ._space import Range, checked
from ._sweep import Runner, bar

MIB = 1 << 20

CLASSES = ((64 * MIB, "tiny"), (64 << 30, "ideal"))
"""Which profile a fit begins with, by the drive's capacity up to which it does."""

LARGEST_CLASS = "cosmos-plus"

SHARE_OF_SEARCH = 0.5
"""Of the tries, how many look for the best anywhere; the others around what was found."""

ROOM = 1.5
"""Of a fresh drive: the flash that it has for each byte that is written."""

REGION_MIB = 256
"""On which the simulated jobs work."""

TRIALS = 200
"""Drives that are tried, unless told otherwise."""

REQUESTS = 2000
"""Of each simulated job, unless told otherwise."""

_UNIT = re.compile(r"\s*([0-9.]+)\s*([kmgtp]?)(i?)b?\s*\Z", re.IGNORECASE)


def bytes_of(text: str | int) -> int:
    """A capacity: a number of bytes, or text such as ``"480 GB"`` or ``"64 GiB"``."""
    found = _UNIT.match(str(text))
    try:
        amount = float(found[1]) if found else 0.0
    except ValueError:
        amount = 0.0
    if found is None or amount <= 0:
        raise UsageError(f'capacity: expected bytes, or text such as "480 GB", but is {text!r}')
    power = " kmgtp".index(found[2].lower() or " ")
    return int(amount * (1024 if found[3] else 1000) ** power)


def base_for(capacity: int | None) -> str:
    """The shipped profile that a fit of a drive of that capacity begins with."""
    if capacity is not None:
        for most, name in CLASSES:
            if capacity <= most:
                return name
    return LARGEST_CLASS


def fit(
    fio: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    base: str | Path | Profile | None = None,
    overrides: Overrides | None = None,
    capacity: str | int | None = None,
    hold_back: Sequence[str] | None = None,
    space: Mapping[str, Values] | None = None,
    keep: Sequence[str] = (),
    trials: int = TRIALS,
    requests: int = REQUESTS,
    region_mib: int = REGION_MIB,
    precondition: int | None = None,
    seed: int = 1,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: bool | Callable[[int, int], object] = False,
) -> Fit:
    """Searches a profile whose drive gives the IOPS, the median and the 99th percentile that fio measured.

    ``fio`` is fio's output of the real drive, one file or several (``--output-format=json`` or ``json+``).
    Jobs that fio ran side by side run so here, too; those with ``stonewall``, and those of other files, run
    one after the other.

    ``base`` is the profile to begin with, by default a shipped one for the ``capacity``, such as
    ``"480 GB"``; ``overrides`` are further keys of it. ``capacity`` also says what share of the drive a job's
    ``size`` is; without it, jobs go over all of it.

    The simulated drive has fewer blocks than the real one, so that a try takes a moment. By default it is
    fresh but for a region of ``region_mib`` mebibytes, which is written once and on which the jobs work, and
    garbage collection takes no part. With ``precondition``, the whole drive has about that size, is filled,
    and as many percent of it are overwritten at random. Each job makes ``requests`` requests, or more if its
    queues are deep.

    ``hold_back`` names jobs that the search doesn't see; by default it is every third of three or more.
    Their error says how far the profile can be trusted; that of the other jobs says only how well it was
    fitted.

    ``space`` has further dimensions of the search, or others in their place: a key of the profile and its
    values, as in :func:`aster.sweep`. ``keep`` names dimensions that stay as in the base. The search makes
    ``trials`` tries of all jobs, of which ``seed`` decides the first ones.

    What is done is kept in the folder ``out``, and the same fit goes on there after whatever ended it.
    ``profile.toml`` and ``fit.json`` in it are the outcome. ``scheduler``, ``workers`` and ``progress`` are
    those of :func:`aster.sweep`.
    """
    if trials < 1:
        raise UsageError(f"trials: must be 1 or more, but is {trials}")
    if requests < 100:
        raise UsageError(f"requests: fewer than 100 have no 99th percentile, but it is {requests}")
    if workers is not None and workers < 1:
        raise UsageError(f"workers: must be 1 or more, but is {workers}")
    stages = _fio.read([fio] if isinstance(fio, str | Path) else fio)
    if not stages:
        raise UsageError("fio: there is no file")
    size = None if capacity is None else bytes_of(capacity)
    drive = base if isinstance(base, Profile) else profile(base if base is not None else base_for(size))
    if overrides:
        drive = drive.changed(overrides)
    fitted, held = _held_back(stages, hold_back)
    writes = any(direction != "read" for stage in fitted for job in stage.jobs for direction in job.figures)
    dimensions = _dimensions(drive, space or {}, keep, writes, precondition is not None)
    if region_mib < 1:
        raise UsageError(f"region_mib: must be 1 or more, but is {region_mib}")
    full = precondition is not None
    asked = Asked(size, region_mib * MIB, full, requests, _buffer_bytes(drive, dimensions))
    options = {"content": "fingerprint"} | ({"precondition": precondition} if full else {})
    array = Array(drive, _flash_bytes(drive, asked, fitted, held), full=full)
    _check_jobs(drive.changed(_knobs.overrides(drive, {}, array)), stages, asked)

    def work(of: Sequence[Stage]) -> Work:
        return Work(
            profile=drive,
            job=job_file(of, asked),
            trace=None,
            trace_sha256=None,
            options=options,
            build=sha256_of(_aster.__file__),
        )

    folder = Path(out)
    total = trials + (1 if held else 0)
    with Journal(folder) as journal, engine(scheduler, workers) as at_work:
        with _bar(progress, total) as shown:
            runner = Runner(work(fitted), [1], journal, at_work, progress)
            runner.begin(shown, total)
            best, loss, tried = _best(runner, drive, dimensions, fitted, array, trials, seed)
            keys = _knobs.overrides(drive, best, array)
            (rows,) = runner.rows([keys], told=False)
            met = _met(fitted, rows[0], held_back=False)
            if held:
                runner.work = work(held)
                (rows,) = runner.rows([keys])
                if rows[0]["error"] is not None:
                    raise RunError(f"the jobs that were held back: {rows[0]['error']}")
                met += _met(held, rows[0], held_back=True)
    order = {job.name: at for at, job in enumerate(job for stage in stages for job in stage.jobs)}
    came = Fit(
        profile=drive.changed(keys),
        base=drive,
        keys=keys,
        met=sorted(met, key=lambda each: order[each.job]),
        loss=loss,
        trials=tried,
        limits=_knobs.at_an_end(dimensions, best),
        capacity=size,
        requests=requests,
        region_mib=region_mib,
        precondition=precondition,
    )
    (folder / "profile.toml").write_text(came.to_toml())
    (folder / "fit.json").write_text(json.dumps({"version": __version__} | came.data, indent=1) + "\n")
    return came


def _bar(progress: bool | Callable[[int, int], object], total: int) -> AbstractContextManager[Any]:
    return bar(progress, total, unit="try")


def _held_back(stages: Sequence[Stage], wanted: Sequence[str] | None) -> tuple[list[Stage], list[Stage]]:
    """The stages to fit, and those that are held back."""
    if wanted is None:
        held = [len(stages) >= 3 and at % 3 == 2 for at in range(len(stages))]
    else:
        names = [job.name for stage in stages for job in stage.jobs]
        for name in wanted:
            if name not in names:
                raise UsageError(f"hold_back: there is no job {name!r}; there are {', '.join(names)}")
        held = [any(job.name in wanted for job in stage.jobs) for stage in stages]
    if all(held):
        raise UsageError("hold_back: all jobs are held back, so there is nothing to fit")
    pairs = list(zip(stages, held, strict=True))
    return [stage for stage, back in pairs if not back], [stage for stage, back in pairs if back]


def _dimensions(
    drive: Profile, space: Mapping[str, Values], keep: Sequence[str], writes: bool, full: bool
) -> dict[str, Values]:
    dimensions = _knobs.knobs(drive, writes=writes, erases=writes and full) | checked(space)
    for key in keep:
        if key not in dimensions:
            raise UsageError(f"keep: {key}: no dimension of the search; there are {', '.join(dimensions)}")
        del dimensions[key]
    if not dimensions:
        raise UsageError("keep: all dimensions stay as they are, so there is nothing to search")
    return dimensions


def _flash_bytes(drive: Profile, asked: Asked, *of: Sequence[Stage]) -> int:
    """Where the whole drive is filled, it is as large as the region; else there is room for whatever jobs
    write, so that nothing is collected."""
    if asked.full:
        return asked.region_bytes
    page: int = drive.keys["geometry"]["page_bytes"]
    return int(ROOM * (asked.region_bytes + max(written_bytes(stages, asked, page) for stages in of)))


def _buffer_bytes(drive: Profile, dimensions: Mapping[str, Values]) -> int:
    """The largest data buffer of any try."""
    values = dimensions.get("ftl.buffer_entries", [drive.keys["ftl"]["buffer_entries"]])
    most = values.high if isinstance(values, Range) else max(values)
    page: int = drive.keys["geometry"]["page_bytes"]
    return int(most) * page


def _check_jobs(small: Profile, stages: Sequence[Stage], asked: Asked) -> None:
    """Raises :class:`aster.UsageError` for a job that has something which can't be simulated."""
    for stage in stages:
        for job in stage.jobs:
            text = "\n".join(["[job]", "number_ios=1", *lines_of(job, asked)]) + "\n"
            try:
                small.run(job=text, content="fingerprint", check=False)
            except UsageError as error:
                words = re.sub(r"\Ajob: (line \d+: )?", "", str(error))
                raise UsageError(f"{job.place}: {words}") from None


def _figure(row: Mapping[str, Any], number: int, at: int, direction: str, name: str) -> float | None:
    path = f"tasks.stage{number}job{at}.kinds.{direction}"
    value = row.get(f"{path}.iops" if name == "iops" else f"{path}.latency.{name}")
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _residuals(stages: Sequence[Stage], row: Mapping[str, Any]) -> list[float] | None:
    """How far each figure is from the measured one: the logarithm of their ratio, so that half is as far as
    twice. ``None`` if there is no such figure."""
    out = []
    for number, stage in enumerate(stages):
        for at, job in enumerate(stage.jobs):
            for direction, figures in job.figures.items():
                for name, measured in figures.items():
                    simulated = _figure(row, number, at, direction, name)
                    if simulated is None:
                        return None
                    out.append(math.log(simulated / measured))
    return out


def _met(stages: Sequence[Stage], row: Mapping[str, Any], held_back: bool) -> list[Met]:
    return [
        Met(job.name, direction, held_back, name, measured, _figure(row, number, at, direction, name))
        for number, stage in enumerate(stages)
        for at, job in enumerate(stage.jobs)
        for direction, figures in job.figures.items()
        for name, measured in figures.items()
    ]


def _made(drive: Profile, point: Mapping[str, Any], array: Array) -> dict[str, Any] | UsageError:
    """The profile's keys for a point, or why there is no such drive."""
    try:
        return _knobs.overrides(drive, point, array)
    except UsageError as error:
        return error


def _best(
    runner: Runner,
    drive: Profile,
    dimensions: Mapping[str, Values],
    stages: Sequence[Stage],
    array: Array,
    trials: int,
    seed: int,
) -> tuple[dict[str, Any], float, int]:
    """The best point, its loss, and how many were tried."""
    tried: list[Tried] = []
    problems: list[str] = []

    def run(points: Sequence[Mapping[str, Any]]) -> list[Residuals | None]:
        made = [_made(drive, point, array) for point in points]
        ran = iter(runner.rows([keys for keys in made if not isinstance(keys, UsageError)]))
        out: list[Residuals | None] = []
        for point, keys in zip(points, made, strict=True):
            residuals, problem = None, str(keys)
            if not isinstance(keys, UsageError):
                (row,) = next(ran)
                residuals = None if row["error"] else _residuals(stages, row)
                problem = row["error"] or "a job has no figure that was measured"
            if residuals is None:
                problems.append(problem)
            else:
                tried.append(Tried(point, residuals))
            out.append(residuals)
        return out

    def losses(points: Sequence[Mapping[str, Any]]) -> list[list[dict[str, Any]]]:
        return [
            [{"loss": None, "error": "failed"} if each is None else {"loss": loss_of(each), "error": None}]
            for each in run(points)
        ]

    first = _knobs.middle(dimensions, drive)
    # What is left after the last whole round is better spent on the search.
    each_round = round_of(dimensions)
    anywhere = trials - int((1 - SHARE_OF_SEARCH) * trials) // each_round * each_round
    _search.search(dimensions, {"loss": "minimize"}, anywhere, seed, losses, first=first)
    if not tried:
        raise RunError(f"no drive of the search could run the jobs: {problems[0]}")
    best = refine(dimensions, tried, trials - anywhere, run)
    return dict(best.point), best.loss, len(tried)
