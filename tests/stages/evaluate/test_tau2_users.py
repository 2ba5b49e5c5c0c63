"""τ²-bench with somebody who plays the user: what each side sees, and whose fault is whose."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from stages.evaluate.loop import OneByOne, run_tasks
from stages.evaluate.tau2 import LiteLlmUser, Tau2, run
from stages.evaluate.tau2.replay import ReplayUser, Script, gold
from stages.evaluate.tau2.tasks import Tau2Task
from stages.evaluate.user import UserError
from stages.params import TeacherParams
from stages.records import Message, ToolCall, ToolSpec
from stages.teacher.client import Teacher

pytestmark = pytest.mark.timeout(180)  # importing LiteLLM takes long on a busy machine

WORDS = Message("assistant", "How can I help?")


@pytest.fixture(scope="module")
def telecom() -> Tau2:
    return Tau2(tracks=["telecom"])


@pytest.fixture
def task(telecom: Tau2) -> Tau2Task:
    """A task in which both sides act."""

    def sides(one: Tau2Task) -> set[str]:
        return {action.requestor for action in one.official.evaluation_criteria.actions}

    return next(one for one in telecom.tasks() if sides(one) == {"user", "assistant"})


@dataclass
class Talking:
    """An agent, or a user, that makes given moves and keeps what it was shown."""

    moves: Sequence[Message | Exception]
    name: str = "talker"
    seen: list[Sequence[Message]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)

    def reply(self, messages: Sequence[Message], *rest: Any, seed: int = 0) -> Message:
        self.seen.append(messages)
        self.seeds.append(seed)
        move = self.moves[min(len(self.seen), len(self.moves)) - 1]
        if isinstance(move, Exception):
            raise move
        return move


def said(text: str, *calls: ToolCall) -> Message:
    return Message("assistant", text, calls)


def with_user(user: Any, **options: Any) -> Tau2:
    return Tau2(tracks=["telecom"], user=user, **options)


def test_neither_side_sees_the_others_calls(telecom: Tau2, task: Tau2Task) -> None:
    script = gold(task)
    agent, user = Talking(script.agent.moves), Talking([*script.user.moves, said("Bye ###STOP###")])
    row = telecom.follow(task, Script(agent, user))  # type: ignore[arg-type]
    assert row.score.passed and row.episode is not None
    system, greeting, opening, *_ = agent.seen[-1]
    assert system.role == "system" and greeting.role == "assistant" and opening == Message("user", "I need your help.")
    assert not [m for m in agent.seen[-1] if m.role == "user" and m.tool_calls]
    assert user.seen[0] == (Message("user", greeting.content),)
    roles = [(m.role, bool(m.tool_calls)) for m in user.seen[-1]]
    assert ("assistant", True) in roles and ("tool", False) in roles and ("user", True) not in roles
    for view in (agent.seen[-1], user.seen[-1]):
        calls = [call.id for m in view for call in m.tool_calls]
        assert calls == [m.tool_call_id for m in view if m.role == "tool"] != []
    everything = [call.name for m in row.episode.messages for call in m.tool_calls]
    assert everything == [action.name for action in task.official.evaluation_criteria.actions]
    assert {call.name for call in row.episode.calls} < set(everything)


@pytest.mark.parametrize("word", ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"])
def test_three_words_end_a_conversation(telecom: Tau2, task: Tau2Task, word: str) -> None:
    user = Talking([said("Hello."), said(f"Well. {word}")])
    row = run_tasks(with_user(user), [task], OneByOne(Talking([WORDS])))[0]
    assert row.episode is not None and row.episode.extra["end"] == "user_stop" and row.episode.extra["steps"] == 3


def test_an_endless_chat_ends_after_200_steps(task: Tau2Task) -> None:
    agent = Talking([WORDS])
    row = run_tasks(with_user(Talking([said("Hello.")])), [task], OneByOne(agent))[0]
    assert row.episode is not None and row.episode.extra["end"] == "max_steps" and row.episode.stop == "rounds"
    assert len(agent.seen) == 100 and not row.score.passed


def test_an_agent_that_says_nothing_fails(task: Tau2Task) -> None:
    row = run_tasks(with_user(Talking([said("Hello.")])), [task], OneByOne(Talking([said("  ")])))[0]
    assert (row.status, row.score.reason) == ("scored", "agent_error")


UNREADABLE = said("", ToolCall("c", "toggle_data", None, "{", "not JSON"))


@pytest.mark.parametrize("fault", [UserError("lost"), said(""), UNREADABLE])
def test_a_user_that_never_answers_masks_the_episode(task: Tau2Task, fault: Any) -> None:
    user = Talking([said("Hello."), fault])
    row = run_tasks(with_user(user, seed=5), [replace(task, trial=2)], OneByOne(Talking([WORDS])))[0]
    assert row.status == "infrastructure" and row.episode is not None
    assert (row.episode.extra["user_requests"], row.episode.extra["user_failures"]) == (4, 3)
    assert row.episode.extra["user_problem"]
    assert user.seeds == [2005, 2005, 2006, 2007]


def test_a_user_that_recovers_plays_on_and_is_counted(telecom: Tau2, task: Tau2Task) -> None:
    script = gold(task)
    first, *others = script.user.moves
    user = Talking([UserError("lost"), first, UNREADABLE, *others, said("###STOP###")])
    row = telecom.follow(task, replace(script, user=user))  # type: ignore[arg-type]
    assert row.score.passed
    assert dict(row.score.counts) == {
        "user_requests": len(user.seen), "user_failures": 2, "user_format_breaks": 1,
    }  # fmt: skip


def test_words_beside_calls_and_unknown_tools_are_format_breaks(telecom: Tau2, task: Tau2Task) -> None:
    both = said("I look.", ToolCall("x", "check_sim_status", {}))
    unknown = said("", ToolCall("x", "get_customer_by_id", {"customer_id": "C1001"}))
    agent = Talking([WORDS])
    row = run_tasks(with_user(Talking([both, unknown, said("###STOP###")])), [task], OneByOne(agent))[0]
    assert row.episode is not None and row.episode.extra["user_format_breaks"] == 2
    assert [m.content[:5] for m in row.episode.messages if m.role == "tool"] == ["Your ", "Error"]
    assert not agent.seen  # the words beside a call reach nobody


def test_a_run_names_its_user_and_needs_four_trials(task: Tau2Task) -> None:
    user = Talking([said("Hello. ###STOP###")], name="hosted_vllm/small")
    measured = run(OneByOne(Talking([WORDS])), tracks=["telecom"], user=user, sample=2)
    assert (measured.user_model, measured.trials) == ("hosted_vllm/small", 4)
    assert measured.version.endswith("user model hosted_vllm/small")
    (track,) = measured.tracks
    assert (track.scored, track.user.requests, track.user.error_rate) == (8, 8, 0.0)
    assert all(
        row.episode is not None and row.episode.extra["user_model"] == "hosted_vllm/small" for row in measured.rows
    )
    with pytest.raises(ValueError, match="3 trials are too few"):
        run(OneByOne(Talking([WORDS])), tracks=["telecom"], user=user, trials=3)


class Endpoint:
    """A chat completions server; `answer` makes a message of a request, or refuses with a status."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any] | int]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.requests.append(request)
                reply = endpoint.answer(request)
                status = reply if isinstance(reply, int) else 200
                body = {
                    "id": "x", "object": "chat.completion", "created": 1, "model": "m",
                    "choices": [{"index": 0, "finish_reason": "stop", "message": reply}],
                    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
                }  # fmt: skip
                payload = json.dumps({"error": {"message": "no"}} if status != 200 else body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "none")
    made = Endpoint(lambda request: 500)
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def hosted(endpoint: Endpoint) -> Iterator[LiteLlmUser]:
    teacher = Teacher(TeacherParams(model="hosted_vllm/user", api_base=endpoint.url, attempts=1, timeout=10.0))
    user = LiteLlmUser(teacher)
    yield user
    user.close()


