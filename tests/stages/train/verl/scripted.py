"""A server manager that says what a script tells it, token by token, and fails on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from stages.chat import ChatFormat
from stages.records import Json, Message, ToolCall
from stages.train.verl.trajectory import Generated

Script = Callable[[int], Message]
"""From the number of the reply to what it says."""


def calling(name: str, arguments: dict[str, Json] | None = None) -> Message:
    return Message("assistant", "", (ToolCall("", name, arguments or {}),))


def saying(text: str) -> Message:
    return Message("assistant", text)


class ScriptedModel:
    """Replies in turn; an entry that is an exception is raised, a number is slept for (seconds)."""

    def __init__(self, chat: ChatFormat, script: Sequence[Message | Exception | float]) -> None:
        self._chat, self._script = chat, list(script)
        self.prompts: list[list[int]] = []

    async def __call__(self, ids: list[int], most: int) -> Generated:
        self.prompts.append(ids)
        said = self._script[len(self.prompts) - 1]
        await asyncio.sleep(0 if isinstance(said, Message | Exception) else said)
        if isinstance(said, Exception):
            raise said
        reply = self._chat.reply(said if isinstance(said, Message) else saying("late"))[:most]
        return Generated(reply, [-0.5] * len(reply), (3, 3))


class Tokens:
    """What verl's servers answer, as far as an agent loop looks at it."""

    def __init__(self, generated: Generated) -> None:
        self.token_ids, self.log_probs = list(generated.ids), list(generated.logprobs)
        self.extra_fields: dict[str, Any] = {"min_global_steps": 3, "max_global_steps": 3}


class ScriptedServers:
    """verl's server manager for one episode."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model
        self.wanted: list[dict[str, Any]] = []
        self.requests: set[str] = set()

    async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any]) -> Tokens:
        self.wanted.append(sampling_params)
        self.requests.add(request_id)
        return Tokens(await self._model(prompt_ids, sampling_params["max_tokens"]))
