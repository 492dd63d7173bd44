"""Runs and sweeps side by side."""

from __future__ import annotations

import json
from pathlib import Path

import aster
import pytest
from aster._compare import Measured
from aster._compare_command import main

JOB = "[w]\nrw=randrw\nbs=4k\niodepth=4\nnumber_ios=300\nrandrepeat=0\n"


def runs(entries: int, seeds: range) -> list[aster.Run]:
    drive = aster.profile("tiny", {"ftl.buffer_entries": entries})
    return [drive.run(job=JOB, seed=seed, content="fingerprint") for seed in seeds]


def test_two_runs_have_their_differences() -> None:
    one, two = runs(16, range(1, 3))[0], runs(64, range(1, 2))[0]
    told = aster.compare(one, two, names=["16", "64"])
    iops = told[0]
    assert iops.figure == "total.all.iops"
    figures = [run.report["total"]["all"]["iops"] for run in (one, two)]
    assert [each.mean for each in iops.of] == figures
    assert iops.percent() == pytest.approx((figures[1] / figures[0] - 1) * 100)
    assert iops.is_certain() is None
    assert "total.all.iops" in str(told)
    assert "chance" not in str(told)


def test_seeds_give_confidence() -> None:
    # Student's t for four degrees of freedom is 2.776.
    measured = Measured.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (measured.mean, measured.seeds) == (3.0, 5)
    assert measured.half_width == pytest.approx(2.776 * 1.5811388 / 5**0.5, rel=1e-6)
    small, large, more = runs(16, range(1, 6)), runs(128, range(1, 6)), runs(16, range(6, 11))
    certain = aster.compare(small, large, figures=["total.all.iops"])[0]
    assert certain.is_certain() is True
    same = aster.compare(small, more, figures=["total.all.iops"])
    assert same[0].is_certain() is False
    assert "? may be chance" in str(same)
    frame = same.to_pandas()
    assert list(frame) == ["figure", "A", "A ±", "B", "B ±", "B %", "B certain"]


def test_sweeps_are_compared_point_by_point(tmp_path: Path) -> None:
    def sweep(name: str, entries: list[int], victims: str) -> aster.Sweep:
        return aster.sweep(
            "tiny",
            {"ftl.buffer_entries": entries},
            job=JOB,
            overrides={"ftl.victims": victims},
            seeds=2,
            out=tmp_path / name,
            workers=1,
            content="fingerprint",
        )

    one, two = sweep("a", [16, 32, 64], "greedy"), sweep("b", [64, 16], "cost-benefit")
    told = aster.compare(one, two, figures=["waf", "total.all.iops"])
    assert [(row.parameters, row.figure) for row in told] == [
        ({"ftl.buffer_entries": entries}, figure)
        for entries in (16, 64)
        for figure in ("waf", "total.all.iops")
    ]
    assert told[0].of[0].seeds == 2
    with pytest.raises(aster.UsageError, match="no point in common"):
        aster.compare(one, sweep("c", [128], "greedy"))
    with pytest.raises(aster.UsageError, match="figures: nothing: not all have"):
        aster.compare(one, two, figures=["nothing"])


def test_what_can_not_be_compared_is_told() -> None:
    (run,) = runs(16, range(1, 2))
    for asked, words in [
        ((run,), "two or more"),
        ((run, []), "expected a run"),
        ((run, ["x"]), "expected a run"),
    ]:
        with pytest.raises(aster.UsageError, match=words):
            aster.compare(*asked)  # type: ignore[arg-type]
    with pytest.raises(aster.UsageError, match="names: 2 are needed, but there are 1"):
        aster.compare(run, run, names=["one"])


def test_the_command_compares_sweeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = {"job.iodepth": [1, 8]}
    for name, entries in [("small", 16), ("large", 64)]:
        aster.sweep(
            "tiny",
            space,
            job=JOB,
            seeds=3,
            out=tmp_path / name,
            workers=1,
            content="fingerprint",
            overrides={"ftl.buffer_entries": entries},
        )
    small, large = str(tmp_path / "small"), str(tmp_path / "large")
    assert main([small, large, "--figure", "total.all.iops"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("job.iodepth") and small in shown and large in shown
    assert [line.split()[:2] for line in shown.splitlines()[1:3]] == [
        ["1", "total.all.iops"],
        ["8", "total.all.iops"],
    ]
    assert main(["--json", "--all", "--", small, large]) == 0
    rows = json.loads(capsys.readouterr().out)["differences"]
    wanted = aster.compare(aster.Sweep(small), aster.Sweep(large))
    found = {(row["parameters"]["job.iodepth"], row["figure"]): row["of"] for row in rows}
    assert len(found) > len(wanted)
    for each in wanted:
        one, two = found[each.parameters["job.iodepth"], each.figure]
        assert (one["mean"], two["percent"]) == (each.of[0].mean, each.percent())
    assert main([small, str(tmp_path)]) == 2
    assert f"error: {tmp_path}: holds no sweep" in capsys.readouterr().err
    assert main([small]) == 2
    assert "two or more are needed" in capsys.readouterr().err
