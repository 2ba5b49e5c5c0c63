"""An agent behind a loopback endpoint: gold answers score everything, bad ones end nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stages.evaluate import journal as journal_module
from stages.evaluate.benchmark import Benchmark, InfrastructureError, Request
from stages.evaluate.bfcl.adapter import Bfcl
from stages.evaluate.bfcl.data import BfclTask
from stages.evaluate.hosted_agent import HostedAgent, readable
from stages.evaluate.runner import Prepared, play_hosted
from stages.evaluate.scripted_agents import Replay
from stages.evaluate.store import AgentRow, row_from_plain, row_to_plain
from stages.evaluate.streaming import run_streaming
from stages.evaluate.suites import Assignment
from stages.evaluate.summary import sample_tasks
from stages.params import EvaluateParams, HostedParams
from stages.progress import progress
from stages.records import Message, ToolCall, ToolSpec
from stages.teacher.provider import load_litellm
from tests.stages.evaluate.counting import Count, Counting, prepared
from tests.stages.teacher.loopback import KEY, Provider, Reply, listening, message, refusal

load_litellm()  # takes many seconds on a busy machine, which are no test's own

WEATHER = ToolSpec("get_weather", "Weather of a city.", {"type": "object", "properties": {"city": {"type": "string"}}})


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(journal_module, "UNFINISHED", tmp_path)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with listening() as endpoint:
        yield endpoint


def settings(provider: Provider, **changes: Any) -> HostedParams:
    return HostedParams(
        **{"model": "openai/tester", "api_base": provider.url, "attempts": 1, "timeout": 5.0, **changes}
    )


@pytest.fixture
def agent(provider: Provider) -> Iterator[HostedAgent]:
    made = HostedAgent(settings(provider))
    yield made
    made.close()


def score(ready: Prepared, provider: Provider, **changes: Any) -> list[AgentRow]:
    with progress("test") as bar:
        played = play_hosted(ready, "gpt", settings(provider, **changes), EvaluateParams(), 0, bar)
    return [row_from_plain(row_to_plain(row)) for row in played.rows]


def replaying(tasks: Sequence[BfclTask]) -> Callable[[dict[str, Any], int], Reply]:
    """Answers with the gold calls of whichever task the conversation begins."""
    by_question = {task.turns[0]: Replay(task.gold) for task in tasks}
    assert len(by_question) == len(tasks)

    def answer(request: dict[str, Any], number: int) -> Reply:
        said = [Message(m["role"], m["content"] or "") for m in request["messages"]]
        reply = by_question[said[0].content].reply(said, ())
        return message(
            "" if reply.tool_calls else "Done.", [(call.name, json.dumps(call.arguments)) for call in reply.tool_calls]
        )

    return answer


@pytest.mark.timeout(120)
def test_an_endpoint_that_answers_with_gold_scores_everything_on_bfcl(provider: Provider) -> None:
    bfcl = Bfcl()
    tasks = sample_tasks(bfcl.tasks(), 1, 3)
    provider.answer = replaying(tasks)
    rows = score(Prepared(Assignment("bfcl", 1, ("gpt",), None), bfcl, tasks, None), provider)
    assert [row.result.score.passed for row in rows] == [True] * len(tasks) and len(tasks) == 4
    assert all(row.usage["prompt_tokens"] == 11 * row.usage["replies"] > 0 for row in rows)
    offered = {tool["function"]["name"] for tool in provider.requests[0]["tools"]}
    assert offered and all(request["temperature"] == 0.0 for request in provider.requests)


@pytest.mark.parametrize(
    "reply",
    [
        refusal(500), refusal(401), Reply(200, "no json"), Reply(200, {}), Reply(200, {"choices": []}),
        Reply(200, {"choices": [{"message": None}]}), Reply(200, [1]), Reply(200, "null"),
        Reply(200, message("x").body, cut=True), message(None, [("f", "[" * 5000)]),
    ],
    ids=["500", "401", "text", "empty object", "no choice", "no message", "list", "null", "cut", "brackets"],
)  # fmt: skip
def test_whatever_is_no_answer_masks_its_task_and_no_other(provider: Provider, reply: Reply) -> None:
    def answer(request: dict[str, Any], number: int) -> Reply:
        return reply if request["messages"][0]["content"] == "bad" else message("tick")

    provider.answer = answer
    bad, good = score(prepared(Count("bad", 1), Count("good", 1)), provider)
    assert bad.result.status == "infrastructure" and not bad.result.score.passed
    assert good.result.score.passed
    assert KEY not in bad.result.score.reason


@pytest.mark.parametrize(
    "calls",
    [
        [("get_weather", '{"city": NaN}')],
        [("get_weather", '{"city": 1e999}')],
        [("get_weather", '{"city": "\\ud800"}')],
        [("get_weather", '{"a":' * 200 + "1" + "}" * 200)],
        [("get_weather", "")],
        [("", "{}")],
        [("__import__('os').system", '{"x": "\\u0000"}')],
        [("get_weather", "{}")] * 50,
        [("x" * 100_000, "{}")],
    ],
)
def test_hostile_answers_are_rows_that_can_be_stored_and_sent_back(
    provider: Provider, calls: list[tuple[str, str]]
) -> None:
    provider.answer = lambda request, number: message(None, calls)
    bfcl = Bfcl()
    task = bfcl.tasks()[0]
    row = score(Prepared(Assignment("bfcl", 1, ("gpt",), None), bfcl, [task], None), provider)[0]
    assert (row.result.status, row.result.score.passed) == ("scored", False), row.result.score.reason
    assert len(provider.requests) >= 2  # the conversation went on: what was said could be sent back


def test_an_empty_answer_is_an_answer(agent: HostedAgent, provider: Provider) -> None:
    provider.answer = lambda request, number: message("")
    assert agent.reply_many([Request((Message("user", "hi"),), ())]) == [Message("assistant", "")]


def test_a_prompt_that_the_model_cannot_hold_gets_an_empty_answer(agent: HostedAgent, provider: Provider) -> None:
    error = {
        "message": "This model's maximum context length is 8 tokens.", "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }  # fmt: skip
    provider.answer = lambda request, number: Reply(400, {"error": error})
    assert agent.reply_many([Request((Message("user", "hi"),), ())]) == [Message("assistant", "")]


def test_a_cut_off_answer_counts_as_it_stands(agent: HostedAgent, provider: Provider) -> None:
    provider.answer = lambda request, number: message("half a sen", finish="length")
    assert agent.reply_many([Request((Message("user", "hi"),), ())])[0].content == "half a sen"


def test_a_refused_request_is_an_infrastructure_failure(agent: HostedAgent, provider: Provider) -> None:
    provider.answer = lambda request, number: refusal(500)
    with pytest.raises(InfrastructureError, match="status 500"):
        agent.reply_many([Request((Message("user", "hi"),), (WEATHER,))])


def test_requests_run_side_by_side_up_to_the_limit(provider: Provider) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def answer(request: dict[str, Any], number: int) -> Reply:
        nonlocal running, most
        with lock:
            running, most = running + 1, max(most, running + 1)
        threading.Event().wait(0.05)
        with lock:
            running -= 1
        return message("tick")

    provider.answer = answer
    rows = score(prepared(*(Count(f"t{n}", 2) for n in range(9))), provider, concurrency=3)
    assert all(row.result.score.passed for row in rows)
    assert most == 3


def test_an_agent_can_be_closed_while_a_request_hangs(provider: Provider) -> None:
    release = threading.Event()
    provider.answer = lambda request, number: (release.wait(20), message("tick"))[1]
    agent = HostedAgent(settings(provider, timeout=30.0))
    benchmark: Benchmark[Count] = Counting([Count("hangs", 1)])
    row = run_streaming(benchmark, benchmark.tasks(), agent, width=1, seconds=0.3)[0]
    assert "deadline" in row.score.reason
    agent.close()
    release.set()


def test_masked_tasks_are_asked_again_and_finished_ones_are_not(provider: Provider) -> None:
    ready = prepared(Count("a", 1), Count("b", 1))
    provider.answer = lambda r, n: refusal(503) if r["messages"][0]["content"] == "b" else message("tick")
    assert [row.result.status for row in score(ready, provider)] == ["scored", "infrastructure"]
    before = len(provider.requests)
    provider.answer = lambda r, n: message("tick")
    assert [row.result.status for row in score(ready, provider)] == ["scored", "scored"]
    assert [r["messages"][0]["content"] for r in provider.requests[before:]] == ["b"]


def test_a_second_attempt_holds_nothing_of_the_first(provider: Provider) -> None:
    ready, attempt = prepared(Count("a", 3), Count("b", 3)), 1

    def answer(request: dict[str, Any], number: int) -> Reply:
        if request["messages"][0]["content"] == "a" or attempt == 2:
            return message("tick")
        said = sum(m["role"] == "assistant" for m in request["messages"])
        return message("first") if said < 2 else refusal(503)

    provider.answer = answer
    a, b = (row.result for row in score(ready, provider))
    assert (a.status, b.status) == ("scored", "infrastructure")
    assert [m.content for m in b.partial if m.role == "assistant"] == ["first", "first"]
    attempt = 2
    rows = score(ready, provider)
    assert [row.result.task_id for row in rows] == ["a", "b"] and rows[0].result == a
    second = rows[1].result
    assert second.status == "scored" and second.score.passed and second.episode is not None
    assert [m.content for m in second.episode.messages if m.role == "assistant"] == ["tick"] * 3
    assert "first" not in json.dumps(row_to_plain(rows[1])) and not second.partial


def test_arguments_that_cannot_be_stored_make_an_unreadable_call() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    calls = [ToolCall("1", "f", {"x": value}) for value in (float("nan"), "\ud800", deep)]
    for call in readable(Message("assistant", "a\udfffb", tuple(calls))).tool_calls:
        assert call.arguments is None and "no finite number" in call.error
    fine = Message("assistant", "é", (ToolCall("1", "f", {"x": [1.5, {"y": None}], "é": "ü"}),))
    assert readable(fine) == fine
