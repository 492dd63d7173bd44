"""Drives that lose power at any moment."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _aster
from ._aster import RunError, UsageError
from ._profile import Profile, profile
from ._run import bar


@dataclass(frozen=True, slots=True)
class Asked:
    """What to do to which drives."""

    cuts: int
    seed: int
    content: str | None
    dead_lane: bool
    rounds: Sequence[int]
    depth: int | None
    recovery_uncut: bool
    progress: Callable[[str, float], object] | None


def torture(
    drive: str | Path | Profile,
    *,
    cuts: int = 120,
    seed: int = 1,
    content: str | None = None,
    full_size: bool = False,
    dead_lane: bool = False,
    rounds: Sequence[int] = (),
    depth: int | None = None,
    recovery_uncut: bool = False,
    progress: bool | Callable[[str, float], object] = False,
) -> dict[str, Any]:
    """Takes the power of drives away at any moment, ``cuts`` times while they work, and checks everything
    that they hold. Returns the report of ``aster torture --json``.

    ``drive`` is a profile, or its name or file. One with more than 8 GiB of flash gets fewer ways and blocks
    unless ``full_size`` is set. ``seed`` is the first drive's. With ``dead_lane`` the chips of a lane stop
    answering. ``rounds``, ``depth`` and ``recovery_uncut`` repeat what a failure has told. ``content`` and
    ``progress`` are those of :meth:`aster.Profile.run`.

    A drive that has lost what was flushed raises :class:`aster.RunError`, whose ``report`` is the report.
    """
    base = drive if isinstance(drive, Profile) else profile(drive)
    if cuts < 1:
        raise UsageError(f"cuts: must be 1 or more, but is {cuts}")
    if depth is not None and not (rounds and 1 <= depth <= 64):
        raise UsageError(f"depth: must be from 1 to 64, and goes with rounds, but is {depth}")
    if recovery_uncut and not rounds:
        raise UsageError("recovery_uncut: goes with rounds")
    if any(each < 0 for each in rounds):
        raise UsageError(f"rounds: expected numbers from 0 on, but they are {list(rounds)}")
    tortured = base._profile
    if not full_size:
        keys = _aster.smaller_drive(tortured, content)
        tortured = tortured.changed(keys) if keys else tortured
    with bar() if progress is True else nullcontext() as shown:
        tell = shown if progress is True else progress or None
        text, problem = _aster.torture_drives(
            tortured,
            Asked(
                cuts=cuts,
                seed=seed,
                content=content,
                dead_lane=dead_lane,
                rounds=list(rounds),
                depth=depth,
                recovery_uncut=recovery_uncut,
                progress=tell if callable(tell) else None,
            ),
        )
    report: dict[str, Any] = json.loads(text)
    if problem is not None:
        error = RunError(problem)
        error.report = report  # type: ignore[attr-defined]
        raise error
    return report
