"""An agent behind an API: any LiteLLM model, asked with native tool calls, many conversations at once.

A failed request is an infrastructure failure: its task is masked, never counted as wrong. An empty answer is an
answer, and so is that to a prompt which the model cannot hold. What a model says is data. Arguments that could
not be stored or sent back (no finite number, no valid text, nested beyond reason) make an unreadable call, which
is the model's own failure.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from stages.evaluate.benchmark import InfrastructureError, Request
from stages.params import HostedParams, TeacherParams
from stages.records import Message, ToolCall
from stages.teacher.client import Teacher
from stages.teacher.errors import Failure, TeacherError

_MAX_DEPTH = 32
_OVERLONG = "ContextWindowExceededError"


@dataclass(slots=True)
class Usage:
    """What a task's answers took (tokens as the provider counts them, US dollars)."""

    replies: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0


class HostedAgent:
    """A model by its LiteLLM name.

    It runs its requests on a thread of its own until it is closed. `usage` holds what each task took.

    Args:
        params: model, address, sampling and limits.
        seed: passed on to providers that take one.
    """

    def __init__(self, params: HostedParams, seed: int = 0) -> None:
        self.width = params.concurrency
        self.usage: dict[str, Usage] = {}
        self._teacher = Teacher(TeacherParams(**params.model_dump()))
        self._seed = seed
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hosted-agent", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> Future[Message]:
        """Begin an answer; it fails with InfrastructureError when the endpoint gives none."""
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop)

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        """One assistant message for each request, in order."""
        return [future.result() for future in [self.submit(request) for request in requests]]

    def close(self) -> None:
        """Stop the thread; what is still under way is dropped."""
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _answer(self, request: Request) -> Message:
        used = self.usage.setdefault(request.task, Usage())
        used.replies += 1
        try:
            done = await self._teacher.complete(
                request.messages, script={}, tools=request.tools, seed=self._seed, whole=False
            )
        except TeacherError as error:
            if error.reason is Failure.EMPTY or _OVERLONG in str(error):
                return Message("assistant", "")
            raise InfrastructureError(str(error)) from None
        except Exception as error:  # noqa: BLE001 - whatever an endpoint sends that the client can't take
            raise InfrastructureError(f"{type(error).__name__}: {error}") from None
        used.prompt_tokens += done.prompt_tokens
        used.completion_tokens += done.completion_tokens
        used.cost += done.cost
        return readable(done.message)


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def readable(message: Message) -> Message:
    """The message with text that can be stored, and calls without arguments where theirs can't be."""
    return Message("assistant", _text(message.content), tuple(_call(call) for call in message.tool_calls))


def _call(call: ToolCall) -> ToolCall:
    call = replace(call, id=_text(call.id), name=_text(call.name), raw=_text(call.raw), error=_text(call.error))
    if call.arguments is None or _is_plain(call.arguments, _MAX_DEPTH):
        return call
    problem = "The arguments hold no finite number, no valid text, or are nested too deep."
    return replace(call, arguments=None, error=problem)


def _is_plain(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        return _text(value) == value
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return depth > 0 and all(_is_plain(k, 1) and _is_plain(v, depth - 1) for k, v in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    return True


def _text(text: str) -> str:
    """The text without unpaired surrogates, which have no place in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")
