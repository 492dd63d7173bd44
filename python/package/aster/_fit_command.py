"""``aster-fit``, which ``aster fit`` of the command line finds."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from . import _aster
from ._aster import AsterError, UsageError, __version__
from ._fit import REGION_MIB, REQUESTS, TRIALS, base_for, bytes_of, fit
from ._profile import Profile

EPILOG = """\
fio of the real drive, one job after the other, as JSON:
  fio --output-format=json+ --output=drive.json jobs.fio       (each section with stonewall)

The folder gets profile.toml, the fitted profile; fit.json, all figures; points.jsonl, what is done.
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="aster-fit",
        description="Searches the profile whose drive gives what fio measured on a real one: IOPS, median "
        "and 99th percentile of each job. Jobs that are held back say how far the profile can be trusted.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--fio", type=Path, nargs="+", required=True, metavar="FILE", help="fio's JSON of the real drive")
    add("--base", metavar="PROFILE", help="begin with this one [default: a shipped one for the capacity]")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the base; may be repeated")
    add("--capacity", metavar="SIZE", help="of the real drive, such as '480 GB'")
    add(
        "--hold-back",
        action="append",
        metavar="JOB",
        help="don't fit this job, tell its error; may be repeated [default: every third of three or more]",
    )
    add("--keep", action="append", default=[], metavar="KEY", help="don't search over this key")
    add("--trials", type=int, default=TRIALS, metavar="N", help=f"drives to try [default: {TRIALS}]")
    add(
        "--requests",
        type=int,
        default=REQUESTS,
        metavar="N",
        help=f"of each simulated job [default: {REQUESTS}]",
    )
    add("--region", type=int, default=REGION_MIB, metavar="MIB", help="on which jobs work")
    add(
        "--precondition",
        type=int,
        metavar="PERCENT",
        help="fill the whole drive and overwrite so much of it at random [default: a fresh drive]",
    )
    add("--seed", type=int, default=1, metavar="N", help="of the search [default: 1]")
    add(
        "--out", type=Path, metavar="FOLDER", help="for what comes of it [default: the first file's name-fit]"
    )
    add("--scheduler", metavar="ADDRESS", help="run on this Dask cluster, such as tcp://10.0.0.1:8786")
    add("--workers", type=int, metavar="N", help="run on so many cores of this machine [default: all]")
    add("--json", action="store_true", help="print JSON instead of a table")
    add("--quiet", action="store_true", help="show no bar")
    add("--version", action="version", version=f"aster {__version__}")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """``aster-fit``, and ``python -m aster fit``. Returns the exit status of the command line."""
    args = _parser().parse_args(arguments)
    try:
        capacity = None if args.capacity is None else bytes_of(args.capacity)
        base = Profile(_aster.Profile.find(args.base or base_for(capacity), args.set))
        out = args.out or Path(f"{args.fio[0].stem}-fit")
        came = fit(
            args.fio,
            out=out,
            base=base,
            capacity=capacity,
            hold_back=args.hold_back,
            keep=args.keep,
            trials=args.trials,
            requests=args.requests,
            region_mib=args.region,
            precondition=args.precondition,
            seed=args.seed,
            scheduler=args.scheduler,
            workers=args.workers,
            progress=not args.quiet,
        )
    except AsterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        print("interrupted: what is done is kept, and the same command goes on from there", file=sys.stderr)
        return 130
    if args.json:
        print(json.dumps(came.data, indent=1, ensure_ascii=False))
    else:
        print(f"{came}\n\nthe profile is {out / 'profile.toml'}")
    return 0
