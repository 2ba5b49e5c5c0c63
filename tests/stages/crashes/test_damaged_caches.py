"""Work that is kept for a resumed run, damaged: thrown away with a message or refused, never trusted."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from stages.teacher.cache import Cache
from tests.bench.kills.moments import kill_at
from tests.bench.kills.outcome import content, scratch
from tests.bench.kills.rounds import remove, said
from tests.bench.kills.workspace import OUTPUTS, run

Damage = Callable[[bytes], bytes]

DAMAGE: Mapping[str, Damage] = {
    "cut": lambda whole: whole[: len(whole) // 2],
    "emptied": lambda whole: b"",
    "another letter": lambda whole: whole.replace(b"a", b"b", 1) if b"a" in whole else whole[:-1] + b"x",
    "garbage": lambda whole: bytes(range(256)) * 4,
}
SHARD = kill_at("stages.synthesize.shards:Shards.write", 3, "after")
EPISODE = kill_at("stages.evaluate.journal:Journal.add", 5, "after")
STEP = kill_at("stages.train.grpo:save_checkpoint", 2, "after")


def spoil(path: Path, damage: Damage) -> None:
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    assert path.read_bytes() != whole


@pytest.fixture
def kept(pipeline: Path) -> Callable[[str, Callable[[], None]], dict[Path, dict[str, bytes] | None]]:
    """Runs a stage without its old outputs up to a kill; the outputs that it has to have in the end."""

    def begun(stage: str, death: Callable[[], None]) -> dict[Path, dict[str, bytes] | None]:
        expected = {path: content(path) for path in OUTPUTS[stage]}
        remove(OUTPUTS[stage])
        assert run(stage, before=death) == -9
        return expected

    return begun


Kept = Callable[[str, Callable[[], None]], dict[Path, dict[str, bytes] | None]]


def ends_as_expected(stage: str, expected: dict[Path, dict[str, bytes] | None]) -> None:
    assert run(stage) == 0, said()
    assert {path: content(path) for path in OUTPUTS[stage]} == expected
    assert not scratch()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_shard_is_written_again(kept: Kept, damage: str) -> None:
    expected = kept("synthesize", SHARD)
    shards = sorted(Path("data/.unfinished").rglob("*.json"))
    assert len(shards) == 3
    spoil(shards[1], DAMAGE[damage])
    ends_as_expected("synthesize", expected)
    assert f"{shards[1]} is damaged" in said()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("model.safetensors", "another letter"),
        ("optimizer.pt", "cut"),
        ("state.json", "emptied"),
        ("digests.json", "garbage"),
    ],
)
def test_a_damaged_checkpoint_is_removed_and_training_goes_back(kept: Kept, name: str, damage: str) -> None:
    expected = kept("train", STEP)
    newest = max(Path("data/.unfinished").rglob("grpo_checkpoints/*/step-*"))
    spoil(newest / name, DAMAGE[damage])
    ends_as_expected("train", expected)
    assert f"{newest} is damaged" in said()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("name", "damage"), [("grpo_log.jsonl", "garbage"), ("train.jsonl", "emptied")])
def test_a_damaged_log_of_training_is_refused_with_the_cure(kept: Kept, name: str, damage: str) -> None:
    expected = kept("train", STEP)
    log = next(Path("data/.unfinished").rglob(name))
    spoil(log, DAMAGE[damage])
    assert run("train") == 1
    last = said().strip().splitlines()[-1]
    assert f"{log} is damaged" in last and f"remove {log.parent}" in last and "Traceback" not in said()
    assert not Path("data/policy").exists()
    remove([log.parent])
    ends_as_expected("train", expected)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_episodes_are_played_again(kept: Kept, damage: str) -> None:
    expected = kept("evaluate", EPISODE)
    journal = max(Path("data/.unfinished/evaluate").rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([DAMAGE[damage](lines[0])[:-1] + b"\n", *lines[1:]]))
    ends_as_expected("evaluate", expected)
    assert f"{journal} is damaged after 0 rows" in said()


@pytest.mark.parametrize("spoilt", ["", "{", "null", "[1]", '{"digest": "0", "answer": {"content": "no"}}'])
def test_a_damaged_answer_of_a_teacher_is_asked_for_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoilt: str
) -> None:
    path, answer = tmp_path / "teacher.sqlite", {"content": "yes", "calls": [["a", "b", "c"]], "cost": 0.1}
    with closing(Cache(path)) as cache:
        cache.put("key", answer)
        assert cache.get("key") == answer
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE answers SET answer = ?", (spoilt,))
        assert cache.get("key") is None and cache.get("key") is None
        assert f"an answer in {path} is damaged" in " ".join(capsys.readouterr().err.split())
        cache.put("key", answer)
        assert cache.get("key") == answer
