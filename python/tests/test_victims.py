"""Victim policies in Python."""

from __future__ import annotations

import traceback
from pathlib import Path

import aster
import pytest

JOB = "[w]\nrw=randwrite\nbs=16k\niodepth=16\nsize=24m\nio_size=32m\nrandom_distribution=zipf:1.1\n"


def greedy(blocks: list[aster.Block]) -> aster.Block:
    """The fewest valid units, of those the oldest."""
    return min(blocks, key=lambda each: (each.valid, -each.age))


def figures(run: aster.Run) -> dict[str, object]:
    """What the drive did, but not how it was made, nor what theory says of the policy of that name."""
    without = ("provenance", "wall_s", "spare")
    return {key: value for key, value in run.report.items() if key not in without}


def test_greedy_in_python_does_what_greedy_does(tmp_path: Path) -> None:
    drive = aster.profile("tiny", {"ftl.victims": "greedy"})
    files = [tmp_path / "ours.events", tmp_path / "theirs.events"]
    ours = drive.run(job=JOB, content="fingerprint", precondition=100, events=files[0])
    offered: list[int] = []

    def counted(blocks: list[aster.Block]) -> aster.Block:
        offered.append(len(blocks))
        assert all(each.lun == blocks[0].lun and 0 <= each.valid < each.units for each in blocks)
        return greedy(blocks)

    theirs = drive.run(job=JOB, content="fingerprint", precondition=100, events=files[1], victims=counted)
    assert len(offered) > 100
    events = [file.read_bytes() for file in files]
    assert len(events[0]) > 1_000_000
    assert events[0] == events[1]
    assert figures(theirs) == figures(ours)
    assert theirs.report["provenance"]["own_pieces"] == ["victims"]
    assert theirs.report["provenance"]["profile"]["keys"]["ftl"]["victims"] == "python"


def test_another_policy_copies_more_and_a_number_does_as_well() -> None:
    drive = aster.profile("tiny")

    def fullest(blocks: list[aster.Block]) -> int:
        return max(blocks, key=lambda each: (each.valid, each.age)).block

    worse = drive.run(job=JOB, content="fingerprint", precondition=100, victims=fullest)
    better = drive.run(job=JOB, content="fingerprint", precondition=100, victims=greedy)
    assert worse.report["waf"] > 1.5 * better.report["waf"]


def test_its_exception_ends_the_run_with_its_traceback() -> None:
    class MyError(Exception):
        pass

    calls = 0

    def third_fails(blocks: list[aster.Block]) -> aster.Block:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise MyError("no more")
        return greedy(blocks)

    with pytest.raises(MyError, match="no more") as raised:
        aster.profile("tiny").run(job=JOB, content="fingerprint", precondition=100, victims=third_fails)
    assert calls == 3, "nothing is asked after it"
    assert "third_fails" in "".join(traceback.format_tb(raised.value.__traceback__))


@pytest.mark.parametrize("answer", [None, 10**6, -1, "0", 2.5])
def test_what_is_no_block_that_was_offered_is_said(answer: object) -> None:
    with pytest.raises(aster.UsageError) as raised:
        aster.profile("tiny").run(
            job=JOB,
            content="fingerprint",
            precondition=100,
            victims=lambda _: answer,  # type: ignore[arg-type,return-value]
        )
    assert f"but it returned {answer!r}" in str(raised.value)


def test_a_drive_that_asks_for_no_victims_is_refused() -> None:
    drive = aster.profile("pocket-ocssd", {"target.kind": "pblk"})
    with pytest.raises(aster.UsageError, match=r"the FTL of this drive \(pblk\) chooses by itself"):
        drive.run(job=JOB, victims=greedy)
    with pytest.raises(aster.UsageError, match="victims: expected a callable"):
        aster.profile("tiny").run(job=JOB, victims="greedy")  # type: ignore[arg-type]


def test_what_listens_to_the_run_asks_the_policy_again() -> None:
    job = JOB.replace("io_size=32m", "io_size=4m")
    run = aster.profile("tiny").run(job=job, content="fingerprint", precondition=100, victims=greedy)
    assert len(run.commands) == 256
