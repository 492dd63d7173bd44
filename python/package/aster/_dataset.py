"""A sweep's table as a Parquet dataset."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ._table import needed

FOLDER = "dataset"
PART_ROWS = 100_000


def _column(pyarrow: Any, values: list[Any]) -> Any:
    """An Arrow array of the one type that holds all values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} and kinds:
        return pyarrow.array(values, pyarrow.bool_())
    if kinds <= {int} and all(abs(value) < 1 << 63 for value in values if value is not None):
        return pyarrow.array(values, pyarrow.int64() if kinds else pyarrow.null())
    if kinds <= {int, float}:
        return pyarrow.array([None if value is None else float(value) for value in values], pyarrow.float64())
    text = [
        None if value is None else value if isinstance(value, str) else json.dumps(value) for value in values
    ]
    return pyarrow.array(text, pyarrow.string())


def write(folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes the rows, in their order, in place of what was there. The same rows give the same bytes."""
    pyarrow, parquet = needed("pyarrow", "a sweep"), needed("pyarrow.parquet", "a sweep")
    # In the order in which they come, the first row's first.
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.table({name: _column(pyarrow, [row.get(name) for row in rows]) for name in names})
    target = folder / FOLDER
    target.mkdir(exist_ok=True)
    files = []
    for number, first in enumerate(range(0, max(len(rows), 1), PART_ROWS)):
        path = target / f"part-{number:05}.parquet"
        new = path.with_suffix(".new")
        parquet.write_table(table.slice(first, PART_ROWS), new, compression="zstd")
        os.replace(new, path)
        files.append(path)
    for old in target.glob("part-*.parquet"):
        if old not in files:
            old.unlink()
