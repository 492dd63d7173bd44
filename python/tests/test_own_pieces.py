"""Placements and arbiters in Python."""

from __future__ import annotations

import collections
import traceback
from pathlib import Path
from typing import Any

import aster
import pytest

JOB = "[mixed]\nrw=randrw\nbs=16k\niodepth=16\nsize=8m\nnumber_ios=1500\n"


def figures(run: aster.Run) -> dict[str, object]:
    """What the drive did, but not how it was made."""
    return {key: value for key, value in run.report.items() if key not in ("provenance", "wall_s")}


def way_first(array: aster.Geometry) -> list[int]:
    """All ways of a channel, then the next channel."""
    return [
        array.lun_index(channel, way, lun)
        for channel in range(array.channels)
        for lun in range(array.luns)
        for way in range(array.ways)
    ]


def shortest_first(_channel: int, waiting: list[aster.Transaction]) -> aster.Transaction:
    """The fewest bytes, unless one has been passed over too often."""
    first = waiting[0]
    return first if first.passed_over >= 256 else min(waiting, key=lambda each: each.bytes)


def drive(**keys: Any) -> aster.Profile:
    """A drive of the profile ``tiny`` with one LUN behind a chip enable."""
    keys = {"geometry__luns": 1} | keys
    return aster.profile("tiny", {key.replace("__", "."): value for key, value in keys.items()})


CROWDED = {"geometry__channels": 1, "geometry__ways": 8, "channel__timing_mode": 0}
"""A slow bus for many LUNs, for which several transactions wait."""


def run_twice(
    tmp_path: Path, ours: aster.Profile, theirs: aster.Profile, **pieces: Any
) -> tuple[aster.Run, aster.Run]:
    """Runs ours and theirs, whose events must be the same."""
    files = [tmp_path / "ours.events", tmp_path / "theirs.events"]
    runs = (
        ours.run(job=JOB, content="fingerprint", precondition=0, events=files[0]),
        theirs.run(job=JOB, content="fingerprint", precondition=0, events=files[1], **pieces),
    )
    events = [file.read_bytes() for file in files]
    assert len(events[0]) > 1_000_000
    assert events[0] == events[1]
    assert figures(runs[0]) == figures(runs[1])
    return runs


def test_way_first_in_python_does_what_way_first_does(tmp_path: Path) -> None:
    keys = {"geometry__channels": 2, "geometry__ways": 2}
    asked: list[aster.Geometry] = []

    def counted(array: aster.Geometry) -> list[int]:
        asked.append(array)
        return way_first(array)

    ours, theirs = run_twice(
        tmp_path, drive(**keys, ftl__placement="way-first"), drive(**keys), placement=counted
    )
    assert asked
    assert {(each.channels, each.ways, each.total_luns) for each in asked} == {(2, 2, 4)}
    assert theirs.report["provenance"]["own_pieces"] == ["placement"]
    assert theirs.report["provenance"]["profile"]["keys"]["ftl"]["placement"] == "python"
    # A drive that has an order already gets Python's in its place.
    again = drive(**keys, ftl__assigner="random").run(
        job=JOB, content="fingerprint", precondition=0, placement=way_first
    )
    assert figures(again) == figures(ours)


def test_pages_in_runs_on_a_channel_read_slower() -> None:
    keys = {"geometry__channels": 4, "geometry__ways": 1}
    job = "[r]\nrw=read\nbs=64k\niodepth=1\nnumber_ios=100\n"

    def in_runs(array: aster.Geometry) -> list[int]:
        return [lun for lun in range(array.total_luns) for _ in range(16)]

    asked: dict[str, Any] = {"job": job, "content": "fingerprint", "precondition": 0}
    apart, together = drive(**keys).run(**asked), drive(**keys).run(**asked, placement=in_runs)
    assert together.latency.mean > 1.5 * apart.latency.mean


def test_an_image_keeps_the_order_of_its_placement(tmp_path: Path) -> None:
    image = tmp_path / "drive.aster"
    keys = {"geometry__channels": 2, "geometry__ways": 2}
    write, read = (f"[j]\nrw={rw}\nbs=16k\nsize=1m\n" for rw in ("write", "read"))
    drive(**keys).run(job=write, image=image, placement=way_first)
    run = drive(**keys).run(job=read, image=image, placement=way_first, verify=True)
    assert run.report["tasks"][0]["checked_blocks"] == (1 << 20) // 512
    with pytest.raises(aster.AsterError, match="placement"):
        drive(**keys).run(job=read, image=image, placement=lambda array: range(array.total_luns))
    with pytest.raises(aster.AsterError, match="placement"):
        drive(**keys).run(job=read, image=image)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "expected a list of the LUNs to which pages go, by their numbers, but it returned None"),
        ([0, 1, "2", 3], "expected a list of the LUNs"),
        ([0, 1, 2, -1], "expected a list of the LUNs"),
        ([0, 1, 2, 4], "its entry 3 is LUN 4, and the array has the LUNs 0 to 3"),
        ([0, 1, 2, 3, 0], "LUN 0 comes 2 times and LUN 1 1 times"),
        ([], "each LUN must come 1 to 64 times, but comes 0 times"),
        ([0, 1, 2, 3] * 65, "but comes 65 times"),
    ],
)
def test_an_order_that_is_none_is_said(answer: Any, words: str, tmp_path: Path) -> None:
    keys = {"geometry__channels": 2, "geometry__ways": 2}
    image = tmp_path / "drive.aster"
    with pytest.raises(aster.UsageError, match="placement: ") as raised:
        drive(**keys).run(job=JOB, image=image, placement=lambda _: answer)
    assert words in str(raised.value)
    assert not image.exists()


