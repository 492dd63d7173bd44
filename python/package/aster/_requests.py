"""Requests that Python makes, as work for a drive."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO

from ._aster import UsageError, Wait

SECTOR = 512
"""Bytes in which offsets and lengths are written."""

_LETTERS = {"read": "R", "write": "W", "trim": "D", "flush": "F"}


class Request(NamedTuple):
    """A request of a host. Any tuple of the same four does as well, or of the first three."""

    kind: str
    """``"read"``, ``"write"``, ``"trim"`` or ``"flush"``."""
    offset: int = 0
    """Its first byte on the drive."""
    length: int = 0
    """Its bytes."""
    at_us: float | None = None
    """When it goes, in microseconds from the beginning; ``None`` for as soon as the queue has room. Either
    all requests have a time or none has."""


class Workload(Protocol):
    """Work that depends on what has completed. It may also have a method ``completed(done)``, which is called
    with an :class:`aster.Completion` for each request."""

    def next_request(self, now_us: float) -> Request | tuple[Any, ...] | Wait | None:
        """The next request, whenever there is room for one in the queue: at once, or at its time ``at_us``.
        ``aster.WAIT`` for none until one of those in flight has completed, and ``None`` at the end of the
        work. ``now_us`` is the simulated time from the beginning of the work."""


class Maker:
    """Makes the workload of a run: a new one by a callable, or the object that there is."""

    repeats: bool
    """Whether each run has a new one, so that the same work can be run again."""

    def __init__(self, workload: Workload | Callable[[int], Workload]) -> None:
        is_made = not isinstance(workload, type) and hasattr(workload, "next_request")
        if not is_made and not callable(workload):
            raise UsageError(
                "workload: expected an object with a method next_request(now_us), or a callable that is "
                f"given the drive's bytes and makes one, but is {workload!r}"
            )
        self._workload, self.repeats = workload, not is_made

    def __call__(self, drive_bytes: int) -> Workload:
        made: Any = self._workload
        if self.repeats:
            made = made(drive_bytes)
        if not callable(getattr(made, "next_request", None)):
            raise UsageError(
                f"workload: expected an object with a method next_request(now_us), but is {made!r}"
            )
        if not callable(getattr(made, "completed", len)):
            raise UsageError(
                f"workload: its completed must be a method that takes an aster.Completion, but is "
                f"{made.completed!r}"
            )
        workload: Workload = made
        return workload


def _whole(name: str, number: int, value: Any) -> int:
    try:
        whole = int(value)
    except (TypeError, ValueError):
        whole = -1
    if whole != value or whole < 0 or whole % SECTOR:
        raise UsageError(
            f"request {number}: its {name} must be a multiple of {SECTOR} bytes, but is {value!r}"
        )
    return whole // SECTOR


class Spool:
    """Requests in a file, which goes with its last user."""

    timed: bool
    """Whether they have times."""

    def __init__(self, requests: Iterable[Request | tuple[Any, ...]]) -> None:
        handle, name = tempfile.mkstemp(prefix="aster-", suffix=".requests")
        self.path = Path(name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            self.timed = _write(file, requests)


def _write(file: TextIO, requests: Iterable[Request | tuple[Any, ...]]) -> bool:
    timed: bool | None = None
    number = 0
    before = 0
    for number, each in enumerate(requests, 1):
        try:
            request = Request(*each)
        except TypeError:
            raise UsageError(
                f"request {number}: expected kind, offset and length, and perhaps a time, but is {each!r}"
            ) from None
        letter = _LETTERS.get(request.kind)
        if letter is None:
            raise UsageError(
                f"request {number}: its kind must be one of {', '.join(_LETTERS)}, but is {request.kind!r}"
            )
        if timed is None:
            timed = request.at_us is not None
        if timed != (request.at_us is not None):
            raise UsageError(f"request {number}: either all requests have a time (at_us) or none has")
        at = _nanoseconds(number, request.at_us, before)
        before = at
        place = ""
        if letter != "F":
            offset, length = (
                _whole("offset", number, request.offset),
                _whole("length", number, request.length),
            )
            place = f" {offset} + {length}"
        seconds, nanoseconds = divmod(at, 10**9)
        file.write(f"0,0 0 {number} {seconds}.{nanoseconds:09} 0 Q {letter}{place}\n")
    if number == 0:
        raise UsageError("requests: there is none")
    return bool(timed)


def _nanoseconds(number: int, at_us: float | None, before: int) -> int:
    if at_us is None:
        return 0
    try:
        at = round(float(at_us) * 1e3)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(
            f"request {number}: at_us must be a number of microseconds, but is {at_us!r}"
        ) from None
    if at < before:
        raise UsageError(f"request {number}: at_us is {at_us}, which is before the request in front of it")
    return at
