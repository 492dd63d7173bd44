"""Sweeps: which points, the dataset, going on, clusters, and the command."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import aster
import matplotlib
import psutil
import pyarrow.parquet
import pytest
from aster._points import flat, with_option
from aster._space import latin_hypercube

matplotlib.use("agg")

JOB = "[w]\nrw=randwrite\nbs=4k\niodepth=4\nnumber_ios=300\nrandrepeat=0\n"
SPACE: dict[str, Any] = {"ftl.buffer_entries": [16, 64], "job.iodepth": [1, 8]}


def bytes_of(sweep: aster.Sweep) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(sweep.path.iterdir())}


def journal(folder: Path) -> list[str]:
    return (folder / "points.jsonl").read_text().splitlines()


@pytest.fixture(scope="module")
def one_core(tmp_path_factory: pytest.TempPathFactory) -> aster.Sweep:
    """A sweep on one core."""
    out = tmp_path_factory.mktemp("one")
    return aster.sweep("tiny", SPACE, job=JOB, seeds=2, out=out, workers=1, content="fingerprint")


def test_a_grid_has_every_combination_and_the_figures_of_its_runs(one_core: aster.Sweep) -> None:
    rows = one_core.to_arrow().to_pylist()
    assert [(row["ftl.buffer_entries"], row["job.iodepth"], row["seed"]) for row in rows] == [
        (entries, depth, seed) for entries in (16, 64) for depth in (1, 8) for seed in (1, 2)
    ]
    row = rows[6]
    run = aster.profile("tiny", {"ftl.buffer_entries": 64}).run(
        job=JOB.replace("iodepth=4", "iodepth=8"), seed=1, content="fingerprint"
    )
    for name, figure in flat(run.report).items():
        if name != "name":
            assert row[name] == figure, name
    assert row["total.all.latency.p99_us"] == run.latency.quantile(0.99)
    assert row["tasks.w.kinds.write.requests"] == 300
    assert row["error"] is None
    assert [row["point"] for row in rows] == list(range(8))


def test_any_number_of_cores_gives_the_same_bytes(one_core: aster.Sweep, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    two = aster.sweep(
        "tiny",
        SPACE,
        job=JOB,
        seeds=2,
        out=tmp_path,
        workers=2,
        content="fingerprint",
        progress=lambda done, of: told.append((done, of)),
    )
    assert bytes_of(two) == bytes_of(one_core)
    assert told[-1] == (8, 8)


def test_a_sweep_on_this_machine_listens_for_no_other(tmp_path: Path) -> None:
    def listening() -> set[str]:
        connections = psutil.Process().net_connections("inet")
        return {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}

    before = listening()
    told: list[set[str]] = []
    asked: dict[str, Any] = {"job": JOB, "out": tmp_path, "workers": 2, "content": "fingerprint"}
    aster.sweep("tiny", SPACE, progress=lambda *_: told.append(listening() - before), **asked)
    assert told[-1] <= {"127.0.0.1"}, told


def test_an_interrupted_sweep_goes_on_and_runs_each_point_once(one_core: aster.Sweep, tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def progress(done: int, _of: int) -> None:
        if done == 3:
            raise Enough

    asked: dict[str, Any] = {"job": JOB, "seeds": 2, "out": tmp_path, "content": "fingerprint"}
    with pytest.raises(Enough):
        aster.sweep("tiny", SPACE, workers=2, progress=progress, **asked)
    before = journal(tmp_path)
    assert 3 <= len(before) < 8
    with pytest.raises(aster.UsageError, match="holds no sweep"):
        aster.Sweep(tmp_path)
    # The process died while it wrote a line.
    with (tmp_path / "points.jsonl").open("a") as file:
        file.write('{"point": "cut')
    again = aster.sweep("tiny", SPACE, workers=1, **asked)
    assert journal(tmp_path)[: len(before)] == before
    assert len(journal(tmp_path)) == 8
    assert bytes_of(again) == bytes_of(one_core)
    # A line that is whole but not a point's is told, and nothing of the file changes.
    whole = (tmp_path / "points.jsonl").read_bytes()
    for strange in [b'{"point": 7}\n', b"null\n", b"\xff\n", b'{"point": "x", "figures": []}\n']:
        (tmp_path / "points.jsonl").write_bytes(strange + whole)
        with pytest.raises(aster.UsageError, match=r"points\.jsonl: line 1 is not a point of a sweep"):
            aster.sweep("tiny", SPACE, workers=1, **asked)
        assert (tmp_path / "points.jsonl").read_bytes() == strange + whole
    (tmp_path / "points.jsonl").write_bytes(whole)
    # Nothing is left to run, and a larger sweep runs only what is new.
    aster.sweep("tiny", SPACE, workers=1, **asked)
    assert len(journal(tmp_path)) == 8
    aster.sweep("tiny", SPACE | {"job.iodepth": [1, 8, 16]}, workers=1, **asked)
    assert len(journal(tmp_path)) == 12


Process: TypeAlias = "subprocess.Popen[bytes]"


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, Process, list[Process]]]:
    """A scheduler with its address, and two workers, each a process of its own."""
    import distributed

    where = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def start(program: str, *arguments: str) -> Process:
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--no-dashboard", *arguments]
        return subprocess.Popen(command, **quiet)  # type: ignore[call-overload,no-any-return]

    folder.mkdir()
    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(where))
    workers: list[Process] = []
    try:
        while not where.exists() or not where.read_text().endswith("}"):
            assert scheduler.poll() is None, "the scheduler has ended"
            time.sleep(0.05)
        address = json.loads(where.read_text())["address"]
        # By the address: a worker gives up on a file that takes the scheduler a tenth of a second to write.
        alone = ["--no-nanny", "--nthreads", "1", "--local-directory", str(folder)]
        workers += [start("dask_worker", address, *alone) for _ in range(2)]
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, scheduler, workers
    finally:
        for process in [scheduler, *workers]:
            process.kill()
            process.wait()


def killed(process: Process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_a_worker_that_dies_costs_nothing_and_after_the_scheduler_another_one_goes_on(
    one_core: aster.Sweep, tmp_path: Path
) -> None:
    import distributed

    asked: dict[str, Any] = {"job": JOB, "seeds": 2, "content": "fingerprint"}
    with cluster(tmp_path / "cluster") as (address, scheduler, workers):

        def kills(process: Process) -> Callable[[int, int], None]:
            return lambda done, _: killed(process) if done == 2 else None

        out = tmp_path / "one"
        sweep = aster.sweep("tiny", SPACE, out=out, scheduler=address, progress=kills(workers[0]), **asked)
        assert workers[0].poll() is not None
        assert bytes_of(sweep) == bytes_of(one_core)
        assert len(journal(out)) == len(set(journal(out))) == 8

        out = tmp_path / "two"
        with pytest.raises(aster.RunError) as raised:
            aster.sweep("tiny", SPACE, out=out, scheduler=address, progress=kills(scheduler), **asked)
        assert scheduler.poll() is not None
    assert str(raised.value).startswith(f"{address}: the scheduler is gone")
    assert "what is done is kept, and the same sweep goes on where it was" in str(raised.value)
    kept = journal(out)
    assert 2 <= len(kept) < 8
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=None
    ) as another:
        again = aster.sweep("tiny", SPACE, out=out, scheduler=another.scheduler_address, **asked)
    lines = journal(out)
    assert lines[: len(kept)] == kept, "what was done stays as it was"
    assert len(lines) == len({json.loads(line)["point"] for line in lines}) == 8, "each point ran once"
    assert bytes_of(again) == bytes_of(one_core)


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path) -> None:
    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "200ms"}),
        pytest.raises(aster.RunError, match="tcp://127.0.0.1:1: no scheduler answers there"),
    ):
        aster.sweep("tiny", SPACE, job=JOB, out=tmp_path, scheduler="tcp://127.0.0.1:1")


def test_a_point_that_can_not_be_run_has_its_error(tmp_path: Path) -> None:
    space = {"ftl.buffer_entries": [1, 64]}
    sweep = aster.sweep("tiny", space, job=JOB, out=tmp_path, workers=1)
    errors = sweep.to_arrow()["error"].to_pylist()
    assert errors[0].startswith("--set ftl.buffer_entries=1: must be from 4")
    assert errors[1] is None


def test_random_points_come_from_their_seed(tmp_path: Path) -> None:
    space = {
        "ftl.buffer_entries": aster.Range(16, 128, log=True, integer=True),
        "job.bs": ["4k", "8k"],
        "run.verify": [False, True],
        "profile": ["tiny", "pocket"],
    }
    asked: dict[str, Any] = {
        "job": JOB,
        "method": "random",
        "samples": 6,
        "workers": 1,
        "content": "fingerprint",
    }
    sweeps = [
        aster.sweep("tiny", space, out=tmp_path / str(n), sweep_seed=seed, **asked)
        for n, seed in enumerate([4, 4, 5])
    ]
    assert bytes_of(sweeps[0]) == bytes_of(sweeps[1]) != bytes_of(sweeps[2])
    frame = sweeps[0].to_pandas()
    assert frame["ftl.buffer_entries"].between(16, 128).all()
    assert set(frame["job.bs"]) <= {"4k", "8k"}
    frame = frame[frame["profile"] == "tiny"]
    assert (frame["tasks.w.kinds.write.bytes"] == frame["job.bs"].map({"4k": 4096, "8k": 8192}) * 300).all()
    assert (frame["tasks.w.checked_blocks"] > 0).equals(frame["run.verify"])


def test_a_trace_that_has_changed_is_run_again(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    asked: dict[str, Any] = {"trace": trace, "trace_columns": "time:us,kind,offset,size", "workers": 1}
    requests = []
    for length in (4096, 8192):
        trace.write_text(f"1,W,0,4096\n2,W,4096,{length}\n")
        for _ in range(2):
            sweep = aster.sweep("tiny", {"ftl.buffer_entries": [16, 64]}, out=tmp_path / "out", **asked)
        requests.append(sweep.to_pandas()["total.all.bytes"].tolist())
    assert requests == [[8192, 8192], [12288, 12288]]
    assert len(journal(tmp_path / "out")) == 4


def test_a_latin_hypercube_has_a_point_in_each_part_of_each_key() -> None:
    space: dict[str, Any] = {
        "a": aster.Range(0, 10),
        "b": aster.Range(1, 1000, log=True),
        "c": aster.Range(1, 5, integer=True),
        "d": ["x", "y"],
    }
    points = list(latin_hypercube(space, 10, 1))
    assert sorted(int(point["a"]) for point in points) == list(range(10))
    parts = [1000 ** (part / 10) for part in range(1, 10)]
    of_b = collections.Counter(sum(point["b"] >= end for end in parts) for point in points)
    assert of_b == dict.fromkeys(range(10), 1)
    assert collections.Counter(point["c"] for point in points) == dict.fromkeys(range(1, 6), 2)
    assert collections.Counter(point["d"] for point in points) == {"x": 5, "y": 5}


def test_a_search_finds_a_better_point_and_goes_on(tmp_path: Path) -> None:
    space = {"job.iodepth": aster.Range(1, 64, integer=True), "ftl.buffer_entries": [16, 64]}
    asked: dict[str, Any] = {
        "job": JOB,
        "method": "search",
        "samples": 20,
        "objectives": {"total.all.latency.mean_us": "minimize"},
        "content": "fingerprint",
    }
    sweep = aster.sweep("tiny", space, out=tmp_path / "a", workers=1, **asked)
    frame = sweep.to_pandas()
    # The fewer requests wait, the shorter each of them takes.
    last = frame["job.iodepth"][12:].mean()
    assert last < frame["job.iodepth"][:8].mean()
    lines = journal(tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "points.jsonl").write_text("".join(line + "\n" for line in lines[:10]))
    again = aster.sweep("tiny", space, out=tmp_path / "b", workers=2, **asked)
    assert bytes_of(again) == bytes_of(sweep)
    with pytest.raises(aster.UsageError, match="a run has no such figure"):
        aster.sweep("tiny", space, out=tmp_path / "c", workers=1, **asked | {"objectives": {"x": "minimize"}})


def test_a_sweep_is_drawn_by_one_line(one_core: aster.Sweep) -> None:
    ax = one_core.plot("job.iodepth", by="ftl.buffer_entries")
    assert [line.get_label() for line in ax.lines] == ["ftl.buffer_entries=16", "ftl.buffer_entries=64"]
    rows = one_core.to_pandas()
    rows = rows[(rows["ftl.buffer_entries"] == 16) & (rows["job.iodepth"] == 8)]
    assert ax.lines[0].get_ydata()[1] == pytest.approx(rows["total.all.latency.p99_us"].mean())
    with pytest.raises(aster.UsageError, match="p99_us: the sweep has no such column; it has .*total.all"):
        one_core.plot("job.iodepth", "p99_us")
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"space": {"ftl.buffer_entries": 64}}, "expected a list of values or a range"),
        ({"space": {"ftl.buffer_entries": []}}, "there is no value"),
        ({"space": {"ftl.buffer_entries": aster.Range(1, 2)}}, "a grid needs a list"),
        ({"space": {"a": aster.Range(2, 1)}}, "from a lower to a higher"),
        ({"space": {"a": aster.Range(0, 1, log=True)}}, "begins above 0"),
        ({"space": {"job.": [1]}}, "expected job.OPTION"),
        ({"space": {"run.speed": [1]}}, "there are run.precondition"),
        ({"method": "all"}, "method: must be one of grid"),
        ({"method": "random"}, "samples: the method 'random' needs"),
        ({"samples": 3}, "a grid has a point for each combination"),
        ({"objectives": {"x": "minimize"}}, "objectives: the method 'search'"),
        (
            {"method": "search", "samples": 1, "objectives": {"x": "best"}},
            "minimize, maximize, but is 'best'",
        ),
        ({"seeds": 0}, "seeds: there is none"),
        ({"workers": 0}, "workers: must be 1 or more"),
        ({"depth": 3}, "depth: no argument of a sweep"),
        ({"job": "nowhere.fio"}, "nowhere.fio: No such file or directory; a job file is expected here"),
        ({"trace": "x.csv"}, "name a job file with job= or a trace"),
        ({"job": None, "trace": "x.csv"}, "x.csv: No such file or directory; a trace is expected"),
    ],
)
def test_wrong_sweeps_are_told(asked: dict[str, Any], words: str, tmp_path: Path) -> None:
    defaults: dict[str, Any] = {"space": SPACE, "job": JOB, "out": tmp_path, "workers": 1}
    with pytest.raises(aster.UsageError, match=words):
        aster.sweep("tiny", **(defaults | asked))


def test_a_folder_takes_one_sweep_at_a_time(tmp_path: Path) -> None:
    def progress(_done: int, _of: int) -> None:
        aster.sweep("tiny", SPACE, job=JOB, out=tmp_path, workers=1)

    with pytest.raises(aster.UsageError, match="another sweep is writing to this folder"):
        aster.sweep("tiny", SPACE, job=JOB, out=tmp_path, workers=1, progress=progress)


def test_options_of_jobs_are_replaced_where_they_stand() -> None:
    job = "[global]\nbs=4k\n[a]\nrw=read\niodepth=2\n[b]\nrw=write\n"
    assert with_option(job, None, "iodepth", 8) == (
        "[global]\nbs=4k\n[a]\niodepth=8\nrw=read\n[b]\niodepth=8\nrw=write\n"
    )
    assert with_option(job, "b", "rw", "randwrite") == job.replace("rw=write", "rw=randwrite")
    with pytest.raises(aster.UsageError, match=r"job\.c: the job file has no job of that name"):
        with_option(job, "c", "rw", "read")


SWEEP_FILE = """
profile = "tiny"
job = "w.fio"
seeds = 2
[run]
content = "fingerprint"
[space]
"ftl.buffer_entries" = [16, 64]
"job.iodepth" = [1, 8]
"""


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "aster", "sweep", *map(str, arguments)], capture_output=True, text=True
    )


def test_the_command_sweeps_what_a_file_says(one_core: aster.Sweep, tmp_path: Path) -> None:
    (tmp_path / "w.fio").write_text(JOB)
    file = tmp_path / "buffers.toml"
    file.write_text(SWEEP_FILE)
    ran = command(file, "--workers", "2", "--quiet")
    assert (ran.stdout, ran.returncode) == (f"8 points in {tmp_path}/buffers/dataset\n", 0), ran.stderr
    assert bytes_of(aster.Sweep(tmp_path / "buffers")) == bytes_of(one_core)
    table = pyarrow.parquet.read_table(tmp_path / "buffers" / "dataset")
    assert table == one_core.to_arrow()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("profil = 1", "unknown key 'profil'; there are job, "),
        ("profile = ", "Invalid value"),
        ('profile = "tiny"', "lacks 'space'"),
        ('profile = "tiny"\n[space]\n"job.bs" = {from = 1}', "space: job.bs: expected a list, or a range"),
        ('profile = "tin"\njob = "w.fio"\n[space]\n"job.bs" = ["4k"]', 'did you mean "tiny"'),
    ],
)
def test_a_wrong_sweep_file_is_told(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    ran = command(file)
    assert ran.returncode == 2
    assert ran.stderr.startswith("error: ")
    assert words in ran.stderr
