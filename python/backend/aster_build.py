"""What pip builds the package by: maturin, once there is what maturin needs. Whatever is missing is said
before anything is built, and nothing is downloaded in its place."""

import os
import shutil
import sys
from pathlib import Path


def _missing() -> list[str]:
    """What a build lacks, each with how to get it."""
    cargo_home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo") / "bin"
    if shutil.which("cargo") is None and (cargo_home / "cargo").exists():
        # rustup has put it there, and this shell was open before.
        os.environ["PATH"] = os.pathsep.join([str(cargo_home), os.environ.get("PATH", os.defpath)])
    missing = []
    if shutil.which("cargo") is None:
        missing.append(
            "Rust: there is no cargo on the PATH, nor in ~/.cargo/bin. Install rustup (https://rustup.rs, or "
            "the package rustup of a distribution), which gets the version that rust-toolchain.toml names."
        )
    if shutil.which("cc") is None:
        missing.append(
            "a C compiler, by which Rust links: there is no cc on the PATH. On Debian and Ubuntu, the "
            "packages gcc and libc6-dev have one."
        )
    return missing


if lacks := _missing():
    sys.exit(
        "error: Aster is built from its Rust sources, and this machine lacks\n"
        + "".join(f"  - {each}\n" for each in lacks)
        + "Then run the same command again."
    )

from maturin import (  # noqa: E402
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]
