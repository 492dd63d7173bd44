"""What docs/python.md shows runs as it stands there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import aster
import matplotlib
import pytest
from aster._command import read

from .conftest import ROOT

matplotlib.use("agg")

TEXT = (ROOT / "docs" / "python.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_python_of_the_first_hour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    code = blocks("python")
    assert len(code) >= 3
    for block in code:
        # Fifty drives, written for long, are for readers.
        shorter = block.replace("samples=50", "samples=4").replace("number_ios=20000", "number_ios=500")
        exec(compile(shorter, "docs/python.md", "exec"), namespace)
    assert (tmp_path / "p99.png").stat().st_size > 10_000
    assert len(namespace["sweep"]) == 4
    assert set(namespace["sweep"].to_arrow()["error"].to_pylist()) == {None}
    matplotlib.pyplot.close("all")


def test_the_sweep_file_is_the_sweep(tmp_path: Path) -> None:
    (text,) = blocks("toml")
    tomllib.loads(text)
    file = tmp_path / "over-provisioning.toml"
    file.write_text(text)
    asked = read(file)
    assert asked["space"]["ftl.over_provisioning_percent"] == aster.Range(7, 40)
    assert asked["out"] == tmp_path / "over-provisioning"


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(?:aster|run|profile)\.([a-z_]+)\(", TEXT))))
def test_what_is_named_is_there(name: str) -> None:
    places = (aster, aster.Profile, aster.Run)
    assert any(hasattr(place, name) for place in places), name
