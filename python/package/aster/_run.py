"""Runs: what is asked of a drive, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, overload

from . import _aster
from ._aster import RunError, UsageError
from ._requests import Maker
from ._table import Monitor, Table, needed

NOT_FIGURES = ("provenance", "wall_s", "warnings")
"""Keys of a report that differ from run to run of the same work, or with who listens."""

SAMPLES = 1000
"""Samples of the monitor in a run, if nobody says how long they are."""


Victims: TypeAlias = Callable[[list[_aster.Block]], "_aster.Block | int"]
"""A victim policy: which of the blocks garbage collection empties next, or its number."""

Placement: TypeAlias = Callable[[_aster.Geometry], Sequence[int]]
"""A placement: the LUNs to which logical pages go, by their numbers; it begins again after its end."""

Arbiter: TypeAlias = Callable[[int, list[_aster.Transaction]], "_aster.Transaction | int"]
"""An arbiter: which of the transactions that wait for a channel goes next, or its place in the list."""


@dataclass(frozen=True, slots=True)
class OwnPieces:
    """Callables that take the place of a drive's pieces."""

    victims: Victims | None = None
    placement: Placement | None = None
    arbiter: Arbiter | None = None

    def check(self, keys: dict[str, Any]) -> None:
        """Refuses what is no callable, and a piece for which a drive with these keys never asks."""
        expected = {
            "victims": "gets blocks and returns one of them",
            "placement": "gets the array and returns a list of LUNs",
            "arbiter": "gets a channel and transactions and returns one of them",
        }
        for name, does in expected.items():
            given = getattr(self, name)
            if given is not None and not callable(given):
                raise UsageError(f"{name}: expected a callable that {does}, but is {given!r}")
        kind = (keys.get("target") or {}).get("kind", keys["ftl"]["kind"])
        if kind == "block":
            kind = keys["ftl"]["kind"]
        for name, verb in {"victims": "chooses", "placement": "places"}.items():
            if getattr(self, name) is not None and kind != "page-mapping":
                raise UsageError(
                    f"{name}: the FTL of this drive ({kind}) {verb} by itself; only page-mapping asks for "
                    f"{'one' if name == 'placement' else 'them'}"
                )
        if self.arbiter is not None:
            controller, policy = keys["channel"]["controller"], keys["scheduler"]["policy"]
            if controller != "software":
                raise UsageError(
                    f"arbiter: the channels of this drive have one of their own (channel.controller is "
                    f'"{controller}"); only those with controllers in software ask for one'
                )
            if policy == "cosmos":
                raise UsageError(
                    'arbiter: the scheduler of this drive (scheduler.policy is "cosmos") chooses by itself'
                )


@dataclass(frozen=True, slots=True)
class Job:
    """A job file, or its text."""

    path: str | Path
    text: str | None

    @staticmethod
    def of(job: str | Path) -> Job:
        """The text, if there are several lines in it."""
        is_text = isinstance(job, str) and "\n" in job
        return Job(path="job", text=str(job)) if is_text else Job(path=job, text=None)


@dataclass(frozen=True, slots=True)
class Replay:
    """How a trace is replayed."""

    format: str | None = None
    columns: str | None = None
    devices: Sequence[str] = ()
    place: str = "apart"
    when_full: str | None = None
    speed: str = "recorded"
    wrap: bool = False
    round: bool = False
    queue_depth: int = 32


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be run, and how."""

    job: Job | None
    trace: str | Path | None
    replay: Replay
    seed: int
    precondition: int | str | None
    age_hours: int | None
    content: str | None
    verify: bool
    keep_going: bool
    trace_name: str | None = None
    workload: Maker | None = None
    spool: object = None
    """What keeps the trace's file."""
    commands: bool = False
    monitor_ms: float | None = None
    monitor_ways: bool = False
    spans: bool = False
    image: str | Path | None = None
    events: str | Path | None = None
    perfetto: str | Path | None = None
    wave: str | Path | None = None
    slowest: int | None = None
    command: int | None = None
    pieces: OwnPieces = OwnPieces()
    progress: Callable[[str, float], object] | None = None


PHASES = {"before": "precondition", "run": "run"}


