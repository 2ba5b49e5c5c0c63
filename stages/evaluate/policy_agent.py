"""A local policy as an agent: replies to many conversations in one batch, each computed only once.

While a conversation grows by tool results alone, its key-value cache is kept: a round computes just them, on
top of the very tokens that were sampled before. At a user's message, and where tools or earlier messages
changed, it is read anew, since a template may drop old thoughts there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stages.evaluate.benchmark import Request
from stages.records import Message, ToolSpec
from stages.train.config import SamplingConfig
from stages.train.policy import Policy
from stages.train.sampling import Sampled, Sampler


@dataclass(frozen=True, slots=True)
class _Thread:
    """A conversation as the sampler holds it: its row, what it was shown, and its length in tokens."""

    row: int
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    length: int
    closed: bool


@dataclass(slots=True)
class _Group:
    """Conversations that share one sampler, by task."""

    sampler: Sampler
    threads: dict[str, _Thread] = field(default_factory=dict)


class PolicyAgent:
    """Answers each request of a task from its whole conversation.

    `tokens` holds, for each task, the ids of every reply; an empty reply stands for a prompt that was too long.

    Args:
        policy: the model.
        config: lengths and temperature; a prompt of `max_context` tokens gets an empty answer, since the model
            could not have read it.
    """

    def __init__(self, policy: Policy, config: SamplingConfig) -> None:
        self.tokens: dict[str, list[tuple[int, ...]]] = {}
        self._policy = policy
        self._config = config
        self._groups: list[_Group] = []

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        """One assistant message for each request, in order."""
        replies: dict[int, Message] = {}
        places = {request.task: index for index, request in enumerate(requests) if request.task}
        for group in self._groups:
            replies |= self._go_on(group, requests, places)
        self._groups = [group for group in self._groups if group.threads]
        fresh: list[tuple[int, list[int]]] = []
        for index, request in enumerate(requests):
            if index in replies:
                continue
            prompt = self._policy.chat.opening(request.tools, request.messages)
            if len(prompt) >= self._config.max_context:
                replies[index] = Message("assistant", "")
                self.tokens.setdefault(request.task, []).append(())
            else:
                fresh.append((index, prompt))
        for first in range(0, len(fresh), self._config.batch_size):
            replies |= self._begin(fresh[first : first + self._config.batch_size], requests)
        return [replies[index] for index in range(len(requests))]

    def _begin(self, prompts: Sequence[tuple[int, list[int]]], requests: Sequence[Request]) -> dict[int, Message]:
        """Answer conversations that no sampler holds yet."""
        group = _Group(Sampler(self._policy.network, self._policy.chat.stop_ids, temperature=self._config.temperature))
        group.sampler.start([prompt for _, prompt in prompts])
        rows = {row: index for row, (index, _) in enumerate(prompts)}
        lengths = {row: len(prompt) for row, (_, prompt) in enumerate(prompts)}
        self._groups.append(group)
        return self._sample(group, rows, lengths, requests)

    def _go_on(self, group: _Group, requests: Sequence[Request], places: Mapping[str, int]) -> dict[int, Message]:
        """Answer the conversations of a group that have only grown; it forgets the others."""
        chunks: dict[int, Sequence[int]] = {}
        rows: dict[int, int] = {}
        lengths: dict[int, int] = {}
        for task, thread in group.threads.items():
            between = self._grown(thread, requests[places[task]]) if task in places else None
            if between is not None:
                chunks[thread.row] = between
                rows[thread.row] = places[task]
                lengths[thread.row] = thread.length + len(between)
        group.threads = {}
        if not chunks:
            return {}
        group.sampler.extend(chunks)
        return self._sample(group, rows, lengths, requests)

    def _grown(self, thread: _Thread, request: Request) -> list[int] | None:
        """The tokens since the last reply, or None where the conversation has to be read anew."""
        known = len(thread.messages)
        new = request.messages[known:]
        if thread.tools != tuple(request.tools) or thread.messages != tuple(request.messages[:known]):
            return None
        if not new or any(message.role != "tool" for message in new):
            return None
        between = self._policy.chat.continuation(new, closed=thread.closed)
        return between if thread.length + len(between) < self._config.max_context else None

    def _sample(
        self, group: _Group, rows: Mapping[int, int], lengths: Mapping[int, int], requests: Sequence[Request]
    ) -> dict[int, Message]:
        config = self._config
        limits = {row: min(config.max_new_tokens, config.max_context - lengths[row]) for row in rows}
        sampled = group.sampler.sample(limits)
        return {
            index: self._keep(group, row, lengths[row], sampled[row], requests[index]) for row, index in rows.items()
        }

    def _keep(self, group: _Group, row: int, length: int, sampled: Sampled, request: Request) -> Message:
        reply = self._policy.chat.parse(sampled.ids, turn=len(request.messages))
        self.tokens.setdefault(request.task, []).append(sampled.ids)
        if request.task:
            messages = (*request.messages, reply)
            group.threads[request.task] = _Thread(
                row, tuple(request.tools), messages, length + len(sampled.ids), sampled.stopped
            )
        return reply
