"""The exports, each read back as its trainer reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from stages.artifacts import DATA, REPORTS, Stamp, read_json, write_json, write_table
from stages.dataset import REJECTED, RL_ROWS, SFT_ROWS, ReplayStep, RlRow, SftRow, row_to_plain
from stages.params import ValidateParams
from stages.records import Message, ToolCall
from stages.rollout import replayed_session
from stages.stage import execute
from stages.tracking import Tracker
from stages.validate.export import export
from stages.validate.exports.conversational import sharegpt_line
from stages.validate.origins import PROVENANCE, provenance_rows
from stages.validate.provenance import trace
from stages.validate.reasons import Rejection
from stages.validate.rows import rl_rows, sft_rows
from tests.stages.synthesize.writing import SEED, SERVERS, catalog
from tests.stages.validate.acting import ASK, LOOKUP, move, played

METRICS: dict[str, Any] = {
    "accepted": 2, "rejected": 1, "over_quota": {}, "quota_lacks": {}, "acceptance_rate": 0.6667,
    "reasons": {"ragged": 1}, "kinds": {"multi_turn": 2}, "perturbations": {"distractors": 1}, "servers": 1,
    "held_out_servers": [], "outside_sets": {}, "rows": {"train": 2, "val": 0, "test": 1}, "sft_rows": 1,
    "provenance": {"literals": 3, "traced": 1.0, "sources": {"user": 3}},
    "leakage": {"test_rows": 1, "chains": 0.0, "entities": 1.0, "phrasing": 0.0},
    "decontamination": {"ngram": 8, "checked": [], "not_at_hand": {"teval": "no directory"}},
}  # fmt: skip

MADE = played((ASK, [LOOKUP, move()]), ("And 5 more.", [move(amount=5)]))
OTHER = played(("What do I have?", [LOOKUP]))


def dataset() -> tuple[dict[str, list[RlRow]], list[SftRow]]:
    train, test = list(rl_rows(catalog(), MADE)), list(rl_rows(catalog(), OTHER))
    return {"train": train, "val": [], "test": test}, list(sft_rows([MADE]))


@pytest.fixture
def exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the command writes for a dataset of two conversations."""
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(f"seed: {SEED}\nbootstrap: {{servers: [{', '.join(SERVERS)}]}}\n", encoding="utf-8")
    mark = Stamp(catalog().fingerprint, "p")
    rl, sft = dataset()
    origins = trace(catalog(), MADE)
    assert not isinstance(origins, Rejection)
    for name, rows in rl.items():
        write_table(DATA / f"dataset/{name}.parquet", RL_ROWS, [row_to_plain(row) for row in rows], mark)
    write_table(DATA / "dataset/sft.parquet", SFT_ROWS, [row_to_plain(row) for row in sft], mark)
    write_table(DATA / "dataset/provenance.parquet", PROVENANCE, list(provenance_rows(MADE.id, origins)), mark)
    write_table(DATA / "dataset/rejected.parquet", REJECTED, [], mark)
    write_json(REPORTS / "metrics/validate.json", METRICS)
    assert execute("validate", ValidateParams, export, Path("params.yaml"), Tracker("validate", enabled=False)) == 0
    return tmp_path / DATA / "exports"


def as_openai(messages: list[Mapping[str, Any]]) -> list[Message]:
    """Our messages again, from their chat shape."""
    return [
        Message(
            m["role"],
            m["content"],
            tuple(
                ToolCall(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
                for c in m.get("tool_calls") or ()
            ),
            m.get("tool_call_id") or "",
        )
        for m in messages
    ]


def test_verl_finds_its_columns_and_a_session_can_be_opened_from_a_row(exports: Path) -> None:
    rows = pq.read_table(exports / "verl/train.parquet").to_pylist()
    ours = dataset()[0]["train"]
    assert len(rows) == len(ours) == 2
    assert len(pq.read_table(exports / "verl/val.parquet")) == 0
    for index, (row, mine) in enumerate(zip(rows, ours, strict=True)):
        assert {"prompt", "data_source", "ability", "reward_model", "extra_info"} <= set(row)
        assert as_openai(row["prompt"]) == list(mine.messages) and row["prompt"][-1]["role"] == "user"
        info, rule = row["extra_info"], row["reward_model"]
        assert (info["index"], info["split"], info["need_tools_kwargs"]) == (index, "train", False)
        assert [t["function"]["name"] for t in json.loads(info["tools"])] == [t.name for t in mine.tools]
        session = info["tools_kwargs"]["session"]
        steps = [ReplayStep(**step) for step in json.loads(session["replay"])]
        live = replayed_session(catalog(), session["world"], steps)
        truth = json.loads(rule["ground_truth"])
        for call in truth["calls"]:
            assert catalog().call(live, call["name"], call["arguments"]).ok
        assert rule["style"] == "rule" and live.state_hash == truth["state_hash"]


def test_chat_lines_can_be_rendered_by_a_template(exports: Path) -> None:
    (line,) = [json.loads(text) for text in (exports / "sft.jsonl").read_text(encoding="utf-8").splitlines()]
    assert as_openai(line["messages"]) == list(MADE.messages)
    assert len(line["learn"]) == len(line["messages"])
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(tokenizers.models.BPE()))
    tokenizer.chat_template = (
        "{% for t in tools %}<tool>{{ t.function.name }}</tool>{% endfor %}"
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
        "{% if m.tool_calls %}{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments }}{% endfor %}"
        "{% endif %}{% endfor %}"
    )
    text = tokenizer.apply_chat_template(line["messages"], tools=json.loads(line["tools"]), tokenize=False)
    assert f"<tool>{MADE.tools[0].name}</tool>" in text and f"<user>{ASK}" in text
    assert '<assistant>transfer_between_accounts{"amount":25,"source_account_id":' in text
    assert text.count("<tool>{") == 3


