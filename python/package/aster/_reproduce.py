"""The papers' measurements beside Aster's."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from . import _aster
from ._run import bar


class Reproduction(dict[str, Any]):
    """The report of ``aster reproduce --json``. ``print`` shows it as the table of the command line."""

    def __init__(self, report: dict[str, Any], table: str) -> None:
        super().__init__(report)
        self.table = table

    def __str__(self) -> str:
        return self.table


def reproduce(
    what: str, *, quick: bool = False, progress: bool | Callable[[str, float], object] = False
) -> Reproduction:
    """Repeats the measurements of a paper: ``"babol"``, ``"cosmos"``, ``"softssd"``, ``"ocssd"`` or
    ``"host-ftl"``. It takes minutes, or seconds with ``quick``, which has fewer requests and points.

    ``progress`` is ``True`` for a bar (needs tqdm), or is called with the name of the part that is under way
    and the share of it that is done. Ctrl-C ends it.
    """
    with bar() if progress is True else nullcontext() as shown:
        tell = shown if progress is True else progress
        report, table = _aster.reproduce(what, quick, tell if callable(tell) else None)
    return Reproduction(json.loads(report), table)