@contextmanager
def bar() -> Iterator[Callable[[str, float], object]]:
    """A bar for the phase that is under way, in a terminal or a notebook."""
    tqdm = needed("tqdm.auto", "progress=True").tqdm
    with tqdm(total=100.0, unit="%", bar_format="{desc}{percentage:3.0f}%|{bar}| {elapsed}") as bar:

        def tell(phase: str, share: float) -> None:
            bar.set_description(PHASES.get(phase, phase), refresh=False)
            bar.n = 100.0 * share
            bar.refresh()

        yield tell
        bar.n = 100.0
        bar.refresh()


def carry_out(
    profile: _aster.Profile,
    asked: Asked,
    progress: bool | Callable[[str, float], object],
    check: bool,
) -> Run:
    """Runs it."""
    if progress is True:
        with bar() as tell:
            outcome = _aster.run(profile, replace(asked, progress=tell))
            # A short run tells nothing of itself.
            tell("run", 1.0)
    else:
        outcome = _aster.run(profile, replace(asked, progress=progress or None))
    run = Run(profile, asked, outcome)
    problem = _problem(outcome) if check else None
    if problem is not None:
        error = RunError(problem)
        error.run = run  # type: ignore[attr-defined]
        raise error
    return run


def _problem(outcome: _aster.Outcome) -> str | None:
    """What the command line would end with."""
    if outcome.problems:
        return "\n".join(outcome.problems)
    first = outcome.first_failure
    match outcome.failures:
        case 0:
            return None
        case 1:
            return f"1 failure, {first}"
        case failures:
            return f"{failures} failures; the first, {first}"


