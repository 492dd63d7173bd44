"""The package's commands: ``aster-sweep``, which ``aster sweep`` of the command line finds."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._aster import AsterError, UsageError, __version__
from ._space import Range
from ._sweep import sweep

EXAMPLE = """\
a sweep file:
  profile = "tiny"                      # or a profile's file
  job = "mixed.fio"                     # or trace = "…"; beside the sweep file
  out = "over-provisioning"             # the folder for what comes of it
  method = "latin-hypercube"            # or "grid" (the default), "random", "search"
  samples = 50                          # of all but a grid
  seeds = [1, 2, 3]                     # or how many
  [set]                                 # keys that all points have
  "ftl.victims" = "greedy"
  [run]                                 # as the options of `aster run`
  precondition = 100
  content = "fingerprint"
  [space]
  "ftl.over_provisioning_percent" = {low = 7, high = 28}
  "job.iodepth" = {low = 1, high = 64, log = true, integer = true}
  "ftl.placement" = ["round-robin", "random"]
  [objectives]                          # of a search
  "total.all.latency.p99_us" = "minimize"
"""

KEYS = {
    "profile",
    "job",
    "trace",
    "out",
    "method",
    "samples",
    "seeds",
    "sweep_seed",
    "set",
    "run",
    "space",
    "objectives",
}


def read(path: Path) -> dict[str, Any]:
    """The arguments of :func:`aster.sweep` in a sweep file."""
    try:
        told = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "not text"
        raise UsageError(f"{path}: {problem}; a sweep file is expected here") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: {error}") from None
    unknown = told.keys() - KEYS
    if unknown:
        raise UsageError(f"{path}: unknown key {sorted(unknown)[0]!r}; there are {', '.join(sorted(KEYS))}")
    for key, kind in [("profile", str), ("space", dict)]:
        if not isinstance(told.get(key), kind):
            raise UsageError(f"{path}: lacks {key!r}, or it is of another kind than in the example of --help")
    out: dict[str, Any] = {
        "drive": _beside(path, told.pop("profile")),
        "out": path.parent / told.pop("out", path.stem),
        "space": {key: _values(path, key, values) for key, values in told.pop("space").items()},
        "overrides": told.pop("set", None),
        **told.pop("run", {}),
    }
    for key in ("job", "trace"):
        if key in told:
            out[key] = path.parent / told.pop(key)
    return out | told


def _beside(path: Path, profile: str) -> str | Path:
    """A profile's file is looked for beside the sweep file."""
    return path.parent / profile if "/" in profile or "." in profile else profile


def _values(path: Path, key: str, values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    try:
        return Range(**values)
    except TypeError:
        raise UsageError(
            f"{path}: space: {key}: expected a list, or a range {{low = …, high = …}}, perhaps with "
            f"log = true and integer = true"
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """``aster-sweep``, and ``python -m aster sweep``. Returns the exit status of the command line."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if Path(sys.argv[0]).name == "__main__.py" and given[:1] == ["sweep"]:
        given = given[1:]
    parser = argparse.ArgumentParser(
        prog="aster-sweep",
        description="Runs a drive once for each point of a sweep; its figures go to a Parquet dataset.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="SWEEP.TOML", help="what to sweep")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="the folder for what comes of it")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="run on this Dask cluster, such as tcp://10.0.0.1:8786"
    )
    parser.add_argument(
        "--workers", type=int, metavar="N", help="run on so many cores of this machine [default: all]"
    )
    parser.add_argument("--quiet", action="store_true", help="show no bar")
    parser.add_argument("--version", action="version", version=f"aster {__version__}")
    args = parser.parse_args(given)
    try:
        asked = read(args.file)
        if args.out is not None:
            asked["out"] = args.out
        came = sweep(**asked, scheduler=args.scheduler, workers=args.workers, progress=not args.quiet)
    except AsterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("interrupted: what is done is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    errors = sum(error is not None for error in came.to_arrow()["error"].to_pylist())
    print(f"{len(came)} points in {came.path}" + (f", {errors} of them with an error" if errors else ""))
    return 0
