"""Workloads in Python, which see what has completed."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from typing import Any

import aster
import pytest

BLOCK = 4096


def figures(run: aster.Run) -> dict[str, Any]:
    """What the drive did, but not how it was made, nor what the work is called."""
    without = ("provenance", "wall_s", "name", "warnings", "trace", "tasks")
    return {key: value for key, value in run.report.items() if key not in without}


class Random:
    """Reads and writes here and there, as many as there is room for."""

    def __init__(self, drive_bytes: int, count: int = 300) -> None:
        self.left, self.state = count, 1
        self.blocks = min(drive_bytes, 4 << 20) // BLOCK
        self.in_flight = self.most = 0
        self.done: list[aster.Completion] = []
        self.given: list[aster.Request] = []

    def next_request(self, now_us: float) -> aster.Request | None:
        if self.left == 0:
            return None
        self.left -= 1
        self.state = self.state * 6364136223846793005 % 2**64 + 1442695040888963407
        kind = "read" if self.state >> 40 & 1 else "write"
        request = aster.Request(kind, (self.state >> 33) % self.blocks * BLOCK, BLOCK)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        self.given.append(request)
        return request

    def completed(self, done: aster.Completion) -> None:
        self.in_flight -= 1
        self.done.append(done)


def run(workload: Any, **options: Any) -> aster.Run:
    return aster.profile("tiny").run(
        workload=workload, **({"content": "fingerprint", "precondition": 0} | options)
    )


def test_it_is_what_the_same_requests_are() -> None:
    made = Random(8 << 20)
    ours = run(made, queue_depth=8)
    theirs = aster.profile("tiny").run(
        requests=made.given, content="fingerprint", precondition=0, queue_depth=8
    )
    assert figures(ours) == figures(theirs)
    assert made.most == 8
    assert ours.report["provenance"]["work"] == {"live": {"name": "workload"}}


def test_it_is_told_of_each_completion_with_its_latency() -> None:
    made = Random(8 << 20)
    report = run(made, queue_depth=4).report
    done = made.done
    assert sorted(each.number for each in done) == list(range(1, 301))
    assert all(each.request is made.given[each.number - 1] and not each.failed for each in done)
    assert [each.number for each in done] != sorted(each.number for each in done), "some overtake others"
    times = [each.at_us for each in done]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(report["simulated_s"] * 1e6, rel=0.01)
    everything = report["total"]["all"]["latency"]
    latencies = [each.latency_us for each in done]
    assert sum(latencies) / len(latencies) == pytest.approx(everything["mean_us"])
    assert max(latencies) == pytest.approx(everything["max_us"])


class Chain:
    """Reads of which each begins where the one before it ended, and which a slow one moves to the front."""

    def __init__(self, drive_bytes: int) -> None:
        self.left, self.offset, self.waits, self.asked = 100, 0, False, 0

    def next_request(self, now_us: float) -> Any:
        self.asked += 1
        if self.waits:
            return aster.WAIT
        if self.left == 0:
            return None
        self.waits = True
        self.left -= 1
        return ("read", self.offset, BLOCK)

    def completed(self, done: aster.Completion) -> None:
        self.waits = False
        self.offset = 0 if done.latency_us > 50 else done.request[1] + BLOCK


def test_one_that_waits_has_one_in_flight_however_much_room_there_is() -> None:
    made = Chain(8 << 20)
    deep, shallow = run(made, queue_depth=16), run(Chain, queue_depth=1)
    assert figures(deep) == figures(shallow)
    assert made.asked == 201, "once for each request, once more while it is in flight, and once at the end"
    job = "[r]\nrw=read\nbs=4k\nnumber_ios=100\n"
    plain = aster.profile("tiny").run(job=job, content="fingerprint", precondition=0)
    assert figures(deep)["total"] != figures(plain)["total"], "its requests depend on latencies"


def test_a_request_goes_at_its_time() -> None:
    class Spaced:
        count = 0

        def __init__(self) -> None:
            self.done: list[tuple[float, float]] = []

        def next_request(self, now_us: float) -> Any:
            self.count += 1
            return None if self.count > 10 else aster.Request("read", 0, BLOCK, at_us=1000.0 * self.count)

        def completed(self, done: aster.Completion) -> None:
            self.done.append((done.at_us, done.latency_us))

    made = Spaced()
    run(made, queue_depth=16)
    assert sorted(round(at - latency, 3) for at, latency in made.done) == [1000.0 * n for n in range(1, 11)]


def test_a_class_is_made_anew_for_who_listens_and_an_object_is_not() -> None:
    assert len(run(Random).commands) == 300
    with pytest.raises(aster.UsageError, match="workload has been carried out"):
        _ = run(Random(8 << 20)).commands
    assert len(run(Random(8 << 20), commands=True).commands) == 300


def test_a_flush_and_a_trim_reach_the_drive() -> None:
    kinds = iter([("write", 0, BLOCK), ("flush",), ("trim", 0, BLOCK), ("flush", 0, 0), ("read", 0, BLOCK)])

    class Kinds:
        def next_request(self, now_us: float) -> Any:
            return next(kinds, None)

    rows = run(Kinds(), commands=True).commands.to_arrow().to_pylist()
    assert sorted(row["command"] for row in rows) == sorted(
        ["Write", "Flush", "Dataset Management", "Flush", "Read"]
    )
    assert {row["job"] for row in rows} == {"workload"}


def test_what_is_read_is_checked() -> None:
    report = run(lambda drive: Random(drive), verify=True).report
    assert report["tasks"][0]["checked_blocks"] > 100


@pytest.mark.parametrize("method", ["next_request", "completed", "__init__"])
def test_its_exception_ends_the_run_with_its_traceback(method: str) -> None:
    class MyError(Exception):
        pass

    calls = {"next_request": 0, "completed": 0, "__init__": 0}

    class Fails(Random):
        def __init__(self, drive_bytes: int) -> None:
            super().__init__(drive_bytes)
            self.count("__init__", 1)

        def count(self, what: str, at: int) -> None:
            calls[what] += 1
            if what == method and calls[what] == at:
                raise MyError("no more")

        def next_request(self, now_us: float) -> aster.Request | None:
            self.count("next_request", 20)
            return super().next_request(now_us)

        def completed(self, done: aster.Completion) -> None:
            self.count("completed", 5)
            super().completed(done)

    with pytest.raises(MyError, match="no more") as raised:
        run(Fails)
    assert calls[method] == {"next_request": 20, "completed": 5, "__init__": 1}[method], "not asked after it"
    assert "in count" in "".join(traceback.format_tb(raised.value.__traceback__))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (7, "request 1: expected a Request .* but next_request returned 7"),
        (("read", 0), "request 1: expected a Request"),
        (("read", -4096, BLOCK), "request 1: expected a Request"),
        (("read", 0.5, BLOCK), "request 1: expected a Request"),
        (("erase", 0, BLOCK), 'its kind must be one of read, write, trim, flush, but is "erase"'),
        (
            ("read", 100, BLOCK),
            "its offset must be a multiple of the drive's blocks of 4096 bytes, but is 100",
        ),
        (("read", 0, 512), "its length must be a multiple of"),
        (("read", 0, 0), "0 bytes at 0 are none on this drive"),
        (("write", 1 << 40, BLOCK), "4096 bytes at 1099511627776 are none on this drive, which has"),
        (("write", 2**64 - BLOCK, BLOCK), "are none on this drive"),
        (("read", 0, 1 << 32), "are none on this drive"),
        (("read", 0, BLOCK, -1.0), "at_us must be microseconds from 0 to"),
        (("read", 0, BLOCK, float("nan")), "at_us must be .* but is NaN"),
        (aster.WAIT, "returned aster.WAIT, but no request is in flight"),
    ],
)
def test_what_is_no_request_is_said(answer: Any, words: str) -> None:
    class Wrong:
        def next_request(self, now_us: float) -> Any:
            return answer

    with pytest.raises(aster.UsageError, match=f"workload: .*{words}"):
        run(Wrong())


def test_what_is_no_workload_is_said() -> None:
    class Untold:
        completed = 3

        def next_request(self, now_us: float) -> None: ...

    with pytest.raises(aster.UsageError, match="workload: expected an object .* or a callable .* is 3"):
        run(3)
    with pytest.raises(aster.UsageError, match="workload: expected an object .* but is 8388608|is [0-9]+$"):
        run(lambda drive_bytes: drive_bytes)
    with pytest.raises(aster.UsageError, match="workload: its completed must be a method .* but is 3"):
        run(Untold())
    with pytest.raises(aster.UsageError, match="name a job file with job="):
        run(Random, job="[j]\nrw=read\n")
    with pytest.raises(aster.UsageError, match="queue_depth: must be from 1 to"):
        run(Random, queue_depth=0)


def test_an_interrupt_ends_one_that_has_no_end() -> None:
    class Endless(Random):
        def next_request(self, now_us: float) -> aster.Request | None:
            self.left = 2
            if len(self.given) == 200:
                os.kill(os.getpid(), signal.SIGINT)
            return super().next_request(now_us)

    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        run(Endless)
