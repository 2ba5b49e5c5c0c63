"""The simulated worlds of ACEBench's agent tasks, run by the classes of a clone that the user names.

What the classes hold at the start, and what their methods do, is not in the data, so agent tasks need
the upstream code: a directory given on purpose, whose scenario modules are imported and run. A world is
one task's own instances. A call is a look-up of a documented name and a keyword call; what a model writes
is never evaluated. As published, a method that several classes share runs on each of them.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.evaluate.acebench.data import AgentTask, Language
from stages.evaluate.benchmark import BenchmarkUnavailableError
from stages.records import Json

_MODULES = {
    "BaseApi": "phone_platform.base_api",
    "MessageApi": "phone_platform.message",
    "ReminderApi": "phone_platform.reminder",
    "FoodPlatform": "phone_platform.food_services",
    "Travel": "travel",
}
_COMPARED = {
    "BaseApi": ("wifi", "logged_in"),
    "MessageApi": ("inbox",),
    "ReminderApi": ("reminder_list",),
    "FoodPlatform": ("users", "logged_in_users", "orders"),
    "Travel": ("users", "reservations"),
}
_PACKAGE = "model_inference"
_CURE = "clone https://github.com/ACEBench/ACEBench and name the clone as the code directory"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call gave: the text that the model reads, whether it ran, and what went wrong."""

    text: str
    executed: bool
    error: str = ""


class ScenarioCode:
    """The scenario classes of an upstream clone; reading a class runs its module.

    Args:
        directory: the clone.
        language: whose scenarios.

    Raises:
        BenchmarkUnavailableError: the directory has no such scenarios.
    """

    def __init__(self, directory: Path, language: Language) -> None:
        self._directory = directory.resolve()
        self._language = language
        self._classes: dict[tuple[str, str], type[Any]] = {}
        folder = self._directory / _PACKAGE / "multi_step" / f"scenarios{language}"
        if not folder.is_dir():
            raise BenchmarkUnavailableError(f"ACEBench's scenarios {folder} are not there: {_CURE}")

    def class_of(self, category: str, name: str) -> type[Any]:
        """The scenario class of a category, imported on first use.

        Raises:
            BenchmarkUnavailableError: the clone has no such class.
        """
        key = (category, name)
        if key not in self._classes:
            part = category.removeprefix("agent_")
            module = f"{_PACKAGE}.{part}.scenarios{self._language}.{_MODULES.get(name, name)}"
            try:
                with _only(self._directory):
                    self._classes[key] = getattr(importlib.import_module(module), name)
            except (ImportError, AttributeError) as missing:
                raise BenchmarkUnavailableError(
                    f"ACEBench's class {name} is not in {module}: {missing}; {_CURE}"
                ) from missing
        return self._classes[key]


class World:
    """The state of one task, and its documented methods."""

    def __init__(self, code: ScenarioCode, task: AgentTask) -> None:
        self._instances: dict[str, Any] = {}
        for name in task.classes:
            instance = code.class_of(task.category, name)()
            for part in (name, "BaseApi"):
                instance._load_scenario(copy.deepcopy(task.initial.get(part, {})))
            self._instances[name] = instance
        documented = [str(api["name"]) for api in task.apis]
        self._methods: dict[str, list[Callable[..., object]]] = {
            name: [
                getattr(instance, name)
                for instance in self._instances.values()
                if not name.startswith("_") and inspect.ismethod(getattr(instance, name, None))
            ]
            for name in documented
        }

    def call(self, name: str, arguments: Mapping[str, Json]) -> Outcome:
        """Call a method by its exact name; any failure is an outcome."""
        methods = self._methods.get(name)
        if not methods:
            return Outcome(f"There is no API {name[:80]!r}.", False, "unknown_tool")
        result: object = None
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                for method in methods:
                    result = method(**copy.deepcopy(dict(arguments)))
            return Outcome(_text(result), True)
        except Exception as problem:  # noqa: BLE001 - the published harness shows the model any exception
            return Outcome(f"Error during execution: {problem}", True, type(problem).__name__)

    def state(self) -> dict[str, dict[str, Any]]:
        """The compared attributes of each class, as JSON values."""
        return {
            name: {
                attribute: json.loads(json.dumps(getattr(instance, attribute), default=str))
                for attribute in _COMPARED.get(name, ())
            }
            for name, instance in self._instances.items()
        }


def _text(result: object) -> str:
    if isinstance(result, str):
        return result
    return json.dumps(result, ensure_ascii=False, default=str)


@contextlib.contextmanager
def _only(directory: Path) -> Iterator[None]:
    """Import from one clone, and leave nothing of it behind for the next one."""
    sys.path.insert(0, str(directory))
    _forget()
    try:
        yield
    finally:
        sys.path.remove(str(directory))
        _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name == _PACKAGE or name.startswith(f"{_PACKAGE}.")]:
        del sys.modules[name]
    importlib.invalidate_caches()
