"""Readers of foreign text and bytes: every seed of the fuzzer, and some seeds with a few changes."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.target import Target, mutated, run_timed
from tests.fuzz.targets import PLACES, target

CHANGED = {"template": 40, "params": 80, "profile": 80, "grid": 80, "requests": 80}
"""Inputs with changes, where not 150: templates and YAML take a while."""

TABLES = ("conversations", "rl-rows", "sft-rows", "episodes")

SHORT = 2_000
"""Bytes of a seed that is changed: whole files of the repository are read as they are."""


@pytest.mark.parametrize("name", PLACES)
def test_seeds_give_a_value_or_a_documented_error(name: str) -> None:
    chosen = target(name)
    assert chosen.name == name
    for data in chosen.seeds:
        _feed(chosen, data)


@pytest.mark.parametrize("name", PLACES)
def test_changed_seeds_give_a_value_or_a_documented_error(name: str) -> None:
    chosen, random = target(name), Random(name)
    short = tuple(data for data in chosen.seeds if len(data) < SHORT or name in TABLES)
    for _ in range(CHANGED.get(name, 150)):
        _feed(chosen, mutated(short, random))


def _feed(chosen: Target, data: bytes) -> None:
    try:
        run_timed(chosen, data)
    except Exception as error:
        raise AssertionError(f"{chosen.name} on {data[:300]!r}") from error