def test_shortest_first_in_python_does_what_shortest_first_does(tmp_path: Path) -> None:
    seen: collections.Counter[str] = collections.Counter()
    most = 0

    def counted(channel: int, waiting: list[aster.Transaction]) -> aster.Transaction:
        nonlocal most
        assert channel == 0
        assert [each.place for each in waiting] == list(range(len(waiting)))
        assert len({each.lun for each in waiting}) == len(waiting)
        assert all(0 <= each.lun < 8 and each.name for each in waiting)
        issued = [each.issued_us for each in waiting]
        assert issued == sorted(issued)
        most = max(most, len(waiting))
        seen.update(each.kind for each in waiting)
        return shortest_first(channel, waiting)

    _, theirs = run_twice(
        tmp_path,
        drive(**CROWDED, scheduler__transactions="shortest-first"),
        drive(**CROWDED),
        arbiter=counted,
    )
    assert most >= 4
    assert set(seen) == {"status", "command", "data-out", "data-in"}
    assert theirs.report["provenance"]["own_pieces"] == ["arbiter"]


def test_another_arbiter_gives_other_figures_and_a_place_does_as_well() -> None:
    asked: dict[str, Any] = {"job": JOB, "content": "fingerprint", "precondition": 0}
    in_pages = {
        "ftl__mapping_unit_bytes": 0,
        "ftl__placement": "channel-first",
        "ftl__collection": "on-demand",
    }
    one_channel = drive(**CROWDED, **in_pages)

    def longest_first(_channel: int, waiting: list[aster.Transaction]) -> int:
        return max(range(len(waiting)), key=lambda place: waiting[place].bytes)

    short, long = (one_channel.run(**asked, arbiter=arbiter) for arbiter in (shortest_first, longest_first))
    in_order = one_channel.run(**asked, arbiter=lambda _channel, _waiting: 0)
    assert figures(in_order) == figures(one_channel.run(**asked)), "the order of issue is what there is"
    assert abs(short.latency_of("read").mean / long.latency_of("read").mean - 1) > 0.05


@pytest.mark.parametrize("piece", ["placement", "arbiter"])
def test_their_exception_ends_the_run_with_its_traceback(piece: str) -> None:
    class MyError(Exception):
        pass

    calls = 0

    def fails(*_: Any) -> Any:
        nonlocal calls
        calls += 1
        raise MyError("no more")

    with pytest.raises(MyError, match="no more") as raised:
        drive().run(job=JOB, content="fingerprint", **{piece: fails})  # type: ignore[arg-type]
    assert calls == 1, "nothing is asked after it"
    assert "fails" in "".join(traceback.format_tb(raised.value.__traceback__))


@pytest.mark.parametrize("answer", [None, 10**6, -1, "0", 0.0])
def test_what_is_no_transaction_that_waits_is_said(answer: Any) -> None:
    with pytest.raises(aster.UsageError, match="arbiter: expected one of the") as raised:
        drive().run(job=JOB, content="fingerprint", arbiter=lambda _channel, _waiting: answer)
    assert f"but it returned {answer!r}" in str(raised.value)


def test_a_drive_that_does_not_ask_is_refused() -> None:
    with pytest.raises(aster.UsageError, match="placement: expected a callable that gets the array"):
        drive().run(job=JOB, placement=[0, 1])  # type: ignore[arg-type]
    pblk = aster.profile("pocket-ocssd", {"target.kind": "pblk"})
    with pytest.raises(aster.UsageError, match=r"placement: the FTL of this drive \(pblk\) places by itself"):
        pblk.run(job=JOB, placement=way_first)
    hardware = drive(channel__controller="synchronous")
    with pytest.raises(aster.UsageError, match='arbiter: .* one of their own .*"synchronous"'):
        hardware.run(job=JOB, arbiter=shortest_first)
    with pytest.raises(aster.UsageError, match='arbiter: the scheduler of this drive .*"cosmos"'):
        drive(scheduler__policy="cosmos").run(job=JOB, arbiter=shortest_first)


def test_a_number_of_a_lun_is_asked_of_the_array() -> None:
    arrays: list[aster.Geometry] = []

    def first(array: aster.Geometry) -> list[int]:
        arrays.append(array)
        return list(range(array.total_luns))

    drive(geometry__channels=2, geometry__ways=2).run(
        job=JOB.replace("1500", "1"), content="fingerprint", placement=first
    )
    array = arrays[0]
    assert [array.lun_index(0, 0), array.lun_index(1, 0), array.lun_index(0, 1)] == [0, 1, 2]
    with pytest.raises(aster.UsageError, match="lun_index: there is no LUN 0 at way 2 of channel 0"):
        array.lun_index(0, 2)
    assert "2 channels, 2 ways" in repr(array)
