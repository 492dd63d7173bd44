"""What fio would have written of a simulated drive."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import aster

REGION = 32 << 20

Options = Mapping[str, str | int]


def job_file(jobs: Mapping[str, Options]) -> str:
    """The jobs one after the other, as somebody runs them who measures a drive: on a region that was written,
    with time for the buffer to be written out, and those that write until the buffer is full."""
    text = [f"[fill]\nrw=write\nbs=128k\niodepth=32\nsize={REGION}"]
    for number, (name, options) in enumerate(jobs.items()):
        text.append(f"[idle{number}]\nstonewall\nrw=write\nnumber_ios=1\nfsync=1")
        if options["rw"] not in ("read", "randread"):
            text.append(f"[before{number}]\nstonewall\nrw=randwrite\niodepth=16\nio_size=8m\nsize={REGION}")
        lines = [f"{key}={value}" for key, value in options.items()]
        text.append("\n".join([f"[{name}]", "stonewall", f"size={REGION}", *lines]))
    return "\n".join(text) + "\n"


def document(drive: aster.Profile, jobs: Mapping[str, Options]) -> dict[str, Any]:
    """fio's JSON, as far as a fit reads it. ``number_ios`` is how long the job was, which fio doesn't say of
    jobs with a runtime."""
    report = drive.run(job=job_file(jobs), content="fingerprint", seed=5).report
    tasks = {task["name"]: task for task in report["tasks"]}
    entries = []
    for name, options in jobs.items():
        told = {key: str(value) for key, value in options.items() if key != "number_ios"}
        entry: dict[str, Any] = {
            "jobname": name,
            "groupid": len(entries),
            "error": 0,
            "job options": told | {"stonewall": "1", "runtime": "60", "time_based": "1"},
        }
        for direction in ("read", "write", "trim"):
            entry[direction] = {"total_ios": 0, "iops": 0.0, "clat_ns": {"min": 0, "max": 0}}
        for kind in tasks[name]["kinds"]:
            if kind["kind"] not in entry:
                continue
            latency = kind["latency"]
            entry[kind["kind"]] = {
                "total_ios": kind["requests"],
                "iops": kind["iops"],
                "clat_ns": {
                    "percentile": {
                        "50.000000": latency["p50_us"] * 1e3,
                        "99.000000": latency["p99_us"] * 1e3,
                    }
                },
            }
        entries.append(entry)
    return {
        "fio version": "fio-3.36",
        "global options": {"ioengine": "libaio", "direct": "1", "filename": "/dev/nvme0n1"},
        "jobs": entries,
    }


def text(drive: aster.Profile, jobs: Mapping[str, Options]) -> str:
    """The same as a file's text."""
    return json.dumps(document(drive, jobs), indent=1)
