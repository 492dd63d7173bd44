"""Tables of columns: Arrow's, which pandas, Polars, DuckDB and PyArrow read without a copy."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _aster
from ._aster import UsageError

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import polars
    import pyarrow


def needed(name: str, what: str) -> Any:
    """A package that Aster doesn't depend on.

    Raises :class:`aster.UsageError` with what to install for ``what`` where it is missing.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise UsageError(f"{what} needs {package}: pip install {package}") from None


class Table:
    """Columns in memory. Whatever reads Arrow takes one as it is: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, or the methods below."""

    def __init__(self, columns: _aster.Columns) -> None:
        self._columns = columns

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._columns.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._columns.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return self._columns.names

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the columns take."""
        return self._columns.nbytes

    def to_arrow(self) -> pyarrow.Table:
        """As a table of PyArrow (needs pyarrow)."""
        return needed("pyarrow", "to_arrow()").table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a data frame of pandas (needs pandas and pyarrow)."""
        needed("pandas", "to_pandas()")
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """As a data frame of Polars (needs polars)."""
        frame: polars.DataFrame = needed("polars", "to_polars()").DataFrame(self)
        return frame

    def __repr__(self) -> str:
        return f"<aster.{type(self).__name__}: {len(self)} rows of {', '.join(self.names)}>"


class Monitor(Table):
    """The operation monitor's samples, a row for each."""

    def plot(self, entries: str | Sequence[str] | None = None) -> list[matplotlib.axes.Axes]:
        """Draws entries over simulated time, one below the other (needs matplotlib and pyarrow).

        Without ``entries`` it draws what the host sees, the WAF, and how busy channels are.
        """
        pyplot = needed("matplotlib.pyplot", "plot()")
        chosen = [entries] if isinstance(entries, str) else entries
        if chosen is None:
            chosen = [name for name in USUAL if name in self.names]
        for name in chosen:
            if name not in self.names:
                raise UsageError(f"{name}: no such entry; there are {', '.join(self.names[2:])}")
        columns = self.to_arrow()
        until = columns["until_us"].to_numpy() / 1e3
        _, axes = pyplot.subplots(
            len(chosen), sharex=True, squeeze=False, layout="constrained", figsize=(8, 1 + 1.6 * len(chosen))
        )
        drawn: list[matplotlib.axes.Axes] = list(axes[:, 0])
        for ax, name in zip(drawn, chosen, strict=True):
            ax.plot(until, columns[name].to_numpy(), drawstyle="steps-pre", linewidth=1)
            ax.set_ylabel(name.replace("_per_second", "/s").replace("_", "\n"), fontsize="small")
            ax.set_ylim(bottom=0)
            ax.grid(alpha=0.3)
        drawn[-1].set_xlabel("simulated time, ms")
        return drawn


USUAL = (
    "read_bytes_per_second",
    "write_bytes_per_second",
    "outstanding_commands",
    "waf",
    "channel_utilisation",
)
"""What ``plot`` draws unless told otherwise."""
