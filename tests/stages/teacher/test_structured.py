"""Answers that have to fit a schema: read through what models write around them, and sent back if they don't fit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from stages.records import Message
from stages.teacher.cache import Cache
from stages.teacher.client import Shared, Teacher
from stages.teacher.errors import Failure, TeacherError
from stages.teacher.ledger import Ledger
from stages.teacher.structured import Structured, complete_json, read_json
from tests.stages.teacher.loopback import Provider, message, settings


class Verdict(BaseModel):
    label: str
    score: int


ASK = [Message("system", "Answer in JSON."), Message("user", "So?")]
GOOD = '{"label": "a", "score": 3}'


def ask(provider: Provider, schema: Any = Verdict, shared: Shared | None = None, **changes: Any) -> Structured[Any]:
    teacher = Teacher(settings(provider, price={"prompt": 1.0, "completion": 1.0}, **changes), "discover", shared)
    return asyncio.run(complete_json(teacher, ASK, schema, script={}))


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here you are:\n```JSON\n{GOOD}\n```\nAnything else?",
        f"<think>a {{ is no b</think>\n{GOOD}",
        f"My answer is {GOOD}.",
    ],
)
def test_what_stands_around_the_json_is_passed_over(provider: Provider, text: str) -> None:
    provider.answer = lambda request, number: message(text)
    found = ask(provider)
    assert found.value == Verdict(label="a", score=3) and len(found.completions) == 1


def test_lists_and_adapters_do_as_well() -> None:
    assert read_json(TypeAdapter(list[Verdict]), f"Well: [{GOOD}, {GOOD}]") == [Verdict(label="a", score=3)] * 2
    with pytest.raises(ValueError, match="score"):
        read_json(TypeAdapter(list[Verdict]), '[{"label": "a"}]')


def test_an_answer_that_does_not_fit_goes_back_with_the_error(provider: Provider) -> None:
    replies = [message('{"label": "a", "score": "many"}'), message("no idea"), message(GOOD)]
    provider.answer = lambda request, number: replies[number]
    ledger = Ledger()
    found = ask(provider, shared=Shared(ledger))
    assert found.value.score == 3 and len(found.completions) == 3
    assert found.cost == pytest.approx(3 * 14e-6) and ledger.total.cost == pytest.approx(3 * 14e-6)
    second = provider.requests[1]["messages"]
    assert [m["role"] for m in second] == ["system", "user", "assistant", "user"]
    assert "score" in second[-1]["content"] and "valid integer" in second[-1]["content"]
    assert ledger.total.failures == {Failure.BAD_STRUCTURE: 2} and ledger.total.failed == 0
    assert [m.content for m in ASK] == ["Answer in JSON.", "So?"]


def test_repairs_have_an_end(provider: Provider) -> None:
    provider.answer = lambda request, number: message("never")
    ledger = Ledger()
    with pytest.raises(TeacherError, match="openai/tester: bad_structure: ") as caught:
        ask(provider, shared=Shared(ledger))
    assert caught.value.reason is Failure.BAD_STRUCTURE
    assert len(provider.requests) == 3 and ledger.total.failed == 1


def test_an_answer_that_does_not_fit_is_not_kept(provider: Provider, tmp_path: Path) -> None:
    provider.answer = lambda request, number: message("never")
    with pytest.raises(TeacherError):
        ask(provider, shared=Shared(cache=Cache(tmp_path / "c")))
    provider.answer = lambda request, number: message(GOOD)
    assert ask(provider, shared=Shared(cache=Cache(tmp_path / "c"))).value.score == 3
    assert ask(provider, shared=Shared(cache=Cache(tmp_path / "c"))).value.score == 3
    assert len(provider.requests) == 4


@pytest.mark.parametrize(
    ("model", "schema", "given"),
    [
        ("hosted_vllm/x", Verdict, True),
        ("openai/gpt-4o-mini", Verdict, True),
        ("openai/unheard-of", Verdict, False),
        ("hosted_vllm/x", TypeAdapter(list[Verdict]), False),
    ],
)
def test_a_provider_that_takes_a_schema_is_given_one(provider: Provider, model: str, schema: Any, given: bool) -> None:
    provider.answer = lambda request, number: message(GOOD if schema is Verdict else f"[{GOOD}]")
    ask(provider, schema, model=model)
    assert ("response_format" in provider.requests[0]) is given
    if given:
        sent = provider.requests[0]["response_format"]["json_schema"]["schema"]
        assert set(sent["properties"]) == {"label", "score"}