class Latency:
    """Latencies of a run's requests in microseconds, from issue to completion: those of all kinds together
    except flushes, or of one kind."""

    def __init__(self, report: dict[str, Any]) -> None:
        self._report = report

    @property
    def mean(self) -> float:
        """The mean."""
        mean: float = self._report["mean_us"]
        return mean

    @property
    def min(self) -> float:
        """The shortest."""
        shortest: float = self._report["min_us"]
        return shortest

    @property
    def max(self) -> float:
        """The longest."""
        longest: float = self._report["max_us"]
        return longest

    @overload
    def quantile(self, q: float) -> float: ...

    @overload
    def quantile(self, q: Iterable[float]) -> list[float]: ...

    def quantile(self, q: float | Iterable[float]) -> float | list[float]:
        """The latency that this share of the requests doesn't exceed, to three digits; for several shares a
        list. ``quantile(.99)`` is the report's ``p99_us``."""
        if isinstance(q, Iterable):
            return [self.quantile(each) for each in q]
        if not 0 <= q <= 1:
            raise UsageError(f"quantile: must be from 0 to 1, but is {q}")
        buckets = self._report["buckets"]
        # Exact, as a share like 0.99 is none in binary.
        part, of = _fraction(q)
        rank = max(1, -(-sum(count for _, _, count in buckets) * part // of))
        below = 0
        for _, to_ns, count in buckets:
            below += count
            if below >= rank:
                top: float = to_ns / 1e3
                return min(max(top, self.min), self.max)
        return self.max

    def __repr__(self) -> str:
        p50, p99 = self.quantile((0.5, 0.99))
        return (
            f"<aster.Latency: mean {self.mean:,.1f} µs, p50 {p50:,.1f}, p99 {p99:,.1f}, max {self.max:,.1f}>"
        )


def _fraction(q: float) -> tuple[int, int]:
    from fractions import Fraction

    return Fraction(repr(float(q))).as_integer_ratio()


class Explanation:
    """A command's life: what happened when, and where each microsecond went. ``print`` shows it as a table;
    ``data`` is what ``aster explain --json`` prints of it."""

    def __init__(self, data: dict[str, Any], table: str) -> None:
        self.data = data
        self._table = table

    @property
    def command(self) -> int:
        """Its number in the work, from 1: the column ``number`` of ``Run.commands``."""
        number: int = self.data["command"]
        return number

    def __str__(self) -> str:
        return self._table

    def __repr__(self) -> str:
        return f"<aster.Explanation of command {self.command}: {self.data['total_us']:,.3f} µs>"


class Explanations(list[Explanation]):
    """Several, the slowest command first. ``print`` shows their tables."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))


class Run:
    """What came of a run. Its columns and explanations are made by running the work again with somebody who
    listens, if they were not asked for at once: a run is the same every time, and what nobody looks at costs
    nothing."""

    def __init__(self, profile: _aster.Profile, asked: Asked, outcome: _aster.Outcome) -> None:
        self._profile = profile
        self._asked = asked
        self._outcome = outcome

    @cached_property
    def report(self) -> dict[str, Any]:
        """What ``aster run --json`` prints."""
        report: dict[str, Any] = json.loads(self._outcome.report_json)
        return report

    @property
    def failures(self) -> int:
        """Requests that failed or returned wrong content."""
        return self._outcome.failures

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the figures, and what happened during the run."""
        return [warning["message"] for warning in self.report["warnings"]]

    @property
    def latency(self) -> Latency:
        """The latencies of all requests except flushes."""
        return self.latency_of(None)

    def latency_of(self, kind: str | None) -> Latency:
        """The latencies of one kind of request, as the report calls it: ``"read"``, ``"write"``, ``"flush"``,
        ``"trim"``, ``"write zeroes"``."""
        total = self.report["total"]
        kinds = {of["kind"]: of for of in total["kinds"]}
        found = total["all"] if kind is None else kinds.get(kind)
        if found is None or found["latency"] is None:
            which = "request" if kind is None else f"request of the kind {kind!r}"
            raise UsageError(
                f"the run has no {which} with a latency; it has {', '.join(kinds) or 'none at all'}"
            )
        return Latency(found["latency"])

    @cached_property
    def commands(self) -> Table:
        """The work's commands in the order of their completion, a row for each: ``number`` (in the order in
        which the drive fetched them, from 1), ``submit_us``, ``complete_us`` and ``latency_us`` (simulated
        time, from the beginning of the work), ``command``, ``lba``, ``bytes``, ``queue``, ``job`` (null for a
        queue that several jobs share), ``status`` (NVMe's, 0 for success).

        A request that is longer than what a command carries has several rows.
        """
        columns = self._outcome.commands or self._again(commands=True).commands
        assert columns is not None
        return Table(columns)

    @cached_property
    def monitor(self) -> Monitor:
        """The operation monitor's samples: ``from_us`` and ``until_us`` (simulated time, from the beginning
        of the work), and an entry of its statistics table a column. Unless the run was told otherwise, a
        sample is a thousandth of the run."""
        columns = self._outcome.samples
        if columns is None:
            each_ms = max(1e-3, self.report["simulated_s"] * 1e3 / SAMPLES)
            columns = self._again(monitor_ms=each_ms).samples
        assert columns is not None
        return Monitor(columns)

    def explain(self, *, slowest: int | None = None, command: int | None = None) -> Explanations:
        """The lives of the slowest commands, of one unless told otherwise, or of the command of that
        number."""
        if slowest is None and command is None:
            slowest = 1
        found = self._again(slowest=slowest, command=command).explanations
        if command is not None and not found:
            raise UsageError(f"command {command}: the work has no command of that number that has ended")
        return Explanations(Explanation(json.loads(data), table) for data, table in found)

    def _again(self, **listeners: Any) -> _aster.Outcome:
        """Runs the same work once more, with listeners."""
        asked = self._asked
        if asked.image is not None:
            raise UsageError(
                "the run has changed its image, so it can't be run again to listen to it: ask for "
                "commands=True and monitor= when it runs, or explain a run without an image"
            )
        if asked.workload is not None and not asked.workload.repeats:
            raise UsageError(
                "the run's workload has been carried out, so it can't be run again to listen to it: ask for "
                "commands=True and monitor= when it runs, or give workload= a callable that makes a new one"
            )
        if asked.job is not None:
            # The file may have changed.
            work = self.report["provenance"]["work"]["job"]
            asked = replace(asked, job=Job(path=work["name"], text=work["text"]))
        without = {"commands": False, "monitor_ms": None, "events": None, "perfetto": None, "wave": None}
        outcome = _aster.run(self._profile, replace(asked, **(without | listeners)))
        figures = [
            {key: value for key, value in report.items() if key not in NOT_FIGURES}
            for report in (self.report, json.loads(outcome.report_json))
        ]
        if figures[0] != figures[1]:
            raise RunError(
                "the figures are others now: the trace has changed since the run, or Python has decided "
                "otherwise"
            )
        return outcome

    def __repr__(self) -> str:
        everything = self.report["total"]["all"]
        if everything is None:
            return f"<aster.Run {self.report['name']}: no requests>"
        figures = f"{everything['requests']} requests"
        if everything["iops"] is not None:
            figures += f", {everything['iops']:,.0f} IOPS"
        if everything["latency"] is not None:
            figures += f", p99 {everything['latency']['p99_us']:,.0f} µs"
        return f"<aster.Run {self.report['name']}: {figures}>"
