"""The dataset that comes out: splits, rows, contract, card and rejections."""

from __future__ import annotations

import shutil
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from stages import artifacts
from stages.artifacts import read_json, read_table, write_table
from stages.bootstrap.catalogue import SERVERS as SERVER_ROWS
from stages.bootstrap.catalogue import TOOLS, server_rows, tool_rows
from stages.conversations import CONVERSATIONS, to_row
from stages.dataset import REJECTED, RL_ROWS, SFT_ROWS, rl_row, row_to_plain, sft_row
from stages.discover.edges import CHAINS, EDGES
from stages.params import SplitParams, ValidateParams
from stages.rollout import episode_for, replayed_session
from stages.stage import execute
from stages.tracking import Tracker
from stages.validate import __main__ as stage
from stages.validate.origins import PROVENANCE
from stages.validate.rows import rl_rows, sft_rows, split_of
from tests.stages.synthesize.writing import SEED, SERVERS, catalog, chains, conversations


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
    rows = [row for made in conversations() for row in rl_rows(catalog(), made)]
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


EDGE = {"server": "banking", "first": "list_cards", "second": "freeze_card", "label": "explicit"}


def upstream() -> None:
    """The catalogue and the graph, as the stages before leave them."""
    mark = artifacts.Stamp(catalog().fingerprint, "p")
    edge = {**dict.fromkeys(EDGES.names, ""), **EDGE, "parameter": "card_id", "verdict": "explicit"}
    edge |= dict.fromkeys(("schema", "trace", "executed"), True)
    for path, schema, rows in (
        ("catalog/servers.parquet", SERVER_ROWS, server_rows(catalog(), SEED, {})),
        ("catalog/tools.parquet", TOOLS, tool_rows(catalog())),
        ("graph/edges.parquet", EDGES, [edge]),
        ("graph/chains.parquet", CHAINS, [asdict(chain) for chain in chains()]),
    ):
        write_table(artifacts.DATA / path, schema, rows, mark)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the stage ran on good conversations and on one that is cut off."""
    place = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        servers = ", ".join(SERVERS)
        Path("params.yaml").write_text(f"seed: {SEED}\nbootstrap: {{servers: [{servers}]}}\n", encoding="utf-8")
        cut = replace(conversations()[0], id="cut", messages=conversations()[0].messages[:-1])
        rows = [to_row(made) for made in (*conversations(), cut)]
        source = artifacts.DATA / "conversations" / "conversations.parquet"
        write_table(source, CONVERSATIONS, rows, artifacts.Stamp(catalog().fingerprint, "p"))
        upstream()
        assert run() == 0
    return place


@pytest.fixture
def dataset(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a copy of the finished one, to be changed freely."""
    place = tmp_path / "run"
    shutil.copytree(finished, place)
    monkeypatch.chdir(place)
    return place


def run() -> int:
    tracker = Tracker("validate", enabled=False)
    return execute("validate", ValidateParams, stage.main, Path("params.yaml"), tracker)


def test_the_stage_writes_rows_rejections_and_a_card_that_counts_them(dataset: Path) -> None:
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
    origins = read_table(root / "provenance.parquet", PROVENANCE, mark)
    assert len(origins) == told["provenance"]["literals"] == sum(told["provenance"]["sources"].values())
    assert told["provenance"]["traced"] == 1.0
    assert {row["conversation"] for row in origins} <= {r["conversation"] for part in splits.values() for r in part}
    assert told["leakage"]["chains"] == 0 and told["leakage"]["test_rows"] == told["rows"]["test"]
    assert told["diversity"]["ours"]["texts"] == min(300, sum(told["rows"].values()))
    assert len({item["texts"] for item in told["diversity"].values()}) == 1
    owners = {name: {row["conversation"] for row in rows} for name, rows in splits.items()}
    assert not owners["train"] & owners["test"] and not owners["train"] & owners["val"]
    assert {row["id"] for row in sft} == owners["train"]
    assert not {row["id"] for row in refused} & set.union(*owners.values())
    card = (root / "README.md").read_text(encoding="utf-8")
    for number in (told["accepted"], told["rejected"], *told["rows"].values(), *told["reasons"].values()):
        assert f" {number} " in card or f"\n{number} " in card or f"({number} " in card
    assert "acebench: not compared" in card
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


def settle(text: str) -> None:
    """Write `params.yaml` with this `validate` block."""
    servers = ", ".join(SERVERS)
    block = f"seed: {SEED}\nbootstrap: {{servers: [{servers}]}}\nvalidate: {text}\n"
    Path("params.yaml").write_text(block, encoding="utf-8")


def test_a_quota_leaves_out_what_is_over_it_and_does_not_count_it_as_rejected(dataset: Path) -> None:
    before = read_json(artifacts.REPORTS / "metrics" / "validate.json")
    settle("{quota: {multi_turn: 5, clarification: 0, abstention: 1000}}")
    assert run() == 0
    told = read_json(artifacts.REPORTS / "metrics" / "validate.json")
    assert told["kinds"] == {"abstention": before["kinds"]["abstention"], "multi_turn": 5}
    assert told["over_quota"] == {
        "clarification": before["kinds"]["clarification"], "multi_turn": before["kinds"]["multi_turn"] - 5,
    }  # fmt: skip
    assert told["quota_lacks"] == {"abstention": 1000 - before["kinds"]["abstention"]}
    assert (told["acceptance_rate"], told["rejected"]) == (before["acceptance_rate"], before["rejected"])
    refused = read_table(artifacts.DATA / "dataset" / "rejected.parquet", REJECTED, None)
    over = [row for row in refused if row["reason"] == "over_quota"]
    assert len(over) == sum(told["over_quota"].values()) and len(refused) == len(over) + told["rejected"]


def test_held_out_servers_are_never_shown_in_training(dataset: Path) -> None:
    settle("{held_out_servers: [budget]}")
    assert run() == 0
    hidden = set(catalog().servers["budget"].tools)
    root, mark = artifacts.DATA / "dataset", catalog().fingerprint
    for name in ("train", "val", "test"):
        for row in map(rl_row, read_table(root / f"{name}.parquet", RL_ROWS, mark)):
            assert not {tool.name for tool in row.tools} & hidden
    reasons = read_json(artifacts.REPORTS / "metrics" / "validate.json")["reasons"]
    asking = sum("irrelevance" in made.perturbations for made in conversations())
    assert reasons.get("shows_held_out_server", 0) == asking > 0
    settle("{held_out_servers: [bank]}")
    assert run() == 2


def test_what_breaks_its_contract_ends_the_stage_and_leaves_the_dataset(
    dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (artifacts.DATA / "dataset" / "README.md").read_bytes()
    mark = artifacts.Stamp(catalog().fingerprint, "p")
    rows = [{**asdict(chain), "labels": []} for chain in chains()]
    write_table(artifacts.DATA / "graph" / "chains.parquet", CHAINS, rows, mark)
    capsys.readouterr()
    assert run() == 1
    assert "chains: contract broken" in capsys.readouterr().err
    assert (artifacts.DATA / "dataset" / "README.md").read_bytes() == before
