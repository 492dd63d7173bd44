"""Overrides of a profile's keys, as Python says them and as the command line does."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ._aster import UsageError

Value: TypeAlias = "bool | int | float | str | None | Sequence[Value]"
"""A profile's value; ``None`` takes the key away."""

Overrides: TypeAlias = "Mapping[str, Value | Overrides]"
"""Keys with their values: ``{"ftl.buffer_entries": 64}``, or ``{"ftl": {"buffer_entries": 64}}``."""

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*\Z")


def _is_word(value: str) -> bool:
    """Whether the command line takes it for a word without quotes."""
    if not _WORD.match(value):
        return False
    try:
        tomllib.loads(f"value = {value}")
    except tomllib.TOMLDecodeError:
        return True
    return False


def _as_toml(key: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str() if _is_word(value):
            return value
        case str():
            return json.dumps(value, ensure_ascii=False)
        case Sequence():
            return "[" + ", ".join(_as_toml(key, part) for part in value) + "]"
    number = getattr(value, "item", None)
    if callable(number):
        # One of NumPy's numbers.
        return _as_toml(key, number())
    raise UsageError(
        f"{key}: expected a number, True, False, text, a list of them, or None to take the key away, "
        f"but is {value!r}"
    )


def arguments(overrides: Overrides, table: str = "") -> Iterator[str]:
    """``KEY=VALUE`` for each, as ``--set`` takes them."""
    for key, value in overrides.items():
        if not isinstance(key, str):
            raise UsageError(f'{table}{key!r}: expected a key as text, such as "ftl.buffer_entries"')
        key = table + key
        if isinstance(value, Mapping):
            yield from arguments(value, key + ".")
        elif value is None:
            yield f"{key}="
        else:
            yield f"{key}={_as_toml(key, value)}"
