"""The official rule, applied to a finished episode.

The reward is a product over what a task lists as its basis: the tables equal those after the reference
actions (DB), assertions about the environment hold (ENV_ASSERTION), every reference action was called
(ACTION), and given words occur in what the agent said (COMMUNICATE). Each factor is 0 or 1 and comes from
the official evaluators, which run the recorded calls again in environments of their own and refuse a record
whose results differ. A conversation that was cut short scores nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

from stages.evaluate.benchmark import Score
from stages.evaluate.tau2.package import STOP_TOOL, Tau2Package
from stages.evaluate.tau2.tasks import Tau2Task, needs_judge
from stages.records import EpisodeRecord, Message, ToolCall

_COUNTED = ("user_requests", "user_failures", "user_format_breaks")
_ENVIRONMENT = ("DB", "ENV_ASSERTION")


def score_episode(package: Tau2Package, task: Tau2Task, episode: EpisodeRecord) -> Score:
    """The verdict on an episode, recomputed from its messages.

    Raises:
        ValueError: the recorded results are not what the environment gives, or a judge is needed.
    """
    counts = {name: value for name in _COUNTED if isinstance(value := episode.extra.get(name), int)}
    end = str(episode.extra["end"])
    if end not in ("agent_stop", "user_stop"):
        return Score(False, end, counts)
    official = copy.deepcopy(task.official)
    if needs_judge(official):
        raise ValueError(f"{task.id} needs a judge model")
    trajectory = list(official_messages(package, task, episode))
    basis = {part.value for part in official.evaluation_criteria.reward_basis}
    factors: dict[str, float] = {}
    if basis & set(_ENVIRONMENT):
        info = package.module("evaluator.evaluator_env").EnvironmentEvaluator.calculate_reward(
            environment_constructor=partial(_environment, package, task),
            task=official,
            full_trajectory=trajectory,
            solo_mode=task.track.solo,
        )
        factors |= {name.value: value for name, value in (info.reward_breakdown or {}).items()}
    if "ACTION" in basis:
        judge = package.module("evaluator.evaluator_action").ActionEvaluator
        factors["ACTION"] = judge.calculate_reward(official, trajectory).reward
    if "COMMUNICATE" in basis:
        judge = package.module("evaluator.evaluator_communicate").CommunicateEvaluator
        factors["COMMUNICATE"] = judge.calculate_reward(official, trajectory).reward
    missed = sorted(name for name, value in factors.items() if value != 1)
    return Score(not missed, ", ".join(missed), counts)


def official_messages(package: Tau2Package, task: Tau2Task, episode: EpisodeRecord) -> Iterator[Any]:
    """The episode as the package's own messages; the agent's stop call becomes the official stop word."""
    kinds = package.module("data_model.message")
    caller = "assistant"
    for message in episode.messages:
        if message.role == "tool":
            yield kinds.ToolMessage(id=message.tool_call_id, role="tool", content=message.content, requestor=caller)
        elif message.role == "user":
            caller = "user"
            yield kinds.UserMessage(
                role="user", content=message.content or None, tool_calls=_calls(kinds, message.tool_calls, caller)
            )
        elif message.role == "assistant":
            caller = "assistant"
            yield _from_agent(kinds, message, task.track.solo)


def _from_agent(kinds: Any, message: Message, solo: bool) -> Any:
    if solo and any(call.name == STOP_TOOL for call in message.tool_calls):
        return kinds.AssistantMessage(role="assistant", content="###STOP###")
    calls = _calls(kinds, message.tool_calls, "assistant")
    return kinds.AssistantMessage(role="assistant", content=message.content or None, tool_calls=calls)


def _calls(kinds: Any, calls: tuple[ToolCall, ...], caller: str) -> list[Any] | None:
    made = [
        kinds.ToolCall(id=c.id, name=c.name, arguments=copy.deepcopy(dict(c.arguments or {})), requestor=caller)
        for c in calls
    ]
    return made or None


def _environment(package: Tau2Package, task: Tau2Task, solo_mode: bool = False) -> Any:
    """An environment whose assertions do not break on what the agent never made: such an assertion is not met."""
    environment = package.environment(task.track.domain, solo=solo_mode)
    official = environment.run_env_assertion

    def holds(assertion: Any, raise_assertion_error: bool = True) -> bool:
        try:
            return bool(official(assertion, raise_assertion_error=raise_assertion_error))
        except ValueError:
            return False

    environment.run_env_assertion = holds
    return environment
