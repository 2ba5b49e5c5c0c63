"""One trajectory as a coroutine: open, sample, let the environment answer, go on, close.

It is the local engine's rollout for one episode at a time: the same pieces of tokens in the same order, the same ends.
What differs is that everything here may fail by itself: whatever happens, a trajectory comes back, and one that says
nothing about the policy carries the fault.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from stages.chat import ChatFormat
from stages.chat.one_call import one_call_each
from stages.dataset import RlRow
from stages.records import EpisodeRecord, Message
from stages.rollout import MAX_PARALLEL_CALLS, Episode
from stages.train.batched_rollout import Origin, hinted
from stages.train.supervision.signal import SAMPLED, Member
from stages.train.verl.environment import Environment
from stages.train.verl.faults import Fault, FaultError
from stages.train.verl.limits import Limits

NOTE_TOKENS = 24
"""Tokens that are kept free for the note on what a shortened result left out."""


class Generated(NamedTuple):
    """A sampled reply: token ids with its stop token, log-probabilities, and the versions of the weights it is of."""

    ids: Sequence[int]
    logprobs: Sequence[float]
    versions: tuple[int, int] | None = None


Generate: TypeAlias = Callable[[list[int], int], Awaitable[Generated]]
"""From all tokens so far and the most that a reply may have to the reply."""


@dataclass(frozen=True, slots=True)
class Played:
    """A trajectory as tokens, with its record and, where it can't be judged, the fault.

    `mask` marks the policy's own tokens among `ids`. `prompt` is never the hinted one. `seconds_model` and
    `seconds_environment` are waiting times.
    """

    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    logprobs: tuple[float, ...]
    record: EpisodeRecord
    fault: Fault | None = None
    detail: str = ""
    seconds_model: float = 0.0
    seconds_environment: float = 0.0
    versions: tuple[int, int] | None = None
    origin: Origin = "sampled"


@dataclass(slots=True)
class _Live:
    """A trajectory on its way."""

    record: EpisodeRecord
    origin: Origin
    prompt: list[int] = field(default_factory=list)
    unhinted: list[int] | None = None
    ids: list[int] = field(default_factory=list)
    mask: list[bool] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    seconds_model: float = 0.0
    seconds_environment: float = 0.0
    versions: tuple[int, int] | None = None

    def add(self, ids: Sequence[int], logprobs: Sequence[float] | None = None) -> None:
        self.ids += ids
        self.mask += [logprobs is not None] * len(ids)
        self.logprobs += logprobs if logprobs is not None else [0.0] * len(ids)

    def room(self, limits: Limits) -> int:
        return min(limits.response, limits.context - len(self.prompt)) - len(self.ids)

    def played(self, fault: Fault | None = None, detail: str = "") -> Played:
        return Played(
            tuple(self.prompt if self.unhinted is None else self.unhinted), tuple(self.ids), tuple(self.mask),
            tuple(self.logprobs), self.record,
            fault, detail, self.seconds_model, self.seconds_environment, self.versions, self.origin,
        )  # fmt: skip


class TokenCap:
    """Shortens a text to a number of tokens and says how much is gone."""

    def __init__(self, tokenizer: Any, tokens: int) -> None:
        self._tokenizer, self._tokens = tokenizer, tokens

    def __call__(self, text: str) -> str:
        """The text, or its beginning with a note."""
        if len(text.encode()) <= self._tokens:  # a token has one byte at least
            return text
        ids = self._tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        if len(ids) <= self._tokens:
            return text
        kept = max(1, self._tokens - NOTE_TOKENS)
        return f"{self._tokenizer.decode(ids[:kept])} … ({len(ids) - kept} more tokens were left out)"


async def play_trajectory(
    environment: Environment,
    chat: ChatFormat,
    row: RlRow,
    limits: Limits,
    generate: Generate,
    shorten: Callable[[str], str],
    member: Member = SAMPLED,
) -> Played:
    """Play one episode of a row as that member of its group; never raises for what goes wrong inside it."""
    origin: Origin = "demonstrated" if member.replies else "hinted" if member.hint else "sampled"
    live = _Live(EpisodeRecord(row.messages, (), "", "infrastructure"), origin)
    try:
        async with asyncio.timeout(limits.episode_seconds):
            await _play(live, environment, chat, row, limits, generate, shorten, member)
    except TimeoutError:
        return live.played("episode_deadline", f"row {row.id}: not done within {limits.episode_seconds:g} s")
    except FaultError as fault:
        return live.played(fault.kind, str(fault))
    except Exception as error:  # noqa: BLE001  # a fault of ours must not take its whole group with it
        return live.played("error", f"row {row.id}: {type(error).__name__}: {error}")
    broken = next((call for call in live.record.calls if call.infrastructure), None)
    return live.played("call", f"row {row.id}: {broken.name} broke") if broken else live.played()


async def _play(
    live: _Live,
    environment: Environment,
    chat: ChatFormat,
    row: RlRow,
    limits: Limits,
    generate: Generate,
    shorten: Callable[[str], str],
    member: Member,
) -> None:
    live.prompt = chat.opening(row.tools, row.messages)
    if len(live.prompt) > limits.prompt:
        raise FaultError("prompt", f"row {row.id}: the prompt has {len(live.prompt)} tokens of {limits.prompt}")
    if member.hint:
        live.unhinted, live.prompt = live.prompt, chat.opening(row.tools, hinted(row.messages, member.hint))
    rounds = limits.rounds
    if member.replies:
        replies = [reply for _, reply in one_call_each(member.replies)] if chat.one_call else member.replies
        generate, rounds = _recited(chat, replies), len(replies)
    waiting = time.perf_counter()
    async with environment.episode(
        row, max(rounds, limits.rounds), limits.call_seconds * (1 + len(row.replay))
    ) as episode:
        live.seconds_environment += time.perf_counter() - waiting
        stop: str | None = "infrastructure"
        try:
            stop = await _turns(live, environment, chat, episode, limits, rounds, generate, shorten)
        finally:
            live.record = episode.finish(stop)
    if member.replies and stop is not None:
        raise FaultError("demonstration", f"row {row.id}: the given replies ended with {stop}")


def _recited(chat: ChatFormat, replies: Sequence[Message]) -> Generate:
    """Gives the replies one after another; they come without a sampler's record."""
    given = iter(replies)

    async def generate(ids: list[int], most: int) -> Generated:
        own = chat.reply(next(given))
        if len(own) > most:
            raise FaultError("demonstration", f"a reply of {len(own)} tokens where {most} are left")
        return Generated(own, [0.0] * len(own))

    return generate


