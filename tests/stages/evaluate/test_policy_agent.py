"""A local policy as an agent: with its cache kept it says what it says without, and its tokens are kept."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from stages.evaluate.benchmark import Request
from stages.evaluate.policy_agent import PolicyAgent
from stages.records import Message, ToolSpec
from stages.train.config import SamplingConfig
from stages.train.policy import Policy
from stages.train.sampling import Sampler
from tests.stages.train.conftest import ToyChat, build_model

CONFIG = SamplingConfig(temperature=0.0, max_new_tokens=5, max_context=60, batch_size=2)


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(build_model(seed=3), chat=ToyChat())


def talk(agent: PolicyAgent, rounds: int, between: str, names: Sequence[str]) -> dict[str, list[Message]]:
    """Several conversations in lock-step, `between` being who speaks after each reply."""
    said = {name: [Message("user", str(n + 1) * (n + 2))] for n, name in enumerate(names)}
    for turn in range(rounds):
        live = [name for n, name in enumerate(names) if n != 1 or turn < 2]  # one of them ends early
        replies = agent.reply_many([Request(tuple(said[name]), (), name) for name in live])
        for name, reply in zip(live, replies, strict=True):
            said[name] += [reply, Message(between, str((turn + len(name)) % 10))]  # type: ignore[arg-type]
    return said


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many prompts each sampler that starts from now on reads."""
    started: list[int] = []
    start = Sampler.start

    def count(self: Sampler, prompts: Sequence[Sequence[int]]) -> None:
        started.append(len(prompts))
        start(self, prompts)

    monkeypatch.setattr(Sampler, "start", count)
    return started


def decoded(policy: Policy, ids: Sequence[int]) -> list[int]:
    """Greedy decoding without any cache."""
    out = list(ids)
    for _ in range(CONFIG.max_new_tokens):
        out.append(int(policy.network(torch.tensor([out])).logits[0, -1].argmax()))
        if out[-1] in policy.chat.stop_ids:
            break
    return out[len(ids) :]


def test_a_kept_cache_changes_no_reply_and_saves_the_reading(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a", "b", "c"]
    started = counted(monkeypatch)
    kept = PolicyAgent(policy, CONFIG)
    said = talk(kept, 4, "tool", names)
    assert sum(started) == 3  # each conversation was read once
    for name in names:
        ids = policy.chat.opening((), said[name][:1])
        for turn, sampled in enumerate(kept.tokens[name]):
            assert list(sampled) == decoded(policy, ids)
            ids += [*sampled, *policy.chat.continuation([said[name][2 * turn + 2]])]
    assert {name: len(ids) for name, ids in kept.tokens.items()} == {"a": 4, "b": 2, "c": 4}


def test_a_users_message_and_other_tools_are_read_anew(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    started = counted(monkeypatch)
    talk(PolicyAgent(policy, CONFIG), 3, "user", ["a"])
    assert sum(started) == 3
    started.clear()
    agent, opening = PolicyAgent(policy, CONFIG), (Message("user", "12"),)
    reply = agent.reply_many([Request(opening, (), "a")])[0]
    longer = (*opening, reply, Message("tool", "3"))
    agent.reply_many([Request(longer, (ToolSpec("f", "", {}),), "a")])
    agent.reply_many([Request((Message("user", "13"), *longer[1:]), (), "a")])
    assert sum(started) == 3


def test_the_tokens_of_every_reply_are_kept(policy: Policy) -> None:
    agent = PolicyAgent(policy, CONFIG)
    said = talk(agent, 3, "tool", ["a"])["a"]
    replies = [message.content for message in said if message.role == "assistant"]
    assert [policy.chat.parse(ids).content for ids in agent.tokens["a"]] == replies


def test_a_prompt_over_the_context_gets_an_empty_answer_that_is_counted(policy: Policy) -> None:
    agent = PolicyAgent(policy, CONFIG)
    short, long = Message("user", "12"), Message("user", "1" * 70)
    replies = agent.reply_many([Request((long,), (), "long"), Request((short,), (), "short")])
    assert replies[0] == Message("assistant", "")
    assert agent.tokens["long"] == [()] and len(agent.tokens["short"][0]) >= 1
