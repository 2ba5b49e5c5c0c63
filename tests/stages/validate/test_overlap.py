"""Decontamination: what counts as a repeat, whose questions are at hand, and what is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stages.artifacts import ArtifactError
from stages.conversations import Conversation
from stages.params import DecontaminateParams
from stages.records import Message
from stages.validate.overlap import Decontaminator, ngrams
from stages.validate.questions import Questions, questions_at_hand
from stages.validate.reasons import Reason
from tests.stages.synthesize.writing import conversations

QUESTION = "Could you move the final report into the temp directory of my documents, please?"
KNOWN = [Questions("some_bench", "1", (QUESTION, "Book two seats now")), Questions("other", absent="no directory")]


def asking(text: str) -> Conversation:
    made = conversations()[0]
    return replace(made, messages=(Message("user", text), *made.messages[1:]))


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        (QUESTION, True),
        ("Hi! COULD you move the final report, into the temp folder?", True),
        ("Could you move the final report into a folder?", False),
        ("book two seats, now!", True),
        ("Book two seats now and then", False),
        ("Yes.", False),
    ],
)
def test_a_run_of_eight_words_or_a_whole_short_question_is_a_repeat(text: str, repeats: bool) -> None:
    found = Decontaminator(KNOWN, 8).check(asking(text))
    assert (found is not None) == repeats
    if found is not None:
        assert found.reason is Reason.BENCHMARK_OVERLAP and "some_bench" in found.detail


def test_what_only_the_assistant_or_a_tool_says_is_no_repeat() -> None:
    made = conversations()[0]
    others = tuple(replace(m, content=QUESTION) if m.role != "user" else m for m in made.messages)
    assert Decontaminator(KNOWN, 8).check(replace(made, messages=others)) is None


def test_the_length_of_the_run_decides() -> None:
    text = "Could you move the final report into a folder?"
    assert Decontaminator(KNOWN, 7).check(asking(text)) is not None
    assert Decontaminator(KNOWN, 8).check(asking(text)) is None
    assert len(list(ngrams("a b c d e", 4))) == 2 and list(ngrams("a b", 4)) == [("a", "b")]
    assert list(ngrams("a", 4)) == []


def test_the_report_counts_quotes_and_says_what_was_not_compared() -> None:
    checks = Decontaminator(KNOWN, 8)
    for _ in range(5):
        checks.check(asking(QUESTION))
    report = checks.report()
    (checked,) = report["checked"]
    assert (checked["benchmark"], checked["questions"], checked["overlaps"]) == ("some_bench", 2, 5)
    assert len(checked["examples"]) == 3 and checked["examples"][0]["text"] == QUESTION
    assert report["not_at_hand"] == {"other": "no directory"}


# Readers.


def written(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(item) for item in value] if path.name.startswith("data_") else [json.dumps(value)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def at_hand(**directories: Path) -> dict[str, Questions]:
    params = DecontaminateParams(**{name: str(path) for name, path in directories.items()})
    return {item.benchmark: item for item in questions_at_hand(params)}


def test_each_benchmark_is_read_from_its_directory(tmp_path: Path) -> None:
    told = {"reason_for_call": "You want a refund.", "known_info": None, "domain": "retail"}
    written(tmp_path / "t/tau2/domains/retail/tasks.json", [{"user_scenario": {"instructions": told}}])
    written(tmp_path / "t/tau2/domains/retail/split_tasks.json", {"train": ["0"]})
    turns = "user: Find meals.\nsystem: Which?\nuser: Asian ones.\n"
    written(tmp_path / "a/data_en/data_normal.json", [{"id": "n", "question": turns}])
    written(tmp_path / "a/data_en/data_agent.json", [{"id": "a", "question": "You are Eve. Order a pizza."}])
    written(tmp_path / "a/data_en/possible_answer/data_normal.json", [{"id": "n", "ground_truth": []}])
    prompt = [{"role": "system", "content": "Plan."}, {"role": "user", "content": "What is the weather?"}]
    written(tmp_path / "e/plan.json", {"0": {"origin_prompt": prompt}, "1": {"origin_prompt": prompt}})
    found = at_hand(tau2=tmp_path / "t", acebench=tmp_path / "a", teval=tmp_path / "e")
    assert found["tau2"].texts == ("You want a refund.\nretail",)
    assert found["acebench"].texts == ("You are Eve. Order a pizza.", "Find meals.", "Asian ones.")
    assert found["teval"].texts == ("What is the weather?",)


def test_tau2_is_read_from_its_package_only_when_asked_to() -> None:
    assert at_hand()["tau2"].absent == "validate.decontaminate.tau2 names no directory"
    found = next(q for q in questions_at_hand(DecontaminateParams(tau2="package")) if q.benchmark == "tau2")
    assert len(found.texts) > 100 and found.version == "26.3"


def test_what_is_not_at_hand_is_noted_and_what_is_named_must_be_there(tmp_path: Path) -> None:
    found = at_hand()
    assert found["acebench"].absent and found["teval"].absent and not found["acebench"].texts
    with pytest.raises(ArtifactError, match=r"decontaminate\.acebench: .*nowhere is no directory"):
        at_hand(acebench=tmp_path / "nowhere")
    with pytest.raises(ArtifactError, match="holds no questions of teval"):
        at_hand(teval=tmp_path)
    written(tmp_path / "data_x.json", [{"id": "no question"}])
    with pytest.raises(ArtifactError, match="another format"):
        at_hand(acebench=tmp_path)


def test_bfcl_is_read_from_its_package_where_it_is_installed() -> None:
    pytest.importorskip("bfcl_eval")
    bfcl = at_hand()["bfcl_multi_turn"]
    assert len(bfcl.texts) > 1000 and bfcl.version
