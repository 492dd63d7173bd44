"""How small the drive of a fit is."""

from __future__ import annotations

import math
from typing import Any

from ._aster import UsageError
from ._profile import Profile

PAGES_MIN = 16
"""The fewest pages that a block keeps."""


class Array:
    """The flash of the simulated drive: fewer blocks than the real one's, however many LUNs it has, so that a
    try costs the same whatever it turns."""

    def __init__(self, base: Profile, flash_bytes: int, *, full: bool) -> None:
        self.flash_bytes, self.full = flash_bytes, full
        self._base, self._known = base, dict[tuple[int, int], dict[str, Any]]()

    def keys(self, channels: int, ways: int) -> dict[str, Any]:
        """The geometry of a drive with so many ways."""
        known = self._known.get((channels, ways))
        if known is None:
            known = self._known[channels, ways] = self._fewest(channels, ways)
        return known

    def _fewest(self, channels: int, ways: int) -> dict[str, Any]:
        geometry = self._base.keys["geometry"]
        planes, pages = geometry["planes"], geometry["pages_per_block"]
        luns = channels * ways * geometry["luns"]
        wanted = self.flash_bytes / (luns * geometry["page_bytes"])
        shape: dict[str, Any] = {"geometry.channels": channels, "geometry.ways": ways}
        if geometry.get("capacity") is not None:
            # It would ask for the blocks of the real drive.
            shape["geometry.capacity"] = None
        while True:
            blocks = planes * math.ceil(wanted / (pages * planes))
            keys = shape | {"geometry.pages_per_block": pages, "geometry.blocks_per_lun": blocks}
            problem = self._problem(keys)
            if problem is not None:
                # The fewest that are enough for over-provisioning, metadata and garbage collection.
                most = max(2 * blocks, 64 * planes)
                while (problem := self._problem(keys | {"geometry.blocks_per_lun": most})) is not None:
                    if most > 1 << 14:
                        raise problem
                    most *= 2
                while most - blocks > planes:
                    middle = (blocks + most) // 2 // planes * planes
                    if self._problem(keys | {"geometry.blocks_per_lun": middle}) is None:
                        most = middle
                    else:
                        blocks = middle
                # With as many again, over-provisioning leaves room for factory bad blocks, too.
                keys["geometry.blocks_per_lun"] = blocks = 2 * most
            if not self.full or blocks * pages <= 2 * wanted or pages // 2 < PAGES_MIN:
                return keys
            pages //= 2

    def _problem(self, keys: dict[str, Any]) -> UsageError | None:
        try:
            self._base.changed(keys)
        except UsageError as error:
            return error
        return None
