"""The Python that pages of docs/ show runs as it stands there."""

from __future__ import annotations

import math
import re
import subprocess
import sys
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


def blocks(language: str, text: str = TEXT) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run_python(page: str) -> dict[str, Any]:
    """Runs the page's Python in order, with less of it where it is written for long."""
    namespace: dict[str, Any] = {}
    for block in blocks("python", (ROOT / "docs" / page).read_text()):
        shorter = re.sub(r"number_ios=\d{4,}", "number_ios=500", block.replace("samples=50", "samples=4"))
        exec(compile(shorter, f"docs/{page}", "exec"), namespace)
    matplotlib.pyplot.close("all")
    return namespace


def test_the_python_of_the_first_hour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = run_python("first-hour.md")["sweep"]
    assert (tmp_path / "p99.png").stat().st_size > 10_000
    assert len(sweep) == 4
    assert set(sweep.to_arrow()["error"].to_pylist()) == {None}


def test_the_python_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = run_python("python.md")["sweep"]
    assert len(sweep) == 2 * 2 * 3
    assert set(sweep.to_arrow()["error"].to_pylist()) == {None}


def test_the_way_by_a_scheduler_runs(tmp_path: Path) -> None:
    work, local, *others = blocks("python", (ROOT / "docs" / "clusters.md").read_text())
    shorter = work.replace("samples=50", "samples=2").replace("number_ios=20000", "number_ios=500")
    (tmp_path / "work.py").write_text(shorter)
    (tmp_path / "local.py").write_text(local)
    ran = subprocess.run([sys.executable, "local.py"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "2 points" in ran.stdout, ran.stdout
    # What needs a cluster is at least Python.
    assert len(others) == 3
    for number, block in enumerate(others):
        compile(block, f"docs/clusters.md, program {number + 3}", "exec")


def test_the_sweep_file_is_the_sweep(tmp_path: Path) -> None:
    text, ten_thousand = blocks("toml")
    tomllib.loads(text)
    file = tmp_path / "over-provisioning.toml"
    file.write_text(text)
    asked = read(file)
    assert asked["space"]["ftl.over_provisioning_percent"] == aster.Range(7, 40)
    assert asked["out"] == tmp_path / "over-provisioning"
    file.write_text(ten_thousand)
    asked = read(file)
    assert asked["seeds"] * math.prod(len(values) for values in asked["space"].values()) == 10_000


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(?:aster|run|profile)\.([a-z_]+)\(", TEXT))))
def test_what_is_named_is_there(name: str) -> None:
    places = (aster, aster.Profile, aster.Run)
    assert any(hasattr(place, name) for place in places), name