def wire(message: Message) -> dict[str, Any]:
    calls = [
        {"id": "random", "type": "function", "function": {"name": c.name, "arguments": json.dumps(c.arguments)}}
        for c in message.tool_calls
    ]
    return {"role": "assistant", "content": message.content or None} | ({"tool_calls": calls} if calls else {})


def test_a_model_behind_litellm_plays_the_user(
    telecom: Tau2, task: Tau2Task, endpoint: Endpoint, hosted: LiteLlmUser
) -> None:
    script = gold(task)

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        made = sum(m["role"] == "assistant" for m in request["messages"])
        return wire(script.user.moves[made] if made < len(script.user.moves) else said("###STOP###"))

    endpoint.answer = answer
    row = telecom.follow(task, replace(script, user=hosted))  # type: ignore[arg-type]
    assert row.score.passed and row.episode is not None
    assert row.episode.extra["user_model"] == "hosted_vllm/user"
    first = endpoint.requests[0]
    assert first["temperature"] == 0.0 and "toggle_airplane_mode" in {t["function"]["name"] for t in first["tools"]}
    assert str(task.official.user_scenario) in first["messages"][0]["content"]
    assert [m["role"] for m in first["messages"]] == ["system", "user"]
    ids = [call.id for m in row.episode.messages if m.role == "user" for call in m.tool_calls]
    assert ids == [f"user_{n}" for n in range(len(ids))] and ids


def test_an_endpoint_that_fails_masks_the_episode(task: Tau2Task, hosted: LiteLlmUser) -> None:
    row = run_tasks(with_user(hosted), [task], OneByOne(Talking([WORDS])))[0]
    assert row.status == "infrastructure" and row.episode is not None
    assert row.episode.extra["user_failures"] == 3 and "hosted_vllm/user" in str(row.episode.extra["user_problem"])


def test_the_scripted_teacher_cannot_play_a_user() -> None:
    with pytest.raises(ValueError, match="scripted/grounded cannot play a user: name a language model"):
        LiteLlmUser(Teacher(TeacherParams()))


def test_a_replayed_user_stops_when_it_has_no_moves_left() -> None:
    tools: Sequence[ToolSpec] = ()
    assert ReplayUser(()).reply((), "", tools).content == "###STOP###"
