"""The part of the package that is written in Rust."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ._run import Asked
from ._torture import Asked as Torture

__version__: str

class AsterError(Exception):
    """Why Aster could not do what was asked."""

class UsageError(AsterError):
    """A profile, a job file, a trace or an argument is wrong."""

class RunError(AsterError):
    """The work began and failed."""

class Profile:
    @staticmethod
    def find(wanted: str | Path, overrides: list[str]) -> Profile: ...
    @staticmethod
    def of_text(wanted: str | Path, name: str, file: str, text: str, overrides: list[str]) -> Profile: ...
    def changed(self, overrides: list[str]) -> Profile: ...
    @property
    def name(self) -> str: ...
    @property
    def overrides(self) -> list[str]: ...
    @property
    def parts(self) -> tuple[Path, str, str, str, list[str]]: ...
    def to_toml(self) -> str: ...
    def keys_json(self) -> str: ...
    def check_json(self) -> str: ...

def profiles() -> str: ...

class Columns:
    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def nbytes(self) -> int: ...

class Block:
    """A block that garbage collection may empty: full, with data that is no longer valid."""

    @property
    def block(self) -> int:
        """Its number in its LUN."""
    @property
    def lun(self) -> int:
        """Its LUN, counted over the array, channels first."""
    @property
    def valid(self) -> int:
        """Mapping units that must be copied before it is erased."""
    @property
    def units(self) -> int:
        """Mapping units that it has: its pages, unless ``ftl.mapping_unit_bytes`` makes them smaller."""
    @property
    def age(self) -> int:
        """How many blocks the drive has filled since this one was."""
    @property
    def erases(self) -> int:
        """How often it was erased."""

class Geometry:
    """The array whose LUNs a placement deals out."""

    @property
    def channels(self) -> int:
        """Channels of the drive."""
    @property
    def ways(self) -> int:
        """Chip enables of a channel."""
    @property
    def luns(self) -> int:
        """LUNs behind a chip enable."""
    @property
    def planes(self) -> int:
        """Planes of a LUN."""
    @property
    def blocks_per_lun(self) -> int:
        """Blocks of a LUN, all planes together."""
    @property
    def pages_per_block(self) -> int:
        """Pages of a block."""
    @property
    def page_bytes(self) -> int:
        """Data bytes of a page."""
    @property
    def total_luns(self) -> int:
        """LUNs of the whole array; their numbers are below it."""
    def lun_index(self, channel: int, way: int, lun: int = 0) -> int:
        """The number of a LUN: they are counted over the array, channels first, then ways."""

class Transaction:
    """A transaction that waits for its channel."""

    @property
    def lun(self) -> int:
        """The LUN that it is for, by its number."""
    @property
    def name(self) -> str:
        """What it does, in words."""
    @property
    def kind(self) -> str:
        """How it uses the bus: ``"status"``, ``"command"``, ``"data-out"`` (from the package) or
        ``"data-in"``."""
    @property
    def bytes(self) -> int:
        """The bytes of all its bursts."""
    @property
    def issued_us(self) -> float:
        """When it was issued, in simulated microseconds from power-on."""
    @property
    def passed_over(self) -> int:
        """How often a transaction that was issued later went before it."""
    @property
    def place(self) -> int:
        """Its place among those that wait, in the order of issue, from 0."""

class Wait:
    """The type of ``aster.WAIT``, by which a workload says that it has no request until one has completed."""

WAIT: Wait

class Completion:
    """A request of a workload that has completed."""

    @property
    def number(self) -> int:
        """Which of the workload's requests it was, from 1."""
    @property
    def request(self) -> Any:
        """What the workload gave: that very object."""
    @property
    def at_us(self) -> float:
        """When it completed, in simulated microseconds from the beginning of the work."""
    @property
    def latency_us(self) -> float:
        """How long that was after its issue."""
    @property
    def failed(self) -> bool:
        """Whether the drive failed it, or its content was wrong."""

class Outcome:
    @property
    def commands(self) -> Columns | None: ...
    @property
    def samples(self) -> Columns | None: ...
    @property
    def explanations(self) -> list[tuple[str, str]]: ...
    @property
    def report_json(self) -> str: ...
    @property
    def problems(self) -> list[str]: ...
    @property
    def failures(self) -> int: ...
    @property
    def first_failure(self) -> str | None: ...

def run(profile: Profile, asked: Asked) -> Outcome: ...
def smaller_drive(profile: Profile, content: str | None) -> list[str]: ...
def torture_drives(profile: Profile, asked: Torture) -> tuple[str, str | None]: ...
def reproduce(what: str, quick: bool, progress: Callable[[str, float], object] | None) -> tuple[str, str]: ...
def sampled(values: list[float]) -> tuple[float, float | None]: ...
def beyond_chance(first: list[float], other: list[float]) -> bool | None: ...
