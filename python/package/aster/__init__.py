"""Aster, the open SSD in software, from Python.

A profile makes a drive, and a drive runs work in deterministic virtual time::

    import aster

    drive = aster.profile("cosmos-plus", {"restrict.blocks_per_lun": 64})
    run = drive.run(job="mixed.fio", seed=7)
    print(run)
    run.report["total"]["all"]["iops"]

The same profile, work and seed give the same figures on every machine. ``docs/first-hour.md`` of
Aster's source is where to begin, ``docs/python.md`` has the rest.
"""

from ._aster import (
    WAIT,
    AsterError,
    Block,
    Completion,
    Geometry,
    RunError,
    Transaction,
    UsageError,
    Wait,
    __version__,
)
from ._compare import Comparison, compare
from ._fit import fit
from ._fitted import Fit, Met
from ._profile import Listed, Profile, profile, profiles
from ._reproduce import Reproduction, reproduce
from ._requests import Request, Workload
from ._run import Explanation, Explanations, Latency, Run
from ._space import Range
from ._sweep import Sweep, sweep
from ._table import Monitor, Table
from ._torture import torture

__all__ = [
    "WAIT",
    "AsterError",
    "Block",
    "Comparison",
    "Completion",
    "Explanation",
    "Explanations",
    "Fit",
    "Geometry",
    "Latency",
    "Listed",
    "Met",
    "Monitor",
    "Profile",
    "Range",
    "Reproduction",
    "Request",
    "Run",
    "RunError",
    "Sweep",
    "Table",
    "Transaction",
    "UsageError",
    "Wait",
    "Workload",
    "__version__",
    "compare",
    "fit",
    "profile",
    "profiles",
    "reproduce",
    "sweep",
    "torture",
]
