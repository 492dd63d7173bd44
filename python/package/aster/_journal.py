"""What a sweep has done, in its folder: a line for each point that has been run, as soon as it has."""

from __future__ import annotations

import fcntl
import json
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from ._aster import UsageError

NAME = "points.jsonl"


def _outcome(line: str) -> dict[str, Any] | None:
    """What a line says of a point, if it does."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("point"), str):
        return None
    return entry if isinstance(entry.get("figures"), dict) else None


class Journal:
    """The points that have been run, by their identity. Only one sweep at a time writes to a folder."""

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / NAME).open("a+", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"{folder}: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise UsageError(f"{folder}: another sweep is writing to this folder; name another one") from None
        self.done: dict[str, dict[str, Any]] = {}
        self._file.seek(0)
        end = number = 0
        while line := self._file.readline():
            number += 1
            if not line.endswith("\n"):
                # A sweep ended while it wrote this line.
                self._file.truncate(end)
                break
            entry = _outcome(line)
            if entry is None:
                self._file.close()
                raise UsageError(
                    f"{folder / NAME}: line {number} is not a point of a sweep; take the line away, and its "
                    f"point is run again, or name another folder"
                )
            self._keep(entry)
            end = self._file.tell()

    def add(self, identity: str, outcome: dict[str, Any]) -> None:
        """A point has been run."""
        entry = {"point": identity} | outcome
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.flush()
        self._keep(entry)

    def _keep(self, entry: dict[str, Any]) -> None:
        """Keeps a point's outcome. All points have the same names of figures, which take more memory than
        the figures, unless they are the same strings as well."""
        figures = {sys.intern(name): value for name, value in entry["figures"].items()}
        self.done[entry["point"]] = entry | {"figures": figures}

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
