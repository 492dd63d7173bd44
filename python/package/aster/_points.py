"""A point of a sweep: what is run for it, on whichever machine, and the row that comes of it."""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _aster
from ._aster import AsterError, UsageError, __version__
from ._profile import Profile

stopping = threading.Event()
"""Set to end the points that run in this process."""


class Stopped(Exception):
    """The sweep was ended while a point ran."""


JOB = "job."
RUN = "run."
PROFILE = "profile"

RUN_OPTIONS = (
    "precondition",
    "content",
    "age_hours",
    "verify",
    "keep_going",
    "queue_depth",
    "trace_format",
    "trace_columns",
    "trace_device",
    "trace_place",
    "trace_loop",
    "trace_speed",
    "trace_wrap",
    "trace_round",
)
"""Arguments of ``Profile.run`` that a sweep passes on, and goes over as ``run.NAME``."""


def sha256_of(path: str | Path) -> str:
    """Of a file's bytes, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest(told: list[Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Work:
    """What all points of a sweep have in common. It is sent to other machines."""

    profile: Profile
    job: str | None
    """The job file's text."""
    trace: str | None
    trace_sha256: str | None
    options: Mapping[str, Any]
    build: str
    """Of the Aster that sweeps: figures of another one are not taken for its own."""

    def identity(self) -> str:
        """The same for the same work, and for no other."""
        _, name, _, text, overrides = self.profile._profile.parts
        return _digest([self.build, name, text, overrides, self.job, self.trace_sha256, dict(self.options)])


@dataclass(frozen=True, slots=True)
class Point:
    """One run of a sweep."""

    parameters: Mapping[str, Any]
    seed: int

    def identity(self, work: str) -> str:
        """The same for the same run, and for no other; ``work`` is the identity of its work."""
        return _digest([work, dict(self.parameters), self.seed])


_SECTION = re.compile(r"\s*\[(?P<name>[^\]]+)\]\s*\Z")


def with_option(job: str, section: str | None, option: str, value: Any) -> str:
    """A job file's text with another value for an option: of all jobs, or of the one of that name."""
    lines: list[str] = []
    found = False
    inside = False
    line = f"{option}={int(value) if isinstance(value, bool) else value}"
    for each in job.splitlines():
        head = _SECTION.match(each)
        if head is not None:
            name = head["name"].strip()
            inside = name != "global" if section is None else name == section
            lines.append(each)
            if inside:
                found = True
                lines.append(line)
        elif not (inside and re.match(rf"\s*{re.escape(option)}\s*(=|\Z)", each)):
            lines.append(each)
    if not found:
        raise UsageError(f"{JOB}{section or option}: the job file has no job of that name")
    return "\n".join(lines) + "\n"


def check_key(key: str, work: Work) -> None:
    """Raises :class:`aster.UsageError` for a key that can't be swept."""
    if key.startswith(JOB):
        parts = key.split(".")
        if work.job is None or len(parts) not in (2, 3) or not all(parts):
            raise UsageError(f"{key}: expected job.OPTION or job.SECTION.OPTION, of a sweep with a job file")
    elif key.startswith(RUN) and key[len(RUN) :] not in RUN_OPTIONS:
        raise UsageError(f"{key}: there are {', '.join(RUN + name for name in RUN_OPTIONS)}")


def run_point(work: Work, point: Point) -> dict[str, Any]:
    """Runs a point. Returns its figures, or the error in words, and how many seconds it took."""
    began = time.perf_counter()
    try:
        row = flat(_report(work, point))
    except AsterError as error:
        row = {"error": str(error)}
    return {"figures": row, "seconds": time.perf_counter() - began, "version": __version__}


def _go_on(_phase: str, _share: float) -> None:
    if stopping.is_set():
        raise Stopped


def _report(work: Work, point: Point) -> dict[str, Any]:
    drive, job, options, overrides = work.profile, work.job, dict(work.options), {}
    for key, value in point.parameters.items():
        if key == PROFILE:
            drive = Profile(_aster.Profile.find(value, work.profile.overrides))
        elif key.startswith(JOB):
            assert job is not None
            _, *section, option = key.split(".")
            job = with_option(job, section[0] if section else None, option, value)
        elif key.startswith(RUN):
            options[key[len(RUN) :]] = value
        else:
            overrides[key] = value
    if overrides:
        drive = drive.changed(overrides)
    work_of = {"trace": work.trace} if job is None else {"job": job}
    return drive.run(**work_of, seed=point.seed, check=False, progress=_go_on, **options).report


LEFT_OUT = {"provenance", "wall_s", "buckets", "limits", "warnings"}
"""Parts of a report that are no figures."""


def _leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            for key, inner in value.items():
                if key not in LEFT_OUT:
                    yield from _leaves(inner, f"{name}.{key}" if name else key)
        case list():
            for place, inner in enumerate(value):
                inner_name = str(place)
                if isinstance(inner, dict):
                    inner_name = str(inner.get("kind", inner.get("name", place)))
                    inner = {key: each for key, each in inner.items() if key not in ("kind", "name")}
                yield from _leaves(inner, f"{name}.{inner_name}")
        case _:
            yield name, value


def flat(report: Mapping[str, Any]) -> dict[str, Any]:
    """All figures of a report, by their path in it: ``total.all.latency.p99_us``. Tasks and kinds of requests
    stand under their names."""
    figures = dict(_leaves(dict(report), ""))
    figures["warnings"] = ",".join(warning["code"] for warning in report["warnings"])
    figures["failures"] = sum(task["failures"] for task in report["tasks"])
    return figures
