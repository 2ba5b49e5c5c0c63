"""Who plays the user in benchmarks whose tasks are conversations: a model, named beside every score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from stages.records import Message, ToolSpec


class UserError(RuntimeError):
    """The user model gave no usable answer; the message names it and the cause."""


class UserModel(Protocol):
    """Anything that can play the user."""

    @property
    def name(self) -> str:
        """What stands beside every score that it took part in."""

    def reply(
        self, messages: Sequence[Message], instructions: str, tools: Sequence[ToolSpec], *, seed: int = 0
    ) -> Message:
        """The user's next message, as an assistant message: words, or calls of the user's tools.

        The agent's words come as the user's.

        Raises:
            UserError: there is no answer.
        """
