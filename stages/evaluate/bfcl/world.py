"""One task's world: fresh instances of the official classes, called by exact tool name.

Nothing here is shared. In particular the official classes put parts of their module's long-context
tables into their state, so that setting a card's balance in one task would show in the next; a world
takes copies. The arithmetic class sets the precision of the whole process; a call puts it back. It
also computes whatever it is asked to, however long that takes: sizes far beyond any gold call are
refused, which is the one place where a result here may differ from the official one.
"""

from __future__ import annotations

import copy
import decimal
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from stages.evaluate.bfcl.data import BfclPackage, BfclTask
from stages.records import Json

_FAILED = "Error during execution: "
_SIZES = ("precision", "exponent", "decimal_places")
_SIZE_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gave: the text that the model reads, whether it ran, and what went wrong."""

    text: str
    executed: bool
    error: str = ""


class World:
    """The state of one task, and its tools."""

    def __init__(self, package: BfclPackage, task: BfclTask) -> None:
        self.instances: dict[str, Any] = {}
        self._methods: dict[str, Callable[..., object]] = {}
        self._guarded = False
        for name in task.classes:
            instance = package.class_of(name)()
            if name in package.stateless:
                self._guarded = True
            else:
                scenario = copy.deepcopy(task.initial.get(name, {}))
                instance._load_scenario(scenario, long_context=task.long_context)
                _own(instance)
            self.instances[name] = instance
            self._methods.update({tool.name: getattr(instance, tool.name) for tool in package.tools_of(name)})

    def call(self, name: str, arguments: Mapping[str, Json]) -> Outcome:
        """Call a tool by its exact name; any failure is an outcome."""
        method = self._methods.get(name)
        if method is None:
            return Outcome(f"{_FAILED}name {name[:80]!r} is not defined", False, "unknown_tool")
        if self._guarded and (size := _oversized(arguments)):
            return Outcome(f"{_FAILED}{size} is beyond ±{_SIZE_LIMIT}", False, "refused")
        try:
            with _own_precision() if self._guarded else _nothing():
                result = method(**copy.deepcopy(dict(arguments)))
                text = _text(result)
        except Exception as problem:  # noqa: BLE001 - the official harness shows the model any exception
            return Outcome(f"{_FAILED}{problem}", True, type(problem).__name__)
        failed = isinstance(result, dict) and "error" in result
        return Outcome(text, True, "tool_error" if failed else "")

    def digest(self) -> str:
        """A hash of all public state, equal for equal worlds on any machine."""
        state = hashlib.sha256()
        for name in sorted(self.instances):
            for attribute, value in sorted(vars(self.instances[name]).items()):
                if not attribute.startswith("_"):
                    shown = sorted(value) if isinstance(value, set) else value
                    state.update(f"{name}.{attribute}={shown!r}\n".encode("utf-8", "backslashreplace"))
        return state.hexdigest()


def _own(instance: Any) -> None:
    """Replace containers that may be shared with the official module by copies."""
    for attribute, value in vars(instance).items():
        if isinstance(value, dict | list | set):
            setattr(instance, attribute, copy.deepcopy(value))


def _text(result: object) -> str:
    """The result as the official harness shows it."""
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError, RecursionError):
            return str(result)
    return str(result)


def _oversized(arguments: Mapping[str, Json]) -> str:
    for name in _SIZES:
        value = arguments.get(name, 0)
        if isinstance(value, int | float) and not -_SIZE_LIMIT <= value <= _SIZE_LIMIT:
            return name
    return ""


@contextmanager
def _own_precision() -> Iterator[None]:
    context = import_module("mpmath").mp
    before = context.prec
    with decimal.localcontext():
        try:
            yield
        finally:
            context.prec = before


@contextmanager
def _nothing() -> Iterator[None]:
    yield
