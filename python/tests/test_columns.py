"""Columns, quantiles and explanations of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import aster
import matplotlib
import numpy
import polars
import pyarrow
import pytest

from .conftest import MIXED

matplotlib.use("agg")

TWO_JOBS = """
[reads]
rw=randread
bs=4k
iodepth=4
number_ios=300
[writes]
rw=write
bs=64k
number_ios=50
fsync=10
"""


@pytest.fixture(scope="module")
def run() -> aster.Run:
    """A run of two jobs at a time, whose columns are asked for at once."""
    return aster.profile("tiny").run(job=TWO_JOBS, precondition=0, seed=5, commands=True, monitor=0.5)


def test_the_commands_are_those_of_the_report(run: aster.Run) -> None:
    commands = run.commands.to_pandas()
    kinds = {of["kind"]: of for of in run.report["total"]["kinds"]}
    for name, rows in commands.groupby("command", observed=True):
        kind = name.lower()
        assert len(rows) == kinds[kind]["requests"], kind
        assert rows["bytes"].sum() == kinds[kind]["bytes"], kind
    assert sorted(commands["number"]) == list(range(1, len(commands) + 1))
    assert set(commands["job"].dropna()) == {"reads", "writes"}
    assert set(commands[commands["job"] == "reads"]["command"]) == {"Read"}
    assert (commands["status"] == 0).all()
    assert numpy.allclose(commands["latency_us"], commands["complete_us"] - commands["submit_us"])
    assert commands["complete_us"].is_monotonic_increasing
    assert commands["lba"].max() * 512 < aster.profile("tiny").check()["exported_bytes"]


def test_columns_are_shared_and_not_copied(run: aster.Run) -> None:
    one, other = pyarrow.table(run.commands), pyarrow.table(run.commands)
    address = one["latency_us"].chunk(0).buffers()[1].address
    assert other["latency_us"].chunk(0).buffers()[1].address == address
    frame = polars.DataFrame(run.commands)
    assert frame["latency_us"].to_list() == one["latency_us"].to_pylist()
    assert run.commands.to_polars().equals(frame)
    assert pyarrow.schema(run.commands) == one.schema
    assert one.column_names == run.commands.names and len(one) == len(run.commands)


def test_columns_outlive_their_run() -> None:
    table = pyarrow.table(aster.profile("tiny").run(job=MIXED, commands=True).commands)
    assert table["number"].to_numpy().max() == 2000


def test_a_million_commands_take_less_than_100_mb() -> None:
    job = "[r]\nrw=randread\nbs=4k\niodepth=8\nsize=1m\nloops=782\n"
    commands = aster.profile("ideal").run(job=job, content="fingerprint", commands=True).commands
    # The last part of the table has room for more rows than it has.
    assert len(commands) == 782 * 256
    assert commands.nbytes / len(commands) < 100


def test_quantiles_are_those_of_the_report(run: aster.Run) -> None:
    told = run.report["total"]["all"]["latency"]
    assert run.latency.quantile([0.5, 0.99, 0.999]) == [told["p50_us"], told["p99_us"], told["p999_us"]]
    assert run.latency.quantile(0) >= told["min_us"] and run.latency.quantile(1) == told["max_us"]
    assert (run.latency.mean, run.latency.max) == (told["mean_us"], told["max_us"])
    reads = run.latency_of("read").quantile(0.99)
    assert reads == next(k for k in run.report["total"]["kinds"] if k["kind"] == "read")["latency"]["p99_us"]
    with pytest.raises(aster.UsageError, match="no request of the kind 'trim'"):
        run.latency_of("trim")
    with pytest.raises(aster.UsageError, match="from 0 to 1"):
        run.latency.quantile(99)


def test_what_was_not_asked_for_comes_from_a_second_run(run: aster.Run) -> None:
    plain = aster.profile("tiny").run(job=TWO_JOBS, precondition=0, seed=5)
    assert plain.report["total"] == run.report["total"]
    assert plain.commands.to_arrow() == run.commands.to_arrow()
    assert 500 <= len(plain.monitor) <= 1001


def test_a_second_run_has_the_job_of_the_first_and_notices_another_trace(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(MIXED)
    run = aster.profile("tiny").run(job=job)
    job.unlink()
    assert len(run.commands) == 2000
    trace = tmp_path / "trace.csv"
    trace.write_text("1,R,0,4096\n2,R,4096,4096\n")
    run = aster.profile("tiny").run(trace=trace, trace_columns="time:us,kind,offset,size")
    trace.write_text("1,R,0,4096\n2,R,4096,8192\n")
    with pytest.raises(aster.RunError, match="the trace has changed"):
        _ = run.commands


def test_the_monitor_has_the_samples_of_the_command_line(
    run: aster.Run, command_line: Path, tmp_path: Path
) -> None:
    job, samples = tmp_path / "job.fio", tmp_path / "monitor.jsonl"
    job.write_text(TWO_JOBS)
    subprocess.run(
        [
            command_line,
            "run",
            "tiny",
            "--job",
            job,
            "--seed",
            "5",
            "--precondition",
            "0",
            "--monitor",
            samples,
            "--monitor-interval",
            "0.5",
        ],
        check=True,
        capture_output=True,
    )
    theirs = [json.loads(line) for line in samples.read_text().splitlines()]
    ours = run.monitor.to_arrow().to_pylist()
    assert len(ours) == len(theirs) > 3
    for mine, other in zip(ours, theirs, strict=True):
        other.pop("since_power_on_us")
        assert mine == other


def test_the_monitor_is_drawn(run: aster.Run) -> None:
    axes = run.monitor.plot()
    assert len(axes) == 5
    line = run.monitor.plot("waf")[0].lines[0]
    assert len(line.get_xdata()) == len(run.monitor)
    with pytest.raises(aster.UsageError, match="nothing: no such entry; there are .*waf"):
        run.monitor.plot(["waf", "nothing"])
    matplotlib.pyplot.close("all")


def test_the_slowest_are_explained(run: aster.Run, command_line: Path, tmp_path: Path) -> None:
    three = run.explain(slowest=3)
    commands = run.commands.to_pandas().sort_values(["latency_us", "number"], ascending=[False, True])
    assert [of.command for of in three] == list(commands["number"][:3])
    for of, took in zip(three, commands["latency_us"], strict=False):
        assert of.data["total_us"] == pytest.approx(took)
        assert sum(share["us"] for share in of.data["shares"]) == pytest.approx(took)
    assert str(three[0]) in str(three) and "where the time went" in str(three)
    by_number = run.explain(command=three[1].command)
    assert by_number[0].data == three[1].data
    job = tmp_path / "job.fio"
    job.write_text(TWO_JOBS)
    theirs = subprocess.run(
        [command_line, "explain", "tiny", "--job", job, "--seed", "5", "--precondition", "0"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert str(run.explain()[0]) == theirs.stdout
    with pytest.raises(aster.UsageError, match="command 99999: the work has no command of that number"):
        run.explain(command=99999)
    with pytest.raises(aster.UsageError, match="slowest: must be from 1 to 1000"):
        run.explain(slowest=0)


def test_spans_and_files_are_those_of_the_command_line(command_line: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text(TWO_JOBS)

    def files(folder: str) -> dict[str, Path]:
        (tmp_path / folder).mkdir()
        names = {"events": "e.jsonl", "perfetto": "p.json", "wave": "w.vcd"}
        return {option: tmp_path / folder / name for option, name in names.items()}

    ours, theirs = files("ours"), files("theirs")
    run = aster.profile("tiny").run(job=job, seed=5, spans=True, **ours)
    options = [part for option, path in theirs.items() for part in (f"--{option}", str(path))]
    ran = subprocess.run(
        [command_line, "run", "tiny", "--job", job, "--seed", "5", "--spans", "--json", *options],
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.report["spans"] == json.loads(ran.stdout)["spans"]
    for option in ours:
        assert ours[option].read_bytes() == theirs[option].read_bytes(), option
    events = ours["events"].stat().st_mtime_ns
    assert len(run.commands) > 300
    assert ours["events"].stat().st_mtime_ns == events, "the second run writes no files"
    with pytest.raises(aster.UsageError, match="would be overwritten"):
        aster.profile("tiny").run(job=job, events=job)
    with pytest.raises(aster.UsageError, match="its folder is not there"):
        aster.profile("tiny").run(job=job, events=tmp_path / "no" / "e.jsonl")


def test_requests_come_from_python() -> None:
    drive = aster.profile("tiny")
    requests = [aster.Request("write", i * 8192, 8192) for i in range(100)]
    requests += [("flush",), ("read", 4096, 4096), ("trim", 0, 8192)]
    run = drive.run(requests=iter(requests), queue_depth=4)
    kinds = {of["kind"]: of["requests"] for of in run.report["total"]["kinds"]}
    assert kinds == {"write": 100, "flush": 1, "read": 1, "trim": 1}
    assert run.report["trace"]["queue_depth"] == 4
    assert len(run.commands) == 103
    assert drive.run(requests=requests, queue_depth=4).report["total"] == run.report["total"]
    timed = drive.run(requests=[("write", 0, 4096, 100.0), ("write", 4096, 4096, 2500.25)])
    submitted = timed.commands.to_arrow()["submit_us"].to_pylist()
    assert submitted[1] - submitted[0] == pytest.approx(2400.25)
    for wrong, words in [
        ([], "there is none"),
        ([("write", 0, 4096), ("wipe", 0, 4096)], "request 2: its kind must be one of read"),
        ([("read", 100, 4096)], "request 1: its offset must be a multiple of 512"),
        ([("read", 0, "much")], "request 1: its length must be a multiple of 512"),
        ([("read", 0, 4096, 5), ("read", 0, 4096)], "request 2: either all requests have a time"),
        ([("read", 0, 4096, 5), ("read", 0, 4096, 4)], "request 2: at_us is 4, which is before"),
        (["read"], "request 1: "),
        ([5], "request 1: expected kind"),
        ([("read", 1 << 50, 4096)], "requests: "),
    ]:
        with pytest.raises(aster.UsageError, match=words):
            drive.run(requests=wrong)


def test_what_is_missing_is_named_with_the_way_to_get_it() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = None\n"
        "import aster\n"
        "run = aster.profile('tiny').run(job='[j]\\nrw=read\\nnumber_ios=1\\n')\n"
        "try: run.monitor.plot()\n"
        "except aster.UsageError as error: print(error)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "plot() needs matplotlib: pip install matplotlib\n"
