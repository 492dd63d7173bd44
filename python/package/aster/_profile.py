"""Profiles: what drives there are, and what runs on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _aster
from ._keys import Overrides, arguments
from ._requests import Maker, Request, Spool, Workload
from ._run import Arbiter, Asked, Job, OwnPieces, Placement, Replay, Run, Victims, carry_out


@dataclass(frozen=True, slots=True)
class Listed:
    """A profile that comes along."""

    name: str
    description: str
    shape: str
    """Its array in words."""
    flash_bytes: int


def profiles() -> list[Listed]:
    """The profiles that come along, as ``aster profiles`` lists them."""
    return [Listed(**entry) for entry in json.loads(_aster.profiles())]


def profile(wanted: str | Path, overrides: Overrides | None = None) -> Profile:
    """The shipped profile of that name, or the one in that TOML file.

    ``overrides`` are keys that take the place of the profile's, such as ``{"geometry.ways": 4}``; ``None`` as
    a value takes a key away. Raises :class:`aster.UsageError` for a profile or a key that is wrong.
    """
    return Profile(_aster.Profile.find(wanted, list(arguments(overrides or {}))))


class Profile:
    """A profile: all there is to say of a drive. Made by :func:`aster.profile`. It can be pickled."""

    __slots__ = ("_profile",)

    def __init__(self, profile: _aster.Profile) -> None:
        self._profile = profile

    @property
    def name(self) -> str:
        """What reports call it: a shipped profile's name, or the file's without its ending."""
        return self._profile.name

    @property
    def overrides(self) -> list[str]:
        """The overridden keys, as ``KEY=VALUE``."""
        return self._profile.overrides

    @property
    def keys(self) -> dict[str, Any]:
        """Every key with its value, in the profile's tables, those with their default included."""
        keys: dict[str, Any] = json.loads(self._profile.keys_json())
        return keys

    def to_toml(self) -> str:
        """The whole profile as TOML, which :func:`aster.profile` reads from a file."""
        return self._profile.to_toml()

    def changed(self, overrides: Overrides) -> Profile:
        """The same profile with further overrides."""
        return Profile(self._profile.changed(list(arguments(overrides))))

    def check(self) -> dict[str, Any]:
        """Boots the drive and says what drive it is: what ``aster check --json`` prints."""
        checked: dict[str, Any] = json.loads(self._profile.check_json())
        return checked

    def run(
        self,
        *,
        job: str | Path | None = None,
        trace: str | Path | None = None,
        requests: Iterable[Request | tuple[Any, ...]] | None = None,
        workload: Workload | Callable[[int], Workload] | None = None,
        seed: int = 1,
        precondition: int | str | None = None,
        content: str | None = None,
        age_hours: int | None = None,
        verify: bool = False,
        keep_going: bool = False,
        check: bool = True,
        commands: bool = False,
        monitor: float | None = None,
        monitor_ways: bool = False,
        spans: bool = False,
        image: str | Path | None = None,
        events: str | Path | None = None,
        perfetto: str | Path | None = None,
        wave: str | Path | None = None,
        victims: Victims | None = None,
        placement: Placement | None = None,
        arbiter: Arbiter | None = None,
        progress: bool | Callable[[str, float], object] = False,
        trace_format: str | None = None,
        trace_columns: str | None = None,
        trace_device: str | Sequence[str] = (),
        trace_place: str = "apart",
        trace_loop: str | None = None,
        trace_speed: str | float = "recorded",
        trace_wrap: bool = False,
        trace_round: bool = False,
        queue_depth: int = 32,
    ) -> Run:
        """Runs work on a drive, a new one unless there is an ``image``, as ``aster run`` does, and returns
        what came of it.

        ``job`` is a fio job file, or the text of one if it has more than one line. ``trace`` is a trace,
        plain or packed; the arguments behind ``progress`` say how it is replayed. ``requests`` is anything
        that gives requests (:class:`aster.Request`), which are replayed like a trace. ``workload`` is an
        object that is asked for its next request whenever fewer than ``queue_depth`` are in flight, and may
        be told of each that has completed (:class:`aster.Workload`), or a callable that is given the drive's
        bytes and makes such an object.

        ``precondition`` fills the drive first and overwrites that percentage of it at random; ``"steady"``
        makes it at once as if that had gone on for ever (``"steady:zipf:1.1"``: in a distribution of fio's).
        ``content`` is what pages keep: ``"full"``, or ``"fingerprint"`` for a tag per 4 KiB. ``age_hours`` is
        the age of the flash when the work begins. ``verify`` checks everything that is read.

        ``commands`` keeps a row for each command, and ``monitor`` samples the drive each so many simulated
        milliseconds, with ``monitor_ways`` also each way. Without them ``Run.commands`` and ``Run.monitor``
        run the work once more. ``spans`` adds to the report where the commands spent their time, as
        ``report["spans"]``. ``events``, ``perfetto`` and ``wave`` are files, written as by the options of
        ``aster run``: every event as a line of JSON, a trace for ui.perfetto.dev, and the waveforms of the
        first flash operations.

        ``image`` is a file that keeps the drive from run to run, as ``--image`` of the command line does. A
        new one is made if there is none.

        ``victims`` is a victim policy for a quick try: a callable that gets a list of :class:`aster.Block`,
        those of a LUN that may be emptied, and returns one of them. It takes the place of ``ftl.victims``.
        ``placement`` gets an :class:`aster.Geometry` and returns the LUNs to which logical pages go, in place
        of ``ftl.placement``. ``arbiter`` gets a channel's number and a list of :class:`aster.Transaction`,
        those that wait for it, and returns one of them, in place of ``scheduler.transactions``. An exception
        in one of them ends the run.

        ``progress`` is ``True`` for a bar in a terminal or a notebook (needs tqdm), or is called with
        ``"before"`` or ``"run"`` and the share of it that is done.

        Requests that fail raise :class:`aster.RunError`, whose ``run`` has the figures; not with
        ``check=False``. With ``keep_going`` a job goes on after one. Ctrl-C ends a run. Python's lock is
        given up while the drive runs, so that threads run drives side by side.
        """
        devices = [trace_device] if isinstance(trace_device, str) else list(trace_device)
        if sum(work is not None for work in (job, trace, requests, workload)) != 1:
            raise _aster.UsageError(
                "name a job file with job= or a trace with trace=, or give requests= or workload="
            )
        spool, speed, trace_name = None, str(trace_speed), None
        if requests is not None:
            spool = Spool(requests)
            trace, trace_name, trace_format = spool.path, "requests", "blktrace"
            speed = speed if spool.timed else "fastest"
        replay = Replay(
            format=trace_format,
            columns=trace_columns,
            devices=devices,
            place=trace_place,
            when_full=trace_loop,
            speed=speed,
            wrap=trace_wrap,
            round=trace_round,
            queue_depth=queue_depth,
        )
        pieces = OwnPieces(victims=victims, placement=placement, arbiter=arbiter)
        if pieces != OwnPieces():
            pieces.check(self.keys)
        asked = Asked(
            job=None if job is None else Job.of(job),
            trace=trace,
            replay=replay,
            seed=seed,
            precondition=precondition,
            age_hours=age_hours,
            content=content,
            verify=verify,
            keep_going=keep_going,
            trace_name=trace_name,
            workload=None if workload is None else Maker(workload),
            spool=spool,
            commands=commands,
            monitor_ms=monitor,
            monitor_ways=monitor_ways,
            spans=spans,
            image=image,
            events=events,
            perfetto=perfetto,
            wave=wave,
            pieces=pieces,
        )
        return carry_out(self._profile, asked, progress, check)

    def __repr__(self) -> str:
        overrides = "".join(f", {override}" for override in self.overrides)
        return f"<aster.Profile {self.name}{overrides}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Profile):
            return NotImplemented
        return self.name == other.name and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Callable[..., Profile], tuple[Any, ...]]:
        return _unpickled, self._profile.parts


def _unpickled(wanted: Path, name: str, file: str, text: str, overrides: list[str]) -> Profile:
    return Profile(_aster.Profile.of_text(wanted, name, file, text, overrides))
