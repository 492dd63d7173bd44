"""How much of a sweep's CPU time isn't its drives': choosing points, Dask, the journal and the dataset.

    python python/benches/sweep_share.py [POINTS [WORKERS]]

A point fills the drive `tiny`, overwrites it once and writes 1,000 blocks. With `--no-drives` it runs once
for all, so that what is left is the rest.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aster
from aster import _aster

JOB = "[w]\nrw=randwrite\nbs=4k\niodepth=4\nnumber_ios=1000\nrandrepeat=0\n"
SPACE: dict[str, Any] = {"ftl.buffer_entries": [16, 64], "job.iodepth": [1, 8]}


class Counted:
    """Runs drives, and adds up the CPU time of that."""

    def __init__(self, run: Callable[..., Any], once: bool) -> None:
        self.seconds = 0.0
        self._run, self._once = run, once
        self._outcome: Any = None
        self._lock = threading.Lock()

    def __call__(self, profile: Any, asked: Any) -> Any:
        if self._once and self._outcome is not None:
            return self._outcome
        began = time.thread_time()
        outcome = self._run(profile, asked)
        took = time.thread_time() - began
        with self._lock:
            self.seconds += took
            self._outcome = outcome
        return outcome


def measure(points: int, workers: int, drives: bool) -> tuple[float, float]:
    """CPU seconds of a sweep, all and the drives'."""
    counted = Counted(_aster.run, once=not drives)
    asked: dict[str, Any] = {"job": JOB, "workers": workers, "content": "fingerprint", "precondition": 100}
    with tempfile.TemporaryDirectory() as folder:
        # What is imported once is no part of a point.
        aster.sweep("tiny", SPACE, out=Path(folder) / "first", **asked)
        run, _aster.run = _aster.run, counted
        try:
            began = time.process_time()
            aster.sweep("tiny", SPACE, seeds=max(1, points // 4), out=Path(folder) / "sweep", **asked)
            return time.process_time() - began, counted.seconds
        finally:
            _aster.run = run


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("points", type=int, nargs="?", default=200)
    parser.add_argument("workers", type=int, nargs="?", default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-drives", action="store_true")
    given = parser.parse_args()
    points = max(4, given.points // 4 * 4)
    everything, drives = measure(points, given.workers, not given.no_drives)
    rest = everything - drives
    print(
        f"{points} points on {given.workers} cores: {everything:.1f} s of CPU time, {drives:.1f} s of it the "
        f"drives', {rest / points * 1e3:.1f} ms a point beside them ({rest / everything:.0%})"
    )
