"""Params: every mistake is named with its place and the nearest key that there is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stages.params import (
    BLOCKS,
    BootstrapParams,
    DiscoverParams,
    EvaluateParams,
    ParamsError,
    ReportParams,
    SkillsParams,
    SynthesizeParams,
    TeacherParams,
    ValidateParams,
    check_block,
    load_params,
    params_hash,
)


@pytest.mark.parametrize(
    "kind",
    [
        BootstrapParams,
        DiscoverParams,
        EvaluateParams,
        ReportParams,
        SkillsParams,
        SynthesizeParams,
        TeacherParams,
        ValidateParams,
    ],
)
def test_every_block_has_defaults_and_survives_json(kind: Any) -> None:
    assert check_block(kind, kind().model_dump(mode="json"), "block") == kind()


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (DiscoverParams, {"binding": 3}, "block.binding: unknown key; did you mean 'bindings'?"),
        (
            SynthesizeParams,
            {"mix": {"abstension": 0.1}},
            "block.mix.abstension: unknown key; did you mean 'abstention'?",
        ),
        (ReportParams, {"zzz": 1}, "block.zzz: unknown key; known keys: episodes, state_diffs, title"),
        (DiscoverParams, {"bindings": "6"}, "block.bindings: Input should be a valid integer, found '6'"),
        (DiscoverParams, {"trust": "both_of_them"}, "block.trust: Input should be 'executed', 'teacher' or 'both'"),
        (SynthesizeParams, {"mistake_rate": 1.5}, "block.mistake_rate: Input should be less than or equal to 1"),
    ],
)
def test_mistakes_are_named(kind: Any, value: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError) as caught:
        check_block(kind, value, "block")
    assert message in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(ParamsError) as caught:
        check_block(DiscoverParams, {"binding": 3, "chains": 0}, "discover")
    assert len(str(caught.value).splitlines()) == 2


def load(tmp_path: Path, text: str) -> dict[str, Any]:
    path = tmp_path / "params.yaml"
    path.write_text(text)
    return load_params(path)


def test_empty_blocks_are_left_out(tmp_path: Path) -> None:
    assert load(tmp_path, "seed: 3\ndiscover:\nreport: {title: x}") == {"seed": 3, "report": {"title": "x"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evalute: {}", "unknown block 'evalute'; did you mean 'evaluate'?"),
        ("xyz: {}", "unknown block 'xyz'; known keys: seed, bootstrap"),
        ("sede: 3", "unknown block 'sede'; did you mean 'seed'?"),
        ("seed: '3'", "seed must be a whole number from 0, found '3'"),
        ("seed: true", "seed must be a whole number from 0"),
        ("seed: -1", "seed must be a whole number from 0"),
        ("report: [1]", "report must be a mapping"),
        ("- 1", "must hold a mapping"),
        ("a: b: c", "is not YAML"),
        ("seed: 2026-13-45", "is not YAML: month must be in 1..12"),
        ("seed: !!bool x", "does not fit its tag"),
        ("seed: &a [*a]", "inside the value that it refers to"),
        ("seed: " + "[" * 5_000, "nested deeper than 100 levels"),
        (
            "a: &a {k: 1}\n"
            + "".join(f"{c}: &{c} {{<<: [{', '.join([f'*{b}'] * 9)}]}}\n" for b, c in pairwise("abcdefgh")),
            "alias",
        ),
    ],
)
def test_a_bad_document_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ParamsError) as caught:
        load(tmp_path, text)
    assert message in str(caught.value)


def test_the_projects_own_params_are_good() -> None:
    document = load_params(Path(__file__).parents[2] / "params.yaml")
    assert set(document) <= {"seed", *BLOCKS}


def test_the_hash_follows_values_alone() -> None:
    assert params_hash(ReportParams()) == params_hash(ReportParams(episodes=20))
    assert params_hash(ReportParams()) != params_hash(ReportParams(episodes=21))
