"""A model small enough to train in a test, and a toy world that it can learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import stages.train  # noqa: F401  # sets the thread policy before torch starts
from stages.records import EpisodeRecord, Message, ToolCall, ToolSpec
from stages.train.batched_rollout import Trajectory
from stages.train.policy import Policy

torch.set_num_threads(1)  # nothing here is large enough to share, and other tests run beside it

STOP, CUE, CALL, DIGIT = 1, 2, 3, 10  # token ids; DIGIT + d is the digit d


class ToyChat:
    """Messages are digits, one token each; a reply that starts with CALL is a call."""

    stop_ids = frozenset({STOP})
    one_call = False

    def opening(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> list[int]:
        return [i for m in messages for i in (*self._digits(m.content), 4)] + [CUE]

    def reply(self, message: Message) -> list[int]:
        return [*([CALL] if message.tool_calls else []), *self._digits(message.content), STOP]

    def continuation(self, messages: Sequence[Message], *, closed: bool = True) -> list[int]:
        return self.opening((), messages)

    def parse(self, ids: Sequence[int], *, turn: int = 0) -> Message:
        content = "".join(str(i - DIGIT) for i in ids if DIGIT <= i < DIGIT + 10)
        calls = (ToolCall(f"c{turn}", "say", {"digits": content}),) if CALL in ids else ()
        return Message("assistant", content, calls)

    def text(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> str:
        return " ".join(m.content for m in messages)

    def _digits(self, text: str) -> list[int]:
        return [DIGIT + int(c) for c in text]


@dataclass
class ToyEpisode:
    """Asks for a digit `rounds` times; each reply should begin with that digit."""

    digit: int
    rounds: int = 1
    tools: Sequence[ToolSpec] = ()
    done: bool = False
    messages: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.messages = [Message("user", str(self.digit) * 3)]

    def respond(self, reply: Message) -> None:
        self.messages.append(reply)
        if sum(m.role == "assistant" for m in self.messages) >= self.rounds:
            self.done = True
        else:  # answers of different lengths, so that rows become ragged
            self.messages.append(Message("tool", str(self.digit) * (1 + self.digit % 3)))

    def finish(self, stop: str | None = None) -> EpisodeRecord:
        ending: Any = stop or "answered"
        return EpisodeRecord(tuple(self.messages), (), "hash", ending)


@dataclass(frozen=True)
class ToyReward:
    total: float
    masked: bool = False


def build_model(seed: int = 0) -> Any:
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=32,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        initializer_range=0.1,
    )
    return LlamaForCausalLM(config)


@pytest.fixture
def make_policy() -> Callable[..., Policy]:
    return lambda seed=0: Policy(build_model(seed), chat=ToyChat())


@pytest.fixture
def make_episode() -> type[ToyEpisode]:
    return ToyEpisode


@pytest.fixture
def toy_reward() -> Callable[[int, Trajectory], ToyReward]:
    def reward(digit: int, trajectory: Trajectory) -> ToyReward:
        replies = [m.content for m in trajectory.record.messages if m.role == "assistant"]
        return ToyReward(sum(r[:1] == str(digit) for r in replies) / max(1, len(replies)))

    return reward
