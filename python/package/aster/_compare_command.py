"""``aster-compare``, which ``aster compare`` of the command line finds for sweeps."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._aster import AsterError, UsageError, __version__
from ._compare import FIGURES, Comparison, compare
from ._sweep import Sweep

NOT_FIGURES = {"point", "seed", "version", "error"}
"""Columns of a sweep's table beside its parameters that are no figures."""


def _all_figures(sweeps: Sequence[Sweep]) -> list[str]:
    """The numbers that all sweeps have."""
    first, *others = [sweep.to_arrow() for sweep in sweeps]
    parameters = {name for sweep in sweeps for name in sweep.parameters}
    names = [name for name in first.column_names if name not in NOT_FIGURES | parameters]
    return [
        name
        for name in names
        if all(name in table.column_names for table in others)
        and str(first.schema.field(name).type) in ("int64", "uint64", "double")
    ]


def _row(names: Sequence[str], row: Any) -> dict[str, Any]:
    return {
        "parameters": dict(row.parameters),
        "figure": row.figure,
        "of": [
            {"sweep": name, "mean": each.mean, "half_width": each.half_width, "seeds": list(each.values)}
            | ({"percent": row.percent(number), "certain": row.is_certain(number)} if number else {})
            for number, (name, each) in enumerate(zip(names, row.of, strict=True))
        ],
    }


def _json(told: Comparison) -> str:
    return json.dumps({"differences": [_row(told.names, row) for row in told]}, indent=2)


def main(arguments: Sequence[str] | None = None) -> int:
    """``aster-compare``. Returns the exit status of the command line."""
    parser = argparse.ArgumentParser(
        prog="aster-compare",
        description="Puts sweeps side by side, point by point, with differences to the first one and, over "
        "several seeds, 95 %% confidence.",
    )
    parser.add_argument("sweeps", type=Path, nargs="+", metavar="FOLDER", help="what aster sweep has written")
    parser.add_argument(
        "--figure",
        action="append",
        metavar="PATH",
        help=f"compare this figure of the reports; may be repeated [default: {', '.join(FIGURES)}]",
    )
    parser.add_argument("--all", action="store_true", help="compare every figure that all have")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.add_argument("--version", action="version", version=f"aster {__version__}")
    args = parser.parse_args(arguments)
    try:
        sweeps = [Sweep(folder) for folder in args.sweeps]
        figures = _all_figures(sweeps) if args.all else args.figure
        told = compare(*sweeps, names=[str(folder) for folder in args.sweeps], figures=figures)
    except AsterError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    print(_json(told) if args.json else told)
    return 0
