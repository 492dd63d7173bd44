"""What docs/python.md shows runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import aster
import pytest

from .conftest import ROOT

TEXT = (ROOT / "docs" / "python.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_python_of_the_first_hour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    code = blocks("python")
    assert len(code) >= 2
    for block in code:
        exec(compile(block, "docs/python.md", "exec"), namespace)
    assert len(namespace["commands"]) > 0


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(?:aster|run|profile)\.([a-z_]+)\(", TEXT))))
def test_what_is_named_is_there(name: str) -> None:
    places = (aster, aster.Profile, aster.Run)
    assert any(hasattr(place, name) for place in places), name