async def _turns(
    live: _Live,
    environment: Environment,
    chat: ChatFormat,
    episode: Episode,
    limits: Limits,
    rounds: int,
    generate: Generate,
    shorten: Callable[[str], str],
) -> str | None:
    """Reply after reply; returns how it ended where the episode could not see it itself."""
    for turn in range(rounds):
        if live.room(limits) <= 0:
            return "length"
        reply = await _sampled(live, limits, generate)
        if reply.ids[-1] not in chat.stop_ids:
            return "length"
        known = len(episode.messages)
        message = chat.parse(reply.ids, turn=turn)
        waiting = time.perf_counter()
        seconds = limits.call_seconds * max(1, min(len(message.tool_calls), MAX_PARALLEL_CALLS))
        await environment.run(partial(episode.respond, message), seconds)
        live.seconds_environment += time.perf_counter() - waiting
        if episode.done:
            return None
        if turn + 1 == rounds:
            return "rounds"
        for index in range(known + 1, len(episode.messages)):
            told = episode.messages[index]
            episode.messages[index] = replace(told, content=shorten(told.content))
        between = chat.continuation(episode.messages[known + 1 :])
        if len(between) >= live.room(limits):
            return "length"
        live.add(between)
    return "rounds"


async def _sampled(live: _Live, limits: Limits, generate: Generate) -> Generated:
    waiting = time.perf_counter()
    try:
        most = live.room(limits) if live.origin == "demonstrated" else min(limits.reply, live.room(limits))
        reply = await generate([*live.prompt, *live.ids], most)
    except FaultError:
        raise
    except Exception as error:
        raise FaultError("generation", f"{type(error).__name__}: {error}") from error
    finally:
        live.seconds_model += time.perf_counter() - waiting
    if not reply.ids or len(reply.logprobs) != len(reply.ids):
        raise FaultError("generation", f"{len(reply.ids)} tokens came with {len(reply.logprobs)} log-probabilities")
    live.add(reply.ids, reply.logprobs)
    if reply.versions:
        first = live.versions[0] if live.versions else reply.versions[0]
        live.versions = (first, reply.versions[1])
    return reply
