"""Questions of others as abstention rows: their formats, and that an episode of one can be played and scored.

The records are made up after the published field names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import ArtifactError
from stages.conversations import Conversation
from stages.params import AbstentionSetParams, ValidateParams
from stages.records import Message, ToolCall
from stages.reward.combine import score
from stages.reward.rules import RewardRules
from stages.rollout import episode_for
from stages.validate.outside import REFUSAL, outside_conversations
from stages.validate.rows import rl_rows, sft_rows, split_of
from tests.stages.synthesize.writing import SEED, catalog
from tests.stages.validate.acting import checker

TOOL = {
    "name": "get_records",
    "description": "Contact details of students.",
    "parameters": {
        "type": "dict",
        "properties": {"school": {"type": "string"}, "years": {"type": "list", "items": {"type": "int"}}},
        "required": ["school"],
    },
}
FLAT = {
    "name": "weather_now",
    "description": "The weather.",
    "parameters": {
        "city": {"type": "str", "description": "where"},
        "days": {"type": "int, optional", "description": "how many"},
        "units": {"type": "str", "description": "which", "default": "metric"},
    },
}


def when2call(correct: str = "cannot_answer", tools: list[Any] | None = None) -> dict[str, Any]:
    return {
        "uuid": "u", "source": "s", "source_id": "1", "question": "What are the grades of Ada Green?",
        "correct_answer": correct, "target_tool": "", "held_out_param": "",
        "answers": {"cannot_answer": "I can't see grades.", "direct": "A+", "tool_call": "{}", "request_for_info": "?"},
        "tools": [json.dumps(tool) for tool in ([TOOL] if tools is None else tools)],
    }  # fmt: skip


def xlam(answers: Any = "[]") -> dict[str, Any]:
    return {"id": 3, "query": "Who won the match?", "tools": json.dumps([FLAT]), "answers": answers}


def read(path: Path, kind: str, rows: list[dict[str, Any]]) -> list[Conversation]:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    wanted = AbstentionSetParams.model_validate({"path": str(path), "format": kind})
    return outside_conversations(catalog(), wanted, SEED)


def test_when2call_gives_those_that_cannot_be_answered(tmp_path: Path) -> None:
    made = read(tmp_path / "w.jsonl", "when2call", [when2call("tool_call"), when2call(), when2call("request_for_info")])
    (only,) = made
    assert only.id == "when2call-000001" and only.kind == "abstention"
    assert [m.content for m in only.messages] == ["What are the grades of Ada Green?", "I can't see grades."]
    schema = only.tools[0].parameters
    assert schema["type"] == "object" and schema["required"] == ["school"]
    assert schema["properties"]["years"] == {"type": "array", "items": {"type": "integer"}}  # type: ignore[index,call-overload]


def test_xlam_gives_those_without_answers_and_its_flat_parameters_become_a_schema(tmp_path: Path) -> None:
    rows = [xlam(), xlam([]), xlam('[{"name":"weather_now","arguments":{}}]')]
    made = read(tmp_path / "x.jsonl", "xlam_irrelevance", rows)
    assert [c.id for c in made] == ["xlam_irrelevance-000000", "xlam_irrelevance-000001"]
    assert made[0].messages[-1].content == REFUSAL
    schema = made[0].tools[0].parameters
    assert schema["required"] == ["city"]
    kinds = {name: item["type"] for name, item in schema["properties"].items()}  # type: ignore[union-attr,index,call-overload]
    assert kinds == {"city": "string", "days": "integer", "units": "string"}


def test_a_whole_json_list_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps([when2call(), when2call()]), encoding="utf-8")
    assert len(outside_conversations(catalog(), AbstentionSetParams(path=str(path), format="when2call"), SEED)) == 2


def test_a_row_passes_every_check_and_earns_its_reward_by_calling_nothing(tmp_path: Path) -> None:
    (made,) = read(tmp_path / "w.jsonl", "when2call", [when2call()])
    assert not hasattr(checker().check(made), "reason")
    (row,) = rl_rows(catalog(), made)
    assert row.truth == () and [step.name for step in row.replay] == [""]
    (sft,) = sft_rows([made])
    assert sft.learn == (False, True)
    silent, calling = episode_for(catalog(), row), episode_for(catalog(), row)
    assert silent.session.state_hash == row.state_hash
    silent.respond(Message("assistant", "I can't."))
    calling.respond(Message("assistant", "", (ToolCall("c", "get_records", {"school": "Bluebird"}),)))
    (done,) = calling.calls
    assert not done.executed and not done.infrastructure and "not connected" in done.result
    totals = [score(row.tools, row.truth, e.finish().calls, RewardRules()).total for e in (silent, calling)]
    assert totals == [1.0, 0.0]


def test_rows_with_a_tool_of_ours_are_left_out(tmp_path: Path) -> None:
    ours = {"name": "list_accounts", "description": "", "parameters": {}}
    with pytest.raises(ArtifactError, match="no question that can't be answered"):
        read(tmp_path / "w.jsonl", "when2call", [when2call(tools=[ours])])


def test_questions_are_divided_one_by_one(tmp_path: Path) -> None:
    made = read(tmp_path / "w.jsonl", "when2call", [when2call()] * 200)
    assert {split_of(c, ValidateParams(), SEED) for c in made} == {"train", "val", "test"}


def test_other_fields_broken_json_and_a_missing_set_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ArtifactError, match=r"w\.jsonl, row 1: not of format when2call .*correct_answer"):
        read(tmp_path / "w.jsonl", "when2call", [when2call(), {"question": "?"}])
    (tmp_path / "b.jsonl").write_text("{", encoding="utf-8")
    with pytest.raises(ArtifactError, match="is no JSON"):
        outside_conversations(catalog(), AbstentionSetParams(path=str(tmp_path / "b.jsonl"), format="when2call"), SEED)
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(ArtifactError, match=r"nvidia/When2Call is no file or directory here.*package datasets"):
        outside_conversations(catalog(), AbstentionSetParams(path="nvidia/When2Call", format="when2call"), SEED)
