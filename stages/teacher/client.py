"""The one way to a teacher: LiteLLM, with retries, a limit on concurrency, and the cost of each answer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from stages.params import TeacherParams
from stages.records import Json, Message, ToolCall, ToolSpec
from stages.teacher import scripted


class TeacherError(Exception):
    """The teacher gave no usable answer; the message names the model and the cause."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer with what it cost (tokens as the provider counts them, US dollars)."""

    message: Message
    prompt_tokens: int
    completion_tokens: int
    cost: float


class Teacher:
    """A chat model by its LiteLLM name.

    Args:
        params: model, address, sampling and limits.
    """

    def __init__(self, params: TeacherParams) -> None:
        self.params = params
        self._litellm, self._openai = _load_litellm(), import_module("openai")
        self._slots = asyncio.Semaphore(params.concurrency)

    @property
    def is_scripted(self) -> bool:
        """Whether the teacher plays plans rather than thinks."""
        return self.params.model.startswith(f"{scripted.PROVIDER}/")

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        script: Mapping[str, Any],
        tools: Sequence[ToolSpec] = (),
        temperature: float | None = None,
        seed: int = 0,
    ) -> Completion:
        """One assistant message.

        Args:
            messages: the conversation, which is not changed.
            script: the plan for the scripted teacher; never sent to another model.
            tools: the tools that the teacher may call.
            temperature: sampling temperature; the teacher's own by default.
            seed: passed on to providers that take one.

        Raises:
            TeacherError: every attempt failed, or the answer cannot be read.
        """
        request: dict[str, Any] = {
            "model": self.params.model,
            "messages": [to_openai(message) for message in messages],
            "temperature": self.params.temperature if temperature is None else temperature,
            "max_tokens": self.params.max_tokens,
            "timeout": self.params.timeout,
            "seed": seed,
        }
        if tools:
            request["tools"] = [_function(tool) for tool in tools]
        if self.is_scripted:
            request["script"] = {"seed": seed, **script}
        else:
            request |= {"api_base": self.params.api_base, "num_retries": self.params.attempts - 1}
            request["drop_params"] = True  # some providers take no seed
        async with self._slots:
            try:
                response = await self._litellm.acompletion(**request)
            except self._openai.OpenAIError as error:  # what all of LiteLLM's exceptions derive from
                raise TeacherError(f"{self.params.model}: {type(error).__name__}: {error}") from None
        return self._read(response)

    def _read(self, response: Any) -> Completion:
        try:
            message = from_openai(response.choices[0].message)
        except (AttributeError, IndexError, TypeError) as error:
            raise TeacherError(f"{self.params.model}: unreadable answer ({error})") from None
        if not message.content and not message.tool_calls:
            raise TeacherError(f"{self.params.model}: empty answer")
        usage = getattr(response, "usage", None)
        cost = 0.0 if self.is_scripted else float(response._hidden_params.get("response_cost") or 0.0)
        return Completion(
            message, getattr(usage, "prompt_tokens", 0) or 0, getattr(usage, "completion_tokens", 0) or 0, cost
        )


def to_openai(message: Message) -> dict[str, Any]:
    """A message in the wire format of chat completions."""
    out: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": call.raw if call.arguments is None else json.dumps(call.arguments),
                },
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        out["tool_call_id"] = message.tool_call_id
    return out


def from_openai(message: Any) -> Message:
    """A message from a chat completion; arguments that are no JSON object are kept as raw text."""
    calls = []
    for call in message.tool_calls or ():
        arguments, error = _arguments(call.function.arguments)
        calls.append(ToolCall(call.id or "", call.function.name or "", arguments, call.function.arguments or "", error))
    return Message("assistant", message.content or "", tuple(calls))


def _arguments(text: str | None) -> tuple[dict[str, Json] | None, str]:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        return None, f"The arguments are not JSON: {error}"
    if not isinstance(value, dict):
        return None, "The arguments must be a JSON object."
    return value, ""


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)},
    }


def _load_litellm() -> Any:
    """LiteLLM with the scripted provider registered; it looks nothing up on the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    import litellm
    from litellm.types.utils import Choices, ModelResponse
    from litellm.types.utils import Message as LiteLlmMessage

    class ScriptedProvider(litellm.CustomLLM):  # type: ignore[misc]
        async def acompletion(self, model: str, messages: list[dict[str, Any]], *args: Any, **options: Any) -> Any:
            content = scripted.write(options["optional_params"]["script"], messages)
            response = ModelResponse()
            response.choices = [Choices(finish_reason="stop", message=LiteLlmMessage(**content))]
            return response

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.custom_provider_map = [{"provider": scripted.PROVIDER, "custom_handler": ScriptedProvider()}]
    return litellm
