"""A hosted teacher behind LiteLLM, and conversations written with it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import threading
from dataclasses import replace
from typing import Any

import pytest

from servers.kernel.catalog import load_catalog
from stages.conversations import Conversation, from_row
from stages.params import TeacherParams
from stages.records import Message, ToolCall
from stages.rollout import visible_spec
from stages.synthesize.writer import Writer
from stages.teacher import client
from stages.teacher.client import Teacher
from stages.teacher.errors import TeacherError
from stages.teacher.wire import to_openai
from stages.validate.provenance import check_provenance
from stages.validate.replay import check_replay
from stages.validate.structure import check_structure
from tests.stages.synthesize.writing import catalog, chains, context, jobs, params, told
from tests.stages.teacher.loopback import KEY, Provider, Reply, ask, message, refusal, settings
from tests.stages.teacher.oracle import Oracle

CONVERSATIONS = 6
OPAQUE = re.compile(r"[A-Z]{3,5}-\d{5,}")


def test_an_answer_comes_with_its_tokens_and_the_key_stays_in_the_header(
    provider: Provider, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    done = ask(provider)
    assert done.message == Message("assistant", "fine")
    assert (done.prompt_tokens, done.completion_tokens) == (11, 3)
    assert provider.keys == {f"Bearer {KEY}"}
    provider.answer = lambda request, number: refusal(401)
    with pytest.raises(TeacherError) as error:
        ask(provider)
    shown = capfd.readouterr()
    assert KEY not in str(error.value) + caplog.text + shown.out + shown.err


def test_the_request_holds_what_was_asked_and_never_the_script(provider: Provider) -> None:
    tool = visible_spec(load_catalog(("banking",)).entry("list_payees").tool)
    said = [
        Message("system", "s"),
        Message("user", "u"),
        Message("assistant", "", (ToolCall("c1", "list_payees", {"query": "x"}), ToolCall("c2", "b", None, "{")), ""),
        Message("tool", "{}", tool_call_id="c1"),
        Message("tool", "{}", tool_call_id="c2"),
    ]
    teacher = Teacher(settings(provider, temperature=0.4, max_tokens=77))
    asyncio.run(teacher.complete(said, script={"role": "assistant", "batches": ["SECRET PLAN"]}, tools=[tool], seed=5))
    (request,) = provider.requests
    assert "SECRET PLAN" not in json.dumps(request) and "script" not in request
    assert (request["temperature"], request["max_tokens"], request["seed"]) == (0.4, 77, 5)
    assert request["tools"][0]["function"]["name"] == "list_payees"
    assert [m["role"] for m in request["messages"]] == [m.role for m in said]
    assert request["messages"] == [to_openai(m) for m in said]
    assert request["messages"][2]["tool_calls"][1]["function"]["arguments"] == "{"


def test_a_provider_that_takes_no_seed_is_not_sent_one(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    content = [{"type": "text", "text": "fine"}]
    usage = {"input_tokens": 11, "output_tokens": 3}
    head = {"id": "x", "type": "message", "role": "assistant", "model": "claude-tester", "stop_reason": "end_turn"}
    provider.answer = lambda request, number: Reply(200, {**head, "content": content, "usage": usage})
    assert ask(provider, model="anthropic/claude-tester").message.content == "fine"
    assert "seed" not in provider.requests[0] and "script" not in provider.requests[0]


def test_arguments_that_are_no_object_are_kept_as_raw_text(provider: Provider) -> None:
    provider.answer = lambda request, number: message(
        None, [("f", '{"a": '), ("g", "[1]"), ("h", ""), ("i", '{"a":1}')]
    )
    broken, listed, empty, good = ask(provider).message.tool_calls
    assert broken.arguments is None and broken.raw == '{"a": ' and "not JSON" in broken.error
    assert listed.arguments is None and "object" in listed.error
    assert empty.arguments == {} and good.arguments == {"a": 1}


def test_a_busy_provider_is_asked_again(provider: Provider) -> None:
    provider.answer = lambda request, number: refusal(429) if number == 0 else message("at last")
    assert ask(provider, attempts=3).message.content == "at last"
    assert len(provider.requests) >= 2


@pytest.mark.parametrize(
    "answer",
    [refusal(400), refusal(401), refusal(404), refusal(429), refusal(500), refusal(503),
     message(""), message(None), Reply(200, "not json"), Reply(200, {"choices": []}), Reply(200, {})],
    ids=["400", "401", "404", "429", "500", "503", "empty", "null", "no-json", "no-choice", "no-body"],
)  # fmt: skip
def test_every_bad_answer_is_a_teacher_error_that_names_the_model(provider: Provider, answer: Reply) -> None:
    provider.answer = lambda request, number: answer
    with pytest.raises(TeacherError, match="openai/tester"):
        ask(provider)


def test_a_silent_and_an_absent_provider_are_teacher_errors(provider: Provider) -> None:
    release = threading.Event()
    provider.answer = lambda request, number: message(f"late: {release.wait(3)}")
    with pytest.raises(TeacherError, match="Timeout"):
        ask(provider, timeout=0.2)
    release.set()
    provider.url = "http://127.0.0.1:9/v1"
    with pytest.raises(TeacherError, match="openai/tester"):
        ask(provider)


def write(provider: Provider, **changes: Any) -> list[dict[str, Any]]:
    block = settings(provider, **changes).model_dump(mode="json")
    chosen = params(conversations=CONVERSATIONS)
    return asyncio.run(Writer(context(chosen, teacher=block), chains()).shard(jobs(chosen)))


def events(made: Conversation) -> list[str]:
    """The machine's events; a hosted model's question is not told from another answer."""
    return [step.event.replace("clarify", "follow_up") for step in made.transitions]


def plain(made: Conversation) -> list[str]:
    return [event.replace("clarify", "follow_up") for event in told(made)]


def wholesome(made: Conversation) -> bool:
    checks = (check_structure(made), check_replay(catalog(), made, 0.3), check_provenance(catalog(), made))
    return checks == (None, None, None)


def test_a_good_model_writes_valid_conversations(provider: Provider) -> None:
    provider.answer = Oracle(CONVERSATIONS)
    rows = write(provider)
    made = [from_row(row) for row in rows]
    assert len(made) == CONVERSATIONS and all(wholesome(c) for c in made)
    assert {c.teacher for c in made} == {"openai/tester"}
    assert not any("batches" in json.dumps(request) for request in provider.requests)


def test_the_writer_of_a_request_is_told_no_withheld_value_and_no_identifier(provider: Provider) -> None:
    provider.answer = Oracle(CONVERSATIONS)
    write(provider)
    material = [json.loads(r["messages"][-1]["content"]) for r in provider.requests if not r.get("tools")]
    wants = [want for told in material for want in told.get("wants", [])]
    assert wants
    for want in wants:
        assert not any(key.partition(".")[0] in want["withheld"] for key in want["values"])
        assert not any(OPAQUE.search(value) for value in want["values"].values())


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_provider_that_is_down_is_asked_as_often_as_allowed(provider: Provider, attempts: int) -> None:
    provider.answer = lambda request, number: refusal(500)
    with pytest.raises(TeacherError, match="status 500"):
        ask(provider, attempts=attempts)
    assert len(provider.requests) == attempts


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ([("send_payment", '{"amount": 1')], "invalid_call"),
        ([("no_such_tool", "{}")], "unknown_tool"),
        ([("__import__('os').system", "{}")], "unknown_tool"),
        ([("list_cards", '{"colour": "red"}')], "invalid_arguments"),
    ],
)
def test_a_bad_call_is_answered_and_the_conversation_goes_on(
    provider: Provider, spoilt: list[tuple[str, str]], reason: str
) -> None:
    oracle = Oracle(CONVERSATIONS)

    def answer(request: dict[str, Any], number: int) -> Reply:
        first = request.get("tools") and request["messages"][-1]["role"] == "user"
        return message(None, spoilt) if first else oracle(request, number)

    provider.answer = answer
    rows = write(provider)
    made = [from_row(row) for row in rows if "unwritten" not in row]
    assert len(made) == CONVERSATIONS
    codes = {call.error_code for c in made for turn in c.turns for call in turn.calls if not call.ok}
    assert codes <= {reason, "unknown_tool", "not_found"} and reason in codes
    assert all(check_structure(c) is None for c in made)
    assert all(c.transitions[-1].target == "END" and events(c) == plain(c) for c in made)
    assert not any(
        call.name == spoilt[0][0] and call.arguments is None for c in made for t in c.turns for call in t.truth
    )


def test_a_model_that_never_stops_failing_is_closed_by_the_limit_on_retries(provider: Provider) -> None:
    oracle = Oracle(CONVERSATIONS)
    provider.answer = lambda r, n: message(None, [("no_such_tool", "{}")]) if r.get("tools") else oracle(r, n)
    for row in write(provider):
        made = from_row(row)
        assert check_structure(made) is None and made.messages[-1].content.startswith("I'm sorry")
        assert events(made) == plain(made) and {"retry", "give_up"} <= set(events(made))
        assert all(len(turn.calls) <= 1 + 3 for turn in made.turns) and not any(turn.truth for turn in made.turns)


def test_a_batch_that_fails_in_part_is_a_partial_success(provider: Provider) -> None:
    oracle = Oracle(CONVERSATIONS)

    def answer(request: dict[str, Any], number: int) -> Reply:
        first = request.get("tools") and request["messages"][-1]["role"] == "user"
        return message(None, [("list_cards", "{}"), ("no_such_tool", "{}")]) if first else oracle(request, number)

    provider.answer = answer
    made = [from_row(row) for row in write(provider)]
    assert all(events(c) == plain(c) and "partial_success" in events(c) for c in made)
    truths = [call.name for c in made for turn in c.turns for call in turn.truth]
    assert "list_cards" in truths and "no_such_tool" not in truths


def test_a_provider_that_is_down_leaves_unwritten_rows_with_the_cause(provider: Provider) -> None:
    provider.answer = lambda request, number: refusal(500)
    rows = write(provider)
    assert [row["unwritten"] for row in rows] == ["teacher_failed"] * CONVERSATIONS
    assert all("openai/tester" in row["detail"] and KEY not in row["detail"] for row in rows)


def test_a_call_in_place_of_a_user_message_is_an_unwritten_row(provider: Provider) -> None:
    provider.answer = lambda request, number: message(None, [("f", "{}")])
    assert {row["unwritten"] for row in write(provider)} == {"teacher_failed"}


def test_one_failure_leaves_the_other_conversations_alone(provider: Provider) -> None:
    oracle = Oracle(CONVERSATIONS)
    provider.answer = lambda r, n: refusal(503) if r["seed"] == 2 else oracle(r, n)
    rows = write(provider)
    assert [row["id"] for row in rows if "unwritten" in row] == ["conv-000002"]


def test_no_more_requests_run_at_once_than_allowed(provider: Provider) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def answer(request: dict[str, Any], number: int) -> Reply:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.02)
        with lock:
            running -= 1
        return message("ok")

    provider.answer = answer
    teacher = Teacher(settings(provider, concurrency=2))

    async def burst() -> None:
        await asyncio.gather(*(teacher.complete([Message("user", str(n))], script={}) for n in range(8)))

    asyncio.run(burst())
    assert most == 2


def test_the_scripted_teacher_is_one_model_among_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "load_litellm", lambda: pytest.fail("LiteLLM has no part in it"))
    scripts = {"role": "details", "values": {"amount": "25", "card_id": "Gold"}, "parents": ["Everyday"]}
    teacher = Teacher(TeacherParams())
    done = asyncio.run(teacher.complete([Message("user", "{}")], script=scripts))
    assert done.message.content == "The amount is 25; the card is Gold. (That's under Everyday.)"
    assert done.cost == 0.0
    with pytest.raises(TeacherError, match="no role"):
        asyncio.run(teacher.complete([Message("user", "{}")], script={"role": "poet"}))
    assert replace(done, cost=1.0).message == done.message
