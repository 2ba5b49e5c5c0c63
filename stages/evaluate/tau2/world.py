"""One task's world: an official environment in the task's initial state, called by exact tool name."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from stages.evaluate.tau2.package import Tau2Package
from stages.evaluate.tau2.tasks import Tau2Task
from stages.records import Json

Caller: TypeAlias = Literal["assistant", "user"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gave: the text that its caller reads, and whether it failed."""

    text: str
    failed: bool


class World:
    """The state of one task; nothing in it is shared."""

    def __init__(self, package: Tau2Package, task: Tau2Task) -> None:
        self._call_type = package.module("data_model.message").ToolCall
        self.environment = package.environment(task.track.domain, solo=task.track.solo)
        state = copy.deepcopy(task.official.initial_state)
        self.environment.set_state(
            initialization_data=state and state.initialization_data,
            initialization_actions=state and state.initialization_actions,
            message_history=[],
        )

    def call(self, name: str, arguments: Mapping[str, Json], caller: Caller) -> Outcome:
        """Call a tool on the caller's side; a failure is an outcome."""
        call = self._call_type(name=name, arguments=copy.deepcopy(dict(arguments)), requestor=caller)
        answer = self.environment.get_response(call)
        return Outcome(answer.content, answer.error)

    def digest(self) -> str:
        """A hash of both sides' tables, equal for equal worlds on any machine."""
        state = hashlib.sha256()
        for toolkit in (self.environment.tools, self.environment.user_tools):
            state.update(_tables(toolkit) + b"\n")
        return state.hexdigest()


def _tables(toolkit: Any) -> bytes:
    return b"" if toolkit is None else str(toolkit.db.model_dump_json()).encode()
