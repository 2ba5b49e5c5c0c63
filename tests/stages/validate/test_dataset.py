"""The dataset that comes out: splits, rows, contract, card and rejections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stages import artifacts
from stages.artifacts import read_json, read_table, write_table
from stages.conversations import CONVERSATIONS, Conversation, to_row
from stages.dataset import REJECTED, RL_ROWS, SFT_ROWS, rl_row, row_to_plain, sft_row
from stages.params import SplitParams, ValidateParams
from stages.records import Message
from stages.rollout import episode_for, replayed_session
from stages.stage import execute
from stages.tracking import Tracker
from stages.validate import __main__ as stage
from stages.validate.expectations import check_contracts, conversation_frame, row_frame
from stages.validate.rows import rl_rows, sft_rows, split_of
from tests.stages.synthesize.writing import SEED, SERVERS, catalog, conversations


def test_a_chain_is_in_one_split_whatever_its_conversation() -> None:
    params = ValidateParams(split=SplitParams(val=0.3, test=0.3))
    found: dict[tuple[str, ...], set[str]] = {}
    for made in conversations():
        found.setdefault(made.chain, set()).add(split_of(made, params, SEED))
    assert all(len(splits) == 1 for splits in found.values())
    assert {split for splits in found.values() for split in splits} == {"train", "val", "test"}


def test_split_shares_are_those_asked_for() -> None:
    params, made = ValidateParams(split=SplitParams(val=0.1, test=0.2)), conversations()[0]
    many = [split_of(replace(made, chain=("a", str(n))), params, SEED) for n in range(2000)]
    assert many.count("val") / 2000 == pytest.approx(0.1, abs=0.02)
    assert many.count("test") / 2000 == pytest.approx(0.2, abs=0.03)


def test_held_out_servers_are_only_in_the_test_split() -> None:
    params = ValidateParams(held_out_servers=["banking"])
    assert {split_of(made, params, SEED) for made in conversations()} == {"test"}


def test_each_row_is_a_turn_that_starts_from_its_replay() -> None:
    rows = [row for made in conversations() for row in rl_rows(made)]
    assert len(rows) == sum(len(made.turns) for made in conversations())
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        assert row.messages[-1].role == "user" and row.messages[0].role == "user"
        assert sum(not step.name for step in row.replay) == row.turn + 1
        episode = episode_for(catalog(), row)
        assert episode.session.state_hash == replayed_session(catalog(), row.world, row.replay).state_hash
        for call in row.truth:
            assert catalog().call(episode.session, call.name, call.arguments).ok
        assert episode.session.state_hash == row.state_hash
        assert rl_row(row_to_plain(row)) == row


def test_what_failed_is_shown_and_not_learnt() -> None:
    failures = 0
    for made in conversations():
        (row,) = sft_rows([made])
        assert sft_row(row_to_plain(row)) == row
        failed = {call.position for turn in made.turns for call in turn.calls if not call.ok}
        failures += len(failed)
        for index, message in enumerate(row.messages):
            assert row.learn[index] == (message.role == "assistant" and index not in failed)
    assert failures >= 5


def frames(made: list[Conversation]) -> bool:
    rows = [row for c in made for row in rl_rows(c)]
    outcome, page = check_contracts(conversation_frame(made), row_frame(rows, "train"))
    assert page.lstrip().startswith("<!DOCTYPE html>")
    broken = [e for suite in outcome["suites"] for e in suite["expectations"] if not e["success"]]
    assert bool(broken) != outcome["success"]
    return bool(outcome["success"])


def test_the_contract_holds_and_breaks_when_it_should() -> None:
    made = list(conversations()[:6])
    assert frames(made)
    assert not frames([*made, made[0]])  # an id twice
    first, *others = made
    assert not frames([replace(first, messages=(*first.messages, Message("user", "?"))), *others])
    assert not frames([replace(first, kind="other"), *others])  # type: ignore[arg-type]
    assert not frames([replace(first, tools=(first.tools[0], *first.tools)), *others])
    calling = next(c for c in conversations() if c.turns[0].truth)
    called = calling.turns[0].truth[0].name
    assert not frames([replace(calling, tools=tuple(tool for tool in calling.tools if tool.name != called))])


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The stage's exit code, after it ran on good conversations and on one that is cut off."""
    monkeypatch.chdir(tmp_path)
    servers = ", ".join(SERVERS)
    Path("params.yaml").write_text(f"seed: {SEED}\nbootstrap: {{servers: [{servers}]}}\n", encoding="utf-8")
    cut = replace(conversations()[0], id="cut", messages=conversations()[0].messages[:-1])
    rows = [to_row(made) for made in (*conversations(), cut)]
    source = artifacts.DATA / "conversations" / "conversations.parquet"
    write_table(source, CONVERSATIONS, rows, artifacts.Stamp(catalog().fingerprint, "p"))
    yield run()


def run() -> int:
    tracker = Tracker("validate", enabled=False)
    return execute("validate", ValidateParams, stage.main, Path("params.yaml"), tracker)


def test_the_stage_writes_rows_rejections_and_a_card_that_counts_them(dataset: int) -> None:
    assert dataset == 0
    root, mark = artifacts.DATA / "dataset", catalog().fingerprint
    told = read_json(artifacts.REPORTS / "metrics" / "validate.json")
    refused = read_table(root / "rejected.parquet", REJECTED, mark)
    splits = {name: read_table(root / f"{name}.parquet", RL_ROWS, mark) for name in ("train", "val", "test")}
    sft = read_table(root / "sft.parquet", SFT_ROWS, mark)
    assert told["accepted"] + told["rejected"] == len(conversations()) + 1
    assert told["rejected"] == len(refused) and {"cut"} < {row["id"] for row in refused}
    assert {row["reason"] for row in refused} == set(told["reasons"]) >= {"ragged", "near_duplicate"}
    assert all(row["detail"] for row in refused)
    assert {name: len(rows) for name, rows in splits.items()} == told["rows"] and len(sft) == told["sft_rows"]
    owners = {name: {row["conversation"] for row in rows} for name, rows in splits.items()}
    assert not owners["train"] & owners["test"] and not owners["train"] & owners["val"]
    assert {row["id"] for row in sft} == owners["train"]
    assert not {row["id"] for row in refused} & set.union(*owners.values())
    card = (root / "README.md").read_text(encoding="utf-8")
    for number in (told["accepted"], told["rejected"], *told["rows"].values(), *told["reasons"].values()):
        assert f" {number} " in card or f"\n{number} " in card or f"({number} " in card
    assert mark in card and "scripted/grounded" in card
    before = {path.name: path.read_bytes() for path in root.iterdir()}
    assert run() == 0 and {path.name: path.read_bytes() for path in root.iterdir()} == before


def test_nothing_valid_ends_the_stage_with_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(f"bootstrap: {{servers: [{', '.join(SERVERS)}]}}\n", encoding="utf-8")
    cut = replace(conversations()[0], id="cut", messages=conversations()[0].messages[:-1])
    source = artifacts.DATA / "conversations" / "conversations.parquet"
    write_table(source, CONVERSATIONS, [to_row(cut)], artifacts.Stamp(catalog().fingerprint, "p"))
    assert run() == 1
    assert "ragged (cut:" in capsys.readouterr().err
    assert not (artifacts.DATA / "dataset").exists()
