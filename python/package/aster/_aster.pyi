"""The part of the package that is written in Rust."""

from collections.abc import Callable
from pathlib import Path

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
