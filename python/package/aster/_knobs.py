"""What a fit turns: dimensions of a search, and the profile's keys that come of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ._array import Array
from ._profile import Profile
from ._space import Range

NV_DDR2_MT_S = (66, 80, 133, 166, 200, 266, 333, 400)
"""The rates of NV-DDR2's timing modes, in millions of bytes per second, rounded down."""

LINKS = ((1, 1), (1, 2), (2, 2), (2, 4), (3, 4), (4, 4), (5, 4))
"""Generations and lanes of PCIe, each with about twice as much as the one before it."""

UNIT_BYTES = 4096
"""Of the map, in drives that pack small writes into pages."""

NARROW = 0.02
"""Of the width of a range: what is nearer to its end counts as being there."""

Values = Range | list[Any]


def knobs(base: Profile, *, writes: bool, erases: bool) -> dict[str, Values]:
    """The dimensions that make sense for drives like ``base``, with ranges around its values. Times are
    factors on the base's, because they are lists by page type. ``writes`` and ``erases`` say whether the jobs
    make the drive do so.
    """
    keys = base.keys
    out: dict[str, Values] = {"package.read_us": Range(1 / 8, 4, log=True)}
    if writes:
        out["package.program_us"] = Range(1 / 8, 4, log=True)
    if erases:
        out["package.erase_us"] = Range(1 / 4, 4, log=True)
    out["package.page_deviation_us"] = Range(0, 0.4)
    if keys["channel"]["data_interface"] == "nv-ddr2":
        fastest = NV_DDR2_MT_S[min(keys["package"]["nv_ddr2_mode_max"], len(NV_DDR2_MT_S) - 1)]
        out["channel.rate_mt_s"] = Range(40, fastest, log=True, integer=True)
    out["geometry.channels"] = [1, 2, 4, 8, 16]
    out["geometry.ways"] = [1, 2, 4, 8]
    if not keys["link"]["unlimited"]:
        out["link.lanes"] = [list(link) for link in LINKS]
    out["link.latency_ns"] = Range(100, 50_000, log=True, integer=True)
    if keys["ftl"]["kind"] == "page-mapping":
        out["ftl.partial_reads"] = [False, True]
        if writes and keys["geometry"]["page_bytes"] > UNIT_BYTES:
            out["ftl.mapping_unit_bytes"] = [0, UNIT_BYTES]
    if writes:
        out["ftl.buffer_entries"] = Range(16, 512, log=True, integer=True)
    cycles = keys["cores"]["frequency_mhz"]
    out["costs.command"] = Range(max(1, round(0.02 * cycles)), round(50 * cycles), log=True, integer=True)
    out["costs.flash_request"] = Range(
        max(1, round(0.02 * cycles)), round(20 * cycles), log=True, integer=True
    )
    return out


def overrides(base: Profile, point: Mapping[str, Any], array: Array) -> dict[str, Any]:
    """The profile's keys for a point of the search."""
    keys = base.keys
    package, geometry = keys["package"], keys["geometry"]
    out: dict[str, Any] = {}
    read_us: Sequence[float] = package["read_us"]
    for key, value in point.items():
        match key:
            case "package.read_us":
                read_us = out[key] = [_digits(value * us) for us in read_us]
            case "package.program_us":
                out[key] = [_digits(value * us) for us in package["program_us"]]
            case "package.erase_us":
                out[key] = _digits(value * package["erase_us"])
            case "package.page_deviation_us":
                pass
            case "channel.rate_mt_s":
                out[key] = value
                modes = [mode for mode, rate in enumerate(NV_DDR2_MT_S) if rate >= value]
                out["channel.timing_mode"] = min(modes)
            case "link.lanes":
                out["link.generation"], out["link.lanes"] = value
            case _:
                out[key] = value
    if "package.page_deviation_us" in point:
        # A share of the shortest tR, which it must not reach.
        out["package.page_deviation_us"] = _digits(point["package.page_deviation_us"] * min(read_us))
    channels = out.get("geometry.channels", geometry["channels"])
    ways = out.get("geometry.ways", geometry["ways"])
    return out | array.keys(channels, ways)


def at_an_end(space: Mapping[str, Values], point: Mapping[str, Any]) -> list[str]:
    """Dimensions in which the best point lies at an end of its values: the search was not free there."""
    out = []
    for key, values in space.items():
        if isinstance(values, Range):
            share = share_of(values, point[key])
            if min(share, 1 - share) <= NARROW:
                out.append(f"{key} is at the {'lower' if share < 0.5 else 'upper'} end of its range")
        elif len(values) > 2 and point[key] in (values[0], values[-1]):
            end = "lower" if point[key] == values[0] else "upper"
            out.append(f"{key} is at the {end} end of its values")
    return out


def share_of(values: Range, value: float) -> float:
    """Where in the range a value lies, from 0 to 1: what :meth:`Range.at` takes."""
    low, high = (values.low - 0.5, values.high + 0.5) if values.integer else (values.low, values.high)
    if values.log:
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def middle(space: Mapping[str, Values], base: Profile) -> dict[str, Any]:
    """The point that is nearest to the base itself, with which a search begins."""
    point: dict[str, Any] = {}
    for key, values in space.items():
        table, _, name = key.partition(".")
        value = base.keys.get(table, {}).get(name) if name else base.keys.get(table)
        match key:
            case "package.read_us" | "package.program_us" | "package.erase_us":
                value = 1.0
            case "package.page_deviation_us":
                value = value / min(base.keys["package"]["read_us"])
            case "channel.rate_mt_s":
                value = value or NV_DDR2_MT_S[base.keys["channel"]["timing_mode"]]
            case "link.lanes":
                value = [base.keys["link"]["generation"], value]
        point[key] = _nearest(values, value)
    return point


def _nearest(values: Values, value: Any) -> Any:
    if isinstance(values, Range):
        if not isinstance(value, int | float):
            return values.at(0.5)
        near = min(max(value, values.low), values.high)
        return int(near) if values.integer else float(near)
    if value in values:
        return value
    if values == [list(link) for link in LINKS]:
        rate = [2.0**generation * lanes for generation, lanes in [value, *values]]
        return values[min(range(len(values)), key=lambda at: abs(math.log(rate[at + 1] / rate[0])))]
    if all(isinstance(each, int | float) for each in [value, *values]):
        return min(values, key=lambda each: abs(each - value))
    return values[0]


def _digits(value: float) -> float:
    return float(f"{value:.6g}")
