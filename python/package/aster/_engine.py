"""Where points run: in this process, on this machine's cores, or on a cluster. The last two are Dask's."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
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


def _given(work: Work) -> Work:
    return work


QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "10s",
}
"""Dask's settings for a cluster of one's own: nobody looks at its dashboard, for which it samples stacks and
counts its loop's ticks all the time."""

LOOPBACK = "127.0.0.1:0"
"""Where scheduler and worker of such a cluster serve HTTP, which Dask has no way to leave out: for no other
machine, and at a port that is free."""


class OnDask:
    """On the workers of a Dask cluster, whose scheduler is at ``address``."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._sent: dict[str, Any] = {}

    def _shared(self, work: Work) -> Any:
        """What all points have in common, as a task of its own: it is sent once, and not with each point."""
        identity = work.identity()
        if identity not in self._sent:
            self._sent[identity] = self._client.submit(
                _given, work, key=f"aster-work-{identity}", retries=RETRIES
            )
        return self._sent[identity]

    def run(
        self, work: Work, points: Mapping[str, Point], done: Callable[[str, dict[str, Any]], None]
    ) -> None:
        distributed = needed("distributed", "a sweep on several cores")
        submitted = self._client.map(
            run_point,
            [self._shared(work)] * len(points),
            list(points.values()),
            key=[f"aster-{identity}" for identity in points],
            retries=RETRIES,
        )
        futures = dict(zip(submitted, points, strict=True))
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
                    raise self._gone(error.reason) from None
                except OSError as error:
                    # The connection broke while the outcome came.
                    raise self._gone(error) from None
                left.discard(future)
                done(futures[future], outcome)
                future.release()
        except BaseException:
            # A scheduler that is gone has nothing left to cancel.
            with contextlib.suppress(Exception):
                self._client.cancel(list(left), force=True)
            raise

    def _gone(self, why: object) -> RunError:
        return RunError(
            f"{self._address}: the scheduler is gone ({why}); what is done is kept, and the same sweep goes "
            f"on where it was"
        )


@contextlib.contextmanager
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
        # What there is to say of a scheduler that dies, its error says.
        with distributed.utils.silence_logging_cmgr(logging.CRITICAL), client:
            yield OnDask(client, scheduler)
        return
    # Threads, because a drive runs without Python's lock: they start at once, and a script needs no guard.
    with needed("dask", "a sweep on several cores").config.set(QUIET):
        cluster = distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=cores,
            processes=False,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": LOOPBACK},
            worker_dashboard_address=LOOPBACK,
            silence_logs=logging.CRITICAL,
        )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        try:
            yield OnDask(client, cluster.scheduler_address)
        except BaseException:
            # Points that are under way would keep the cluster from closing.
            stopping.set()
            raise
