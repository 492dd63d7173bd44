"""Drives that lose power, from Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import aster
import pytest


def test_a_drive_survives_and_the_report_is_the_command_lines(command_line: Path) -> None:
    told: list[float] = []
    report = aster.torture("pocket", cuts=6, seed=3, progress=lambda _, share: told.append(share))
    assert report["cuts"] == 6
    assert report["failure"] is None and not report["stopped"]
    assert all(0 <= share <= 1 for share in told)
    said = subprocess.run(
        [command_line, "torture", "pocket", "--cuts", "6", "--seed", "3", "--json"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert report == json.loads(said.stdout)


def test_a_case_is_repeated() -> None:
    once = aster.torture("pocket", seed=5, rounds=[1, 3], depth=2, recovery_uncut=True)
    assert once["cuts"] == 2 and once["drives"] == 1
    assert once == aster.torture("pocket", seed=5, rounds=[1, 3], depth=2, recovery_uncut=True)


def test_an_exception_in_progress_ends_it() -> None:
    class Enough(Exception):
        pass

    def stop(_phase: str, _share: float) -> None:
        raise Enough

    with pytest.raises(Enough):
        aster.torture("tiny", cuts=10_000, progress=stop)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"cuts": 0}, "cuts: must be 1 or more"),
        ({"depth": 3}, "depth: must be from 1 to 64, and goes with rounds"),
        ({"rounds": [1], "depth": 65}, "depth: must be from 1 to 64"),
        ({"rounds": [-1]}, "rounds: expected numbers from 0 on"),
        ({"recovery_uncut": True}, "recovery_uncut: goes with rounds"),
        ({"content": "some"}, 'content: must be "full" or "fingerprint"'),
        ({"dead_lane": True}, "dead_lane: needs a drive with parity"),
    ],
)
def test_a_wrong_argument_is_said(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(aster.UsageError) as raised:
        aster.torture("pocket", **asked)
    assert words in str(raised.value)