def test_sharegpt_alternates_and_joins_parallel_calls() -> None:
    calls = (ToolCall("a", "f", {"x": 1}), ToolCall("b", "g", {}))
    messages = (
        Message("user", "Do both."), Message("assistant", "", calls), Message("tool", '{"f":1}', tool_call_id="a"),
        Message("tool", "{}", tool_call_id="b"), Message("assistant", "Done."),
    )  # fmt: skip
    line = sharegpt_line(SftRow("s", "multi_turn", "banking", (), messages, (False, True, False, False, True)))
    assert [part["from"] for part in line["conversations"]] == ["human", "function_call", "observation", "gpt"]
    called, seen = (json.loads(part["value"]) for part in line["conversations"][1:3])
    assert called == [{"name": "f", "arguments": {"x": 1}}, {"name": "g", "arguments": {}}] and seen == [{"f": 1}, {}]


def test_sharegpt_lines_are_those_of_the_conversation(exports: Path) -> None:
    (line,) = [json.loads(text) for text in (exports / "sharegpt.jsonl").read_text(encoding="utf-8").splitlines()]
    kinds = [part["from"] for part in line["conversations"]]
    assert all((kind in ("human", "observation")) == (n % 2 == 0) for n, kind in enumerate(kinds))
    assert kinds[-1] == "gpt" and json.loads(line["tools"])[0]["type"] == "function"


def test_the_hub_directory_has_a_card_that_names_its_files(exports: Path) -> None:
    card = (exports / "hub/README.md").read_text(encoding="utf-8")
    head = yaml.safe_load(card.split("---\n")[1])
    files = {c["config_name"]: {f["split"]: f["path"] for f in c["data_files"]} for c in head["configs"]}
    assert {name: set(splits) for name, splits in files.items()} == {
        "rl": {"train", "test"}, "sft": {"train"}, "provenance": {"train"},
    }  # fmt: skip
    assert head["license"] == "apache-2.0" and catalog().fingerprint in card and "teval: not compared" in card
    for splits in files.values():
        for path in splits.values():
            assert len(pq.read_table(exports / "hub" / path)) > 0


def test_the_datasets_library_loads_the_hub_directory(exports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    where, cache = str(exports / "hub"), str(exports.parent / "cache")
    rl = datasets.load_dataset(where, "rl", cache_dir=cache)
    assert {name: len(split) for name, split in rl.items()} == {"train": 2, "test": 1}
    assert as_openai(rl["train"][1]["messages"]) == list(dataset()[0]["train"][1].messages)
    (sft,) = datasets.load_dataset(where, "sft", split="train", cache_dir=cache)
    assert as_openai(sft["messages"]) == list(MADE.messages) and sft["learn"] == list(dataset()[1][0].learn)
    lines = datasets.load_dataset("json", data_files=str(exports / "sft.jsonl"), split="train", cache_dir=cache)
    assert as_openai(lines[0]["messages"]) == list(MADE.messages)


def test_the_same_dataset_gives_the_same_bytes(exports: Path) -> None:
    def everything() -> dict[str, bytes]:
        return {str(path.relative_to(exports)): path.read_bytes() for path in exports.rglob("*") if path.is_file()}

    before = everything()
    assert execute("validate", ValidateParams, export, Path("params.yaml"), Tracker("validate", enabled=False)) == 0
    assert everything() == before and read_json(REPORTS / "metrics/validate.json") == METRICS
