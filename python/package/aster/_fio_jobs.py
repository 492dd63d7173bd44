"""Jobs that fio ran on a real drive, as a job file for a simulated one."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ._fio import LEFT_OUT, FioJob, Stage

_SIZE = re.compile(r"([0-9]+)\s*([kmgtp]?)(?:i?b)?\Z", re.IGNORECASE)


BYTES_OF_JOB = 64 << 20
"""That a job moves at most, unless it makes few requests."""

REQUESTS_MIN = 300
"""That a job makes, however large they are."""

SEED = 1000
"""Of the first job, unless fio was told another one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How much of what fio did is done."""

    capacity: int | None
    """The real drive's."""
    region_bytes: int
    """On which the jobs work; where ``full`` is set, it is the whole drive."""
    full: bool
    requests: int
    buffer_bytes: int
    """The largest data buffer that a drive of the search has."""


def _bytes_of(text: str) -> int | None:
    """A size as fio writes it, or ``None`` if it isn't one."""
    found = _SIZE.match(text.strip())
    return int(found[1]) * 1024 ** " kmgtp".index(found[2].lower() or " ") if found else None


def _block_bytes(job: FioJob) -> int:
    """About how large the requests are: by the first size that is named."""
    text = job.options.get("bs") or job.options.get("blocksize") or job.options.get("bsrange") or "4k"
    return max(_bytes_of(re.split(r"[,:/-]", text)[0]) or 4096, 512)


def _share(job: FioJob, capacity: int | None) -> float:
    """The share of the drive that the job works on."""
    text = job.options.get("size") or job.options.get("filesize") or ""
    if text.endswith("%"):
        percent = text[:-1].strip()
        return min(int(percent), 100) / 100 if percent.isdecimal() and int(percent) else 1.0
    amount = _bytes_of(text)
    return min(amount / capacity, 1.0) if amount and capacity else 1.0


def lines_of(job: FioJob, asked: Asked) -> list[str]:
    """The options that say what the job asks of the drive, and where."""
    lines = [
        f"{name}={value}" if value else name for name, value in job.options.items() if name not in LEFT_OUT
    ]
    share = _share(job, asked.capacity)
    if asked.full:
        return [*lines, f"size={max(math.ceil(100 * share), 1)}%"]
    block = _block_bytes(job)
    return [*lines, f"size={max(int(asked.region_bytes * share), 64 * block) // block * block}"]


def job_file(stages: Sequence[Stage], asked: Asked) -> str:
    """One stage after the other, called ``stage0job0`` and so on."""
    text = []
    if not asked.full:
        text += ["[fill]", "rw=write", "bs=128k", "iodepth=32", f"size={asked.region_bytes}"]
    for number, stage in enumerate(stages):
        # A real drive has time between two jobs, in which its buffer is written out.
        text += [f"[idle{number}]", "stonewall", "rw=write", "number_ios=1", "fsync=1"]
        writers = [job for job in stage.jobs if _writes(job)]
        for at, job in enumerate(writers):
            count = _unseen(job, asked)
            text += _section(f"before{number}job{at}", job, at, count, len(writers) > 1, 2 * number, asked)
        for at, job in enumerate(stage.jobs):
            count = _requests(stage, job, asked)
            text += _section(
                f"stage{number}job{at}", job, at, count, len(stage.jobs) > 1, 2 * number + 1, asked
            )
    return "\n".join(text) + "\n"


def _writes(job: FioJob) -> bool:
    return any(direction != "read" for direction in job.figures)


def _unseen(job: FioJob, asked: Asked) -> int:
    """Requests of a copy that nobody counts, with which a job that writes begins until the buffer is full."""
    return math.ceil(1.25 * asked.buffer_bytes / _block_bytes(job) / job.copies)


def _requests(stage: Stage, job: FioJob, asked: Asked) -> int:
    """Requests of a copy: fewer if they are large, more if the queues are deep, since these need some rounds
    until their latencies are what they stay."""
    depth = sum(each.copies * each.number("iodepth", 1) for each in stage.jobs)
    of_bytes = max(BYTES_OF_JOB // _block_bytes(job), REQUESTS_MIN)
    return math.ceil(max(min(asked.requests, of_bytes), 8 * depth) / job.copies)


def written_bytes(stages: Sequence[Stage], asked: Asked, page_bytes: int) -> int:
    """About as many bytes of flash as the jobs fill at most, with pages that they write only a part of."""
    written = 0
    for stage in stages:
        for job in stage.jobs:
            if _writes(job):
                count = job.copies * (_unseen(job, asked) + _requests(stage, job, asked))
                written += count * math.ceil(_block_bytes(job) / page_bytes) * page_bytes
    return written


def _section(
    name: str, job: FioJob, at: int, requests: int, beside: bool, place: int, asked: Asked
) -> list[str]:
    """A section of the job file; with others ``beside`` it, it ends when the first of them does.

    Each ``place`` in the file has a seed of its own. With fio's default of one for all, a job reads at random
    what the one before it has read: of so few requests, much would still be in the drive's buffer.
    """
    return [
        f"[{name}]",
        "new_group" if at else "stonewall",
        *(["exitall"] if beside else []),
        "group_reporting",
        f"numjobs={job.copies}",
        f"number_ios={requests}",
        "io_size=1p",
        f"randseed={SEED + place}",
        *lines_of(job, asked),
    ]
