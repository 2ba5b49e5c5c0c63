"""An OpenAI-compatible endpoint that answers with gold passes every task of every benchmark that takes an agent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stages.evaluate import journal as journal_module
from stages.evaluate.acebench import en_native, en_training
from stages.evaluate.acebench.adapter import Scripted
from stages.evaluate.benchmark import Agent, Benchmark
from stages.evaluate.nestful import Nestful
from stages.evaluate.runner import Prepared, play_hosted
from stages.evaluate.scripted_agents import Replay
from stages.evaluate.store import AgentRow
from stages.evaluate.suites import Assignment
from stages.evaluate.summary import sample_tasks
from stages.evaluate.tau2 import Tau2
from stages.evaluate.tau2.replay import gold as tau2_gold
from stages.evaluate.teval import Teval
from stages.evaluate.teval.adapter import _Saying
from stages.evaluate.teval.gold import gold_answer
from stages.evaluate.tooltalk import Tooltalk
from stages.evaluate.tooltalk.adapter import _Replay
from stages.params import EvaluateParams, HostedParams
from stages.progress import progress
from stages.records import Message, ToolCall
from stages.teacher.provider import load_litellm
from tests.stages.evaluate.acebench_made_up import write_data
from tests.stages.evaluate.test_teval import Words, files
from tests.stages.teacher.loopback import KEY, Provider, Reply, listening, message

load_litellm()  # takes many seconds on a busy machine, which are no test's own

Case = tuple[Benchmark[Any], Callable[[Any], Agent], int]


def tau2(scratch: Path) -> Case:
    return Tau2(tracks=("mock_solo", "telecom_solo")), lambda task: tau2_gold(task).agent, 3


def nestful(scratch: Path) -> Case:
    return Nestful(), lambda task: Replay((task.gold,)), 2


def tooltalk(scratch: Path) -> Case:
    return Tooltalk(), lambda task: _Replay(task.turns), 3


def acebench_native(scratch: Path) -> Case:
    benchmark = en_native(write_data(scratch))
    return benchmark, lambda task: Scripted([benchmark.reference(task.category, item) for item in task.items]), 2


def acebench_training(scratch: Path) -> Case:
    benchmark = en_training(write_data(scratch))
    return benchmark, lambda task: Scripted([benchmark.reference(task.category, item) for item in task.items]), 2


def teval(scratch: Path) -> Case:
    for stem, records in files().items():
        (scratch / f"{stem}_v2.json").write_text(json.dumps(records), encoding="utf-8")
    return Teval(scratch, Words()), lambda task: _Saying(gold_answer(task)), 1


CASES = (tau2, nestful, tooltalk, acebench_native, acebench_training, teval)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(journal_module, "UNFINISHED", tmp_path / "unfinished")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with listening() as endpoint:
        yield endpoint


def answering(agent: Agent) -> Callable[[dict[str, Any], int], Reply]:
    """What the endpoint says to a request: the agent's reply to the conversation in it."""

    def answer(request: dict[str, Any], number: int) -> Reply:
        said = [
            Message(m["role"], m["content"] or "", tuple(ToolCall(c["id"], "", {}) for c in m.get("tool_calls") or ()))
            for m in request["messages"]
        ]
        reply = agent.reply(said, ())
        calls = [(call.name, json.dumps(call.arguments)) for call in reply.tool_calls]
        return message(reply.content or ("" if calls else "Done."), calls)

    return answer


def score(benchmark: Benchmark[Any], task: Any, provider: Provider) -> Sequence[AgentRow]:
    hosted = HostedParams(model="openai/tester", api_base=provider.url, attempts=1, timeout=10.0)
    prepared = Prepared(Assignment(benchmark.name, "all", ("gpt",), None), benchmark, [task], None)
    with progress("test") as bar:
        return play_hosted(prepared, "gpt", hosted, EvaluateParams(), 0, bar).rows


@pytest.mark.timeout(180)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_gold_through_an_endpoint_passes(case: Callable[[Path], Case], provider: Provider, tmp_path: Path) -> None:
    benchmark, agent_of, sample = case(tmp_path)
    tasks = sample_tasks(benchmark.tasks(), sample, 3)
    for task in tasks:
        provider.answer = answering(agent_of(task))
        (row,) = score(benchmark, task, provider)
        assert row.result.score.passed, (task.id, row.result.status, row.result.score.reason)
    assert tasks and len(provider.requests) >= len(tasks)
