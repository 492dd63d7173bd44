"""What pip builds the package by says what is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .conftest import ROOT

BUILD = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["build-system"]
HOOKS = ("build_wheel", "get_requires_for_build_wheel", "prepare_metadata_for_build_wheel", "build_sdist")


@pytest.mark.parametrize(
    ("programs", "lacks", "has"),
    [
        ([], ["Rust: there is no cargo", "a C compiler"], []),
        (["bin/cc"], ["Rust: there is no cargo"], ["a C compiler"]),
        (["bin/cargo"], ["a C compiler"], ["Rust: there is no cargo"]),
        (["bin/cargo", "bin/cc"], [], ["lacks"]),
        (["home/.cargo/bin/cargo", "bin/cc"], [], ["lacks"]),
    ],
)
def test_what_a_build_lacks_is_said(
    programs: list[str], lacks: list[str], has: list[str], tmp_path: Path
) -> None:
    for program in programs:
        path = tmp_path / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    (tmp_path / "maturin.py").write_text("def __getattr__(name): return name\n")
    asks = f"import {BUILD['build-backend']} as backend, os, shutil; "
    asks += f"print([getattr(backend, hook) for hook in {HOOKS}], shutil.which('cargo'))"
    (folder,) = BUILD["backend-path"]
    ran = subprocess.run(
        [sys.executable, "-c", asks],
        capture_output=True,
        text=True,
        env={
            "PATH": str(tmp_path / "bin"),
            "HOME": str(tmp_path / "home"),
            "PYTHONPATH": f"{ROOT / 'python' / folder}:{tmp_path}",
        },
    )
    assert ran.returncode == (1 if lacks else 0), ran.stderr
    assert "Traceback" not in ran.stderr
    for words in lacks:
        assert f"  - {words}" in ran.stderr
    for words in has:
        assert words not in ran.stderr
    if not lacks:
        assert ran.stdout == f"{list(HOOKS)} {tmp_path / programs[0]}\n"
