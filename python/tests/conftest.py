"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

MIXED = """
[mixed]
rw=randrw
rwmixread=70
bs=4k
iodepth=8
size=8m
number_ios=2000
"""


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A job file."""
    path = tmp_path / "mixed.fio"
    path.write_text(MIXED)
    return path


@pytest.fixture(scope="session")
def command_line() -> Path:
    """The program `aster` of the same sources."""
    path = Path(os.environ.get("ASTER", ROOT / "target" / "debug" / "aster"))
    assert path.exists(), f"{path} is missing: cargo build -p aster-cli makes it"
    return path
