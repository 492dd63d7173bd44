"""Where points run: in this process, on this machine's cores, or on a cluster. The last two are Dask's."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from ._aster import RunError
from ._points import Point, Work, run_point, stopping
from ._table import needed

RETRIES = 3
"""How often a point may lose its worker before the sweep ends."""


class Engine(Protocol):
    """Runs points."""

    def run(
        self, work: Work, points: Mapping[str, Point], done: Callable[[str, dict[str, Any]], None]
    ) -> None:
        """Runs the points, by their identity, and calls ``done`` for each as soon as it has been run."""


class InTurn:
    """One point after the other, in this process."""

    def run(
        self, work: Work, points: Mapping[str, Point], done: Callable[[str, dict[str, Any]], None]
    ) -> None:
        for identity, point in points.items():
            done(identity, run_point(work, point))


class OnDask:
    """On the workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(
        self, work: Work, points: Mapping[str, Point], done: Callable[[str, dict[str, Any]], None]
    ) -> None:
        distributed = needed("distributed", "a sweep on several cores")
        futures = {
            self._client.submit(run_point, work, point, key=f"aster-{identity}", retries=RETRIES): identity
            for identity, point in points.items()
        }
        left = set(futures)
        try:
            for future in distributed.as_completed(list(futures), loop=self._client.loop):
                try:
                    outcome = future.result()
                except distributed.KilledWorker as error:
                    raise RunError(
                        f"point {futures[future]}: its worker died {RETRIES + 1} times; does its drive fit "
                        f"into the memory of a worker? ({error})"
                    ) from None
                except distributed.client.FutureCancelledError as error:
                    raise RunError(
                        f"the scheduler is gone: {error}; the same sweep goes on where it was"
                    ) from None
                left.discard(future)
                done(futures[future], outcome)
                future.release()
        except BaseException:
            self._client.cancel(list(left), force=True)
            raise


@contextmanager
def engine(scheduler: str | None, workers: int | None) -> Iterator[Engine]:
    """The engine for a cluster at ``scheduler``, or for so many of this machine's cores, all by default."""
    cores = workers or len(os.sched_getaffinity(0))
    if scheduler is None and cores == 1:
        yield InTurn()
        return
    distributed = needed("distributed", "a sweep on several cores")
    stopping.clear()
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise RunError(f"{scheduler}: no scheduler answers there ({error})") from None
        with client:
            yield OnDask(client)
        return
    # Threads, because a drive runs without Python's lock: they start at once, and a script needs no guard.
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=cores,
            processes=False,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        try:
            yield OnDask(client)
        except BaseException:
            # Points that are under way would keep the cluster from closing.
            stopping.set()
            raise
