"""Inputs that were cut, emptied or overwritten: the stage names the file and the cure, and leaves nothing wrong."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from servers.kernel.dice import Dice
from stages.artifacts import STAMP_KEY
from tests.bench.kills.outcome import UNFINISHED, content, scratch
from tests.bench.kills.rounds import said
from tests.bench.kills.workspace import OUTPUTS, run

INPUTS = {
    "synthesize": ["data/graph/chains.parquet"],
    "validate": ["data/conversations", "data/catalog/servers.parquet", "data/graph/edges.parquet"],
    "skills": ["data/dataset/train.parquet", "data/conversations"],
    "train": ["data/dataset/sft.parquet", "data/dataset/val.parquet", "data/policy_base"],
    "evaluate": ["data/dataset/test.parquet", "data/policy/final"],
    "report": ["reports/metrics", "data/scores/episodes.parquet", "data/policy/grpo_log.jsonl", "data/skills"],
}
CURES = ("run its stage again", "run the stage that makes it", "again")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def files_of(place: str) -> list[Path]:
    path = Path(place)
    found = [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file())
    return [item for item in found if item.name not in ("README.md", "steps.parquet")]


def damages(whole: bytes, dice: Dice) -> dict[str, bytes]:
    cut = whole[: dice.integer(1, max(1, len(whole) - 2))]
    garbage = bytes(dice.integer(0, 255) for _ in range(200))
    return {"cut": cut, "emptied": b"", "garbage": garbage}


@pytest.mark.parametrize("stage", INPUTS)
def test_a_damaged_input_is_named_with_the_cure(pipeline: Path, stage: str) -> None:
    """Each file in one of three ways, drawn by the seed."""
    dice = Dice(3, f"damage/{stage}")
    outputs = {path: content(path) for path in OUTPUTS[stage]}
    for path in dice.sample([path for place in INPUTS[stage] for path in files_of(place)], 5):
        whole = path.read_bytes()
        how, spoilt = dice.choice(sorted(damages(whole, dice).items()))
        path.write_bytes(spoilt)
        assert run(stage) == 1, f"{path} {how}: {said()}"
        last = said().strip().splitlines()[-1]
        assert "Traceback" not in said(), f"{path} {how}: {said()}"
        assert path.name in last and str(path.parent) in last and any(cure in last for cure in CURES), last
        assert {path: content(path) for path in OUTPUTS[stage]} == outputs
        assert not [left for left in scratch() if UNFINISHED not in (left, *left.parents)]
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("stage", "table"),
    [
        ("synthesize", "data/graph/chains.parquet"),
        ("skills", "data/conversations/conversations.parquet"),
        ("train", "data/dataset/train.parquet"),
        ("evaluate", "data/dataset/test.parquet"),
        ("report", "data/rollouts/train.parquet"),
    ],
)
def test_a_table_of_other_servers_is_refused_with_the_difference(pipeline: Path, stage: str, table: str) -> None:
    rows = pq.read_table(table)
    stamp = (rows.schema.metadata or {})[STAMP_KEY].replace(b'"fingerprint": "', b'"fingerprint": "0')
    pq.write_table(rows.replace_schema_metadata({STAMP_KEY: stamp}), table)
    assert run(stage) == 1
    last = said().strip().splitlines()[-1]
    assert f"{table} was made with servers 0" in last and "stages.bootstrap diff" in last and "Traceback" not in said()
