"""Runs: the figures of the command line, failures, Ctrl-C, and threads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import aster
import pytest

from .conftest import MIXED

OTHER_THINGS = ("provenance", "wall_s")
"""Keys of a report that say where figures come from and how long they took."""


def figures(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in OTHER_THINGS}


@pytest.mark.parametrize(
    ("python", "arguments"),
    [
        ({}, []),
        (
            {"seed": 7, "precondition": 20, "content": "fingerprint"},
            ["--seed", "7", "--precondition", "20", "--content", "fingerprint"],
        ),
        ({"precondition": "steady:zipf:1.1"}, ["--precondition", "steady:zipf:1.1"]),
        ({"age_hours": 1000, "verify": True}, ["--age", "1000", "--verify"]),
    ],
)
def test_a_run_has_the_figures_of_the_command_line(
    command_line: Path, mixed: Path, python: dict[str, Any], arguments: list[str]
) -> None:
    ran = subprocess.run(
        [command_line, "run", "tiny", "--job", mixed, "--json", "--set", "ftl.buffer_entries=64", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    run = aster.profile("tiny", {"ftl.buffer_entries": 64}).run(job=mixed, **python)
    theirs = json.loads(ran.stdout)
    assert figures(run.report) == figures(theirs)
    for key in ("profile", "work", "seed", "content", "precondition", "age_hours"):
        assert run.report["provenance"][key] == theirs["provenance"][key]


def test_a_report_from_python_is_run_again_by_the_command_line(
    command_line: Path, tmp_path: Path, mixed: Path
) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps(aster.profile("tiny").run(job=mixed, seed=3).report))
    ran = subprocess.run([command_line, "run", "--again", report], capture_output=True, text=True)
    assert "every figure is as in" in ran.stderr and ran.returncode == 0, ran.stderr


def test_a_job_is_a_file_or_a_text(mixed: Path) -> None:
    drive = aster.profile("tiny")
    of_file, of_text = drive.run(job=mixed), drive.run(job=MIXED)
    assert of_file.report["total"] == of_text.report["total"]
    random = MIXED + "randrepeat=0\n"
    assert drive.run(job=random, seed=2).report["total"] != drive.run(job=random).report["total"]


def test_a_trace_is_replayed(tmp_path: Path) -> None:
    trace = tmp_path / "small.csv"
    trace.write_text("".join(f"{i * 1000},0,{'W' if i % 2 else 'R'},{i * 4096},4096\n" for i in range(100)))
    columns = "time:us,device,kind,offset,size"
    run = aster.profile("tiny").run(trace=trace, trace_columns=columns, trace_speed="fastest", queue_depth=4)
    assert run.report["total"]["all"]["requests"] == 100
    assert run.report["trace"]["queue_depth"] == 4
    for wrong, words in [
        ({"trace_format": "msr", "trace_columns": columns}, "can't be used"),
        ({"trace_format": "nothing"}, 'must be one of "blktrace"'),
        ({"trace_columns": "time:fortnights"}, "trace_columns: "),
        ({"trace_columns": columns, "trace_speed": "quick"}, "trace_speed: expected recorded"),
        ({"trace_columns": columns, "trace_speed": 0}, "trace_speed: expected recorded"),
        ({"trace_columns": columns, "queue_depth": 0}, "queue_depth: must be from 1 to 1024"),
        ({"trace_columns": columns, "trace_place": "far"}, "trace_place: "),
        ({"trace_columns": columns, "trace_loop": "open", "trace_speed": "fastest"}, "means nothing"),
    ]:
        with pytest.raises(aster.UsageError, match=words):
            aster.profile("tiny").run(trace=trace, **wrong)


def test_wrong_work_is_told() -> None:
    drive = aster.profile("tiny")
    for asked, words in [
        ({}, "name a job file"),
        ({"job": "nowhere.fio"}, "nowhere.fio: no such file"),
        ({"job": "[j]\nrw=sideways\n"}, "job: "),
        ({"job": MIXED, "content": "none"}, 'content: must be "full" or "fingerprint"'),
    ]:
        with pytest.raises(aster.UsageError, match=words):
            drive.run(**asked)


def test_failed_requests_raise_and_leave_their_figures() -> None:
    # Data that have faded.
    drive = aster.profile("tiny", {"package.errors.retention": 2e-3})
    asked: dict[str, Any] = {"job": "[r]\nrw=read\nbs=64k\nsize=4m\n", "precondition": 0, "age_hours": 10_000}
    with pytest.raises(aster.RunError, match=r"failures?(;|,) .*of \"r\"") as raised:
        drive.run(**asked)
    assert raised.value.run.failures > 0  # type: ignore[attr-defined]
    run = drive.run(**asked, check=False)
    assert run.failures == raised.value.run.failures  # type: ignore[attr-defined]


def test_progress_is_told_and_an_exception_in_it_ends_the_run() -> None:
    long = "[w]\nrw=randwrite\nbs=4k\ntime_based\nruntime=100000\n"

    class Enough(Exception):
        pass

    told: list[tuple[str, float]] = []

    def progress(phase: str, share: float) -> None:
        told.append((phase, share))
        if len(told) == 3:
            raise Enough

    with pytest.raises(Enough):
        aster.profile("tiny").run(job=long, content="fingerprint", progress=progress)
    assert len(told) == 3 and all(phase in ("before", "run") and 0 <= share <= 1 for phase, share in told)


def test_a_bar_shows_how_far_a_run_is(mixed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    aster.profile("tiny").run(job=mixed, progress=True)
    assert "run: 100%|" in capfd.readouterr().err


CTRL_C = """
import aster
try:
    aster.profile("tiny").run(
        job="[w]\\nrw=randwrite\\nbs=4k\\ntime_based\\nruntime=1000000\\n",
        content="fingerprint",
        progress=lambda phase, share: print("runs", flush=True),
    )
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_ends_a_run() -> None:
    with subprocess.Popen([sys.executable, "-c", CTRL_C], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "runs\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)
    assert out.endswith("interrupted\n")
    assert child.returncode == 0


def test_other_threads_go_on_while_a_drive_runs() -> None:
    # The run ends only by what another thread does meanwhile.
    done, counted = threading.Event(), 0

    def count() -> None:
        nonlocal counted
        while not done.is_set() and counted < 100_000:
            counted += 1

    class Counted(Exception):
        pass

    def progress(_phase: str, _share: float) -> None:
        if counted == 100_000:
            raise Counted

    thread = threading.Thread(target=count)
    thread.start()
    try:
        with pytest.raises(Counted):
            aster.profile("tiny").run(
                job="[w]\nrw=randwrite\nbs=4k\ntime_based\nruntime=100000\n",
                content="fingerprint",
                progress=progress,
            )
    finally:
        done.set()
        thread.join()


def test_an_image_keeps_the_drive_from_run_to_run(tmp_path: Path) -> None:
    drive, image = aster.profile("tiny"), tmp_path / "drive.img"
    write = "[w]\nrw=write\nbs=64k\nsize=8m\n"
    read = "[r]\nrw=read\nbs=64k\nsize=8m\n"
    drive.run(job=write, image=image)
    kept = drive.run(job=read, image=image, commands=True)
    assert kept.report["pages_read_unmapped"] == 0
    assert drive.run(job=read).report["pages_read_unmapped"] == 512
    assert len(kept.commands) == 128
    with pytest.raises(aster.UsageError, match="the run has changed its image"):
        kept.explain(slowest=1)
    with pytest.raises(aster.AsterError, match=r"drive\.img: "):
        aster.profile("tiny", {"geometry.ways": 1}).run(job=read, image=image)
    with pytest.raises(aster.UsageError, match="trace|image|same file|job"):
        job = tmp_path / "job.fio"
        job.write_text(read)
        drive.run(job=job, image=job)
