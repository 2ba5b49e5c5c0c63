"""Who plays the user of a conversation.

A user model sees the conversation from its own side: it speaks as the assistant, the agent's words come as
the user's, and its instructions are the system prompt. Its faults are not the agent's: an answer that is
missing or unreadable is asked for again, and when none comes the episode is masked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from stages.evaluate.hosted_agent import readable
from stages.evaluate.user import UserError
from stages.records import Message, ToolSpec
from stages.teacher.client import Teacher


class LiteLlmUser:
    """A user played by any model that LiteLLM reaches, at temperature 0.

    Args:
        teacher: the model, with its limits; the temperature in its params is not used.

    Raises:
        ValueError: the model is the scripted one, which only plays plans.
    """

    def __init__(self, teacher: Teacher) -> None:
        if teacher.is_scripted:
            raise ValueError(
                f"{teacher.params.model} cannot play a user: name a language model, such as openai/gpt-4.1"
            )
        self._teacher = teacher
        self._runner = asyncio.Runner()

    @property
    def name(self) -> str:
        """The model's LiteLLM name."""
        return self._teacher.params.model

    def reply(
        self, messages: Sequence[Message], instructions: str, tools: Sequence[ToolSpec], *, seed: int = 0
    ) -> Message:
        """The user's next message.

        Raises:
            UserError: no attempt gave an answer, whatever the cause.
        """
        prompt = [Message("system", instructions), *messages]
        try:
            completion = self._runner.run(
                self._teacher.complete(prompt, script={}, tools=tools, temperature=0.0, seed=seed)
            )
        except Exception as error:  # noqa: BLE001 - nothing that an endpoint does is the agent's fault
            raise UserError(f"{type(error).__name__}: {error}") from None
        return readable(completion.message)

    def close(self) -> None:
        """Give up the connections."""
        self._runner.close()
