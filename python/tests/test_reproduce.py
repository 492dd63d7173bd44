"""Papers' measurements, from Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import aster
import pytest


def test_the_report_is_the_command_lines(command_line: Path) -> None:
    told: list[tuple[str, float]] = []
    report = aster.reproduce("babol", quick=True, progress=lambda part, share: told.append((part, share)))
    said = subprocess.run(
        [command_line, "reproduce", "babol", "--quick", "--json"], check=True, capture_output=True, text=True
    )
    assert report == json.loads(said.stdout)
    assert told and all(part and 0 <= share <= 1 for part, share in told)
    assert "Table I" in str(report)


def test_an_exception_in_progress_ends_it() -> None:
    class Enough(Exception):
        pass

    def stop(_part: str, _share: float) -> None:
        raise Enough

    for what in ("cosmos", "softssd", "ocssd", "host-ftl"):
        with pytest.raises(Enough):
            aster.reproduce(what, progress=stop)


def test_a_paper_that_is_not_there_is_said() -> None:
    with pytest.raises(aster.UsageError, match='reproduce: there are babol, cosmos, .* but no "femu"'):
        aster.reproduce("femu")
