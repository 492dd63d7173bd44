"""Profiles: names, overrides, and what is wrong with them."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path

import aster
import pytest


def test_the_shipped_profiles_are_listed() -> None:
    listed = {profile.name: profile for profile in aster.profiles()}
    assert {"tiny", "cosmos-plus", "ideal"} <= listed.keys()
    assert listed["tiny"].flash_bytes == 48 << 20
    assert "channel" in listed["tiny"].shape


@pytest.mark.parametrize(
    ("overrides", "key", "value"),
    [
        ({"ftl.buffer_entries": 64}, ("ftl", "buffer_entries"), 64),
        ({"ftl": {"buffer_entries": 64}}, ("ftl", "buffer_entries"), 64),
        ({"ecc.scrambler": False}, ("ecc", "scrambler"), False),
        ({"package.errors.fresh": 1e-7}, ("package", "errors", "fresh"), 1e-7),
        (
            {"package.read_us": [25.5], "package.program_us": [200], "package.cells": "slc"},
            ("package", "read_us"),
            [25.5],
        ),
        ({"description": 'one "quoted"'}, ("description",), 'one "quoted"'),
        ({"ftl.victims": "greedy"}, ("ftl", "victims"), "greedy"),
    ],
)
def test_every_kind_of_value_arrives(overrides: dict, key: tuple[str, ...], value: object) -> None:
    found = aster.profile("tiny", overrides).keys
    for part in key:
        found = found[part]
    assert found == value


def test_none_takes_a_key_away() -> None:
    added = aster.profile("tiny", {"restrict.blocks_per_lun": 16})
    assert added.keys["restrict"]["blocks_per_lun"] == 16
    taken = added.changed({"restrict.blocks_per_lun": None})
    assert taken.keys == aster.profile("tiny").keys
    with pytest.raises(aster.UsageError, match="doesn't have this key"):
        aster.profile("tiny", {"ftl.refresh_reads": None})


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            {"ftl.bufer_entries": 64},
            "--set ftl.bufer_entries=64: unknown key; did you mean 'buffer_entries'?",
        ),
        ({"ftl.buffer_entries": 1}, "must be from 4"),
        ({"ftl.buffer_entries": object()}, "expected a number"),
        ({7: 1}, "expected a key as text"),
    ],
)
def test_a_wrong_override_is_named(overrides: dict, words: str) -> None:
    with pytest.raises(aster.UsageError) as raised:
        aster.profile("tiny", overrides)
    assert words in str(raised.value)


def test_errors_have_the_words_of_the_command_line(command_line: Path) -> None:
    for wanted, overrides in [
        ("cosmos-puls", {}),
        ("nowhere/my.toml", {}),
        ("tiny", {"ftl.buffer_entries": "64k"}),
        ("tiny", {"ftl.nothing_like_it": 1}),
    ]:
        arguments = [part for key, value in overrides.items() for part in ("--set", f"{key}={value}")]
        ran = subprocess.run([command_line, "check", wanted, *arguments], capture_output=True, text=True)
        assert ran.returncode == 2
        with pytest.raises(aster.AsterError) as raised:
            aster.profile(wanted, overrides)
        assert f"error: {raised.value}" in " ".join(ran.stderr.split("\n"))


def test_check_says_what_the_command_line_says(command_line: Path) -> None:
    ran = subprocess.run(
        [command_line, "check", "tiny", "--json", "--set", "ftl.buffer_entries=64"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert aster.profile("tiny", {"ftl.buffer_entries": 64}).check() == json.loads(ran.stdout)


def test_a_profile_is_written_and_read(tmp_path: Path) -> None:
    profile = aster.profile("tiny", {"ftl.buffer_entries": 64})
    path = tmp_path / "tiny.toml"
    path.write_text(profile.to_toml())
    assert aster.profile(path) == profile
    assert aster.profile(str(path)) != aster.profile("tiny")


def test_a_profile_is_pickled() -> None:
    profile = aster.profile("tiny", {"ftl.buffer_entries": 64})
    again = pickle.loads(pickle.dumps(profile))
    assert again == profile and hash(again) == hash(profile)
    assert (again.name, again.overrides) == ("tiny", ["ftl.buffer_entries=64"])
