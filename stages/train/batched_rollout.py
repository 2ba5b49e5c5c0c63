"""Many live episodes in lock-step: render, sample, parse, let the environment answer, go on.

What the policy sampled is kept token by token, with its log-probabilities; what the environment said
is appended between. Nothing is decoded and encoded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from stages.chat import ChatFormat
from stages.records import EpisodeRecord, Message, ToolSpec
from stages.train.config import SamplingConfig
from stages.train.order import mixed_seed
from stages.train.sampling import Sampled, Sampler

Origin: TypeAlias = Literal["sampled", "hinted", "demonstrated"]


class Episode(Protocol):
    """A live session that answers the policy's replies."""

    messages: list[Message]
    tools: Sequence[ToolSpec]
    done: bool

    def respond(self, reply: Message) -> None:
        """Execute the reply's calls and append reply and results; sets `done` when the episode is over."""

    def finish(self, stop: str | None = None) -> EpisodeRecord:
        """Close the session; `stop` names an end that the episode could not see itself."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One finished episode as tokens: the prompt, and all that followed.

    `mask` marks the policy's own tokens among `ids`; `logprobs` are theirs, 0 elsewhere, and empty where the
    tokens were not drawn from the policy given this prompt. `seconds` is how long the environment took to answer,
    `origin` how the replies came about.
    """

    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    logprobs: tuple[float, ...]
    record: EpisodeRecord
    seconds: float = 0.0
    origin: Origin = "sampled"


@dataclass(slots=True)
class _Live:
    """An episode and its tokens so far; `unhinted` is the prompt that the loss sees where sampling saw a hint."""

    episode: Episode
    prompt: tuple[int, ...]
    unhinted: tuple[int, ...] | None = None
    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stop: str | None = None
    seconds: float = 0.0

    def add(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> None:
        self.ids += ids
        self.mask += [logprobs is not None] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)

    def room(self, config: SamplingConfig) -> int:
        return config.max_context - len(self.prompt) - len(self.ids)

    def finish(self) -> Trajectory:
        record, ids, mask = self.episode.finish(self.stop), tuple(self.ids), tuple(self.mask)
        if self.unhinted is not None:
            return Trajectory(self.unhinted, ids, mask, (), record, self.seconds, "hinted")
        return Trajectory(self.prompt, ids, mask, tuple(self.logprobs), record, self.seconds)


def rollout(
    model: Any,
    chat: ChatFormat,
    episodes: Sequence[Episode],
    config: SamplingConfig,
    *,
    seed: int = 0,
    hints: Sequence[str] = (),
    on_done: Callable[[int], None] | None = None,
) -> list[Trajectory]:
    """Run every episode to its end; returns one trajectory per episode, in order.

    A reply that was cut off, or an episode that outgrows the context, ends with stop "length" and its
    last reply is not executed. `hints` holds a text for each episode, which stands in the system prompt while
    sampling and is no part of the trajectory; empty texts are none. `on_done` hears how many episodes a finished
    batch had.
    """
    hints = hints or [""] * len(episodes)
    training = model.training
    model.eval()
    try:
        finished: list[Trajectory] = []
        for first in range(0, len(episodes), config.batch_size):
            batch = episodes[first : first + config.batch_size]
            told = hints[first : first + config.batch_size]
            finished += _lock_step(model, chat, batch, told, config, mixed_seed(seed, first))
            if on_done:
                on_done(len(batch))
        return finished
    finally:
        model.train(training)


def _lock_step(
    model: Any,
    chat: ChatFormat,
    episodes: Sequence[Episode],
    hints: Sequence[str],
    config: SamplingConfig,
    seed: int,
) -> list[Trajectory]:
    lives = [_begun(chat, episode, hint) for episode, hint in zip(episodes, hints, strict=True)]
    going = [i for i, live in enumerate(lives) if live.room(config) > 0]
    for index in set(range(len(lives))) - set(going):
        lives[index].stop = "length"
    if going:
        sampler = Sampler(model, chat.stop_ids, temperature=config.temperature, seed=seed)
        sampler.start([lives[i].prompt for i in going])
        _rounds(sampler, chat, {row: lives[i] for row, i in enumerate(going)}, config)
    return [live.finish() for live in lives]


def _begun(chat: ChatFormat, episode: Episode, hint: str) -> _Live:
    plain = tuple(chat.opening(episode.tools, episode.messages))
    if not hint:
        return _Live(episode, plain)
    return _Live(episode, tuple(chat.opening(episode.tools, hinted(episode.messages, hint))), plain)


def hinted(messages: Sequence[Message], hint: str) -> list[Message]:
    """The messages with the hint at the end of the system prompt."""
    first = messages[0] if messages and messages[0].role == "system" else None
    told = Message("system", f"{first.content if first else ''}\n{hint}".strip())
    return [told, *(messages[1:] if first else messages)]


def _rounds(sampler: Sampler, chat: ChatFormat, rows: dict[int, _Live], config: SamplingConfig) -> None:
    for turn in range(config.max_rounds):
        limits = {r: min(config.max_new_tokens, live.room(config)) for r, live in rows.items()}
        replies = sampler.sample(limits)
        between = {r: _answer(rows[r], replies[r], chat, turn, config) for r in rows}
        rows = {r: live for r, live in rows.items() if between[r]}
        if not rows:
            return
        sampler.extend({r: between[r] for r in rows})


def _answer(live: _Live, reply: Sampled, chat: ChatFormat, turn: int, config: SamplingConfig) -> list[int]:
    """Give the reply to the environment; returns the tokens up to the next reply, none if it is over."""
    live.add(reply.ids, reply.logprobs)
    if not reply.stopped:
        live.stop = "length"
        return []
    known = len(live.episode.messages)
    message = chat.parse(reply.ids, turn=turn)
    asked = time.perf_counter()
    live.episode.respond(message)
    live.seconds += time.perf_counter() - asked
    if live.episode.done:
        return []
    if turn + 1 == config.max_rounds:
        live.stop = "rounds"
        return []
    between = chat.continuation(live.episode.messages[known + 1 :])
    if len(between) >= live.room(config):
        live.stop = "length"
        return []
    live.add(between)
    return between
