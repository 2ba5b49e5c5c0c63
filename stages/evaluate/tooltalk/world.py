"""One turn's world: own instances of the official APIs over own databases.

A turn begins with the reference calls of all earlier turns, made again, so that what a model did before
never counts twice. The clock stands at the conversation's own time, and new identifiers come from the
official generators, seeded alike for every world. Session tokens are kept and passed by the harness.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from stages.evaluate.tooltalk.data import GoldCall, TooltalkPackage, TooltalkTask
from stages.records import Json


@dataclass(frozen=True, slots=True)
class Prediction:
    """A call as it was executed, session token included, and what it gave."""

    name: str
    arguments: Mapping[str, Json] | None
    response: Json
    exception: str | None
    executed: bool

    @property
    def text(self) -> str:
        """What the model reads."""
        return json.dumps({"response": self.response, "exception": self.exception})

    def official(self) -> dict[str, Any]:
        """The call in the package's form."""
        parameters = None if self.arguments is None else dict(self.arguments)
        return {
            "request": {"api_name": self.name, "parameters": parameters},
            "response": self.response,
            "exception": self.exception,
        }


class World:
    """The state of one turn."""

    def __init__(self, package: TooltalkPackage, task: TooltalkTask, before: Sequence[GoldCall]) -> None:
        module = import_module("tooltalk.evaluation.tool_executor")
        self._executor = module.ToolExecutor(init_database_dir=str(package.data / "databases"))
        history = copy.deepcopy([call.official() for call in before])
        self._executor.init_conversation_state(task.place, history, task.user)

    def call(self, name: str, arguments: Mapping[str, Json] | None) -> Prediction:
        """Make a call; any failure is in its exception."""
        if arguments is None:
            return Prediction(name, None, None, "Failed to parse API call", False)
        known = name in self._executor.apis
        parameters = copy.deepcopy(dict(arguments))
        try:
            _, given = self._executor.execute_tool(name, parameters)
        except Exception as problem:  # noqa: BLE001 - the official tools show the model any exception
            given = {"response": None, "exception": str(problem)}
        return Prediction(name, parameters, copy.deepcopy(given["response"]), given["exception"], known)

    def equal(self, prediction: Prediction, gold: GoldCall) -> bool:
        """The official comparison; one that breaks on an odd argument is no match."""
        try:
            return bool(self._executor.compare_api_calls(prediction.official(), gold.official()))
        except Exception:  # noqa: BLE001 - the official comparisons take well-formed arguments for granted
            return False

    def is_action(self, name: str) -> bool:
        """Whether a tool changes the world."""
        return bool(self._executor.is_action(name))

    def state(self) -> Mapping[str, Any]:
        """All databases, as plain data."""
        databases: Mapping[str, Any] = self._executor.databases
        return databases
