"""The families of figures, and how each is measured: in a process of its own, so that none weighs on another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from multiprocessing import get_context

from rich.console import Console

from tests.bench.speed.figures import Figure
from tests.bench.speed.timing import Scale


@dataclass(frozen=True, slots=True)
class Family:
    """Some figures: their heading, the module beside this one that measures them, and whether it needs material."""

    title: str
    module: str
    material: bool = True


FAMILIES: Mapping[str, Family] = {
    "sessions": Family("Sessions", "sessions", material=False),
    "calls": Family("Calls in process", "calls"),
    "mcp": Family("The MCP face", "mcp_face", material=False),
    "memory": Family("Memory", "memory"),
    "replay": Family("Replay", "replay"),
    "reward": Family("Reward", "reward"),
    "synthesis": Family("Synthesis", "synthesis"),
    "parallel": Family("Two processes", "parallel"),
    "dvc": Family("DVC", "dvc_noop", material=False),
}


def measured(chosen: Sequence[str], scale: Scale, console: Console) -> tuple[list[Figure], list[str]]:
    """The figures of some families, and the names of those that failed."""
    figures: list[Figure] = []
    failed = []
    if any(FAMILIES[name].material for name in chosen):
        console.print("bench: conversations to work on")
        _in_a_process(_prepare)
    for name in chosen:
        console.print(f"bench: {name}")
        try:
            figures += _in_a_process(_measure, FAMILIES[name].module, scale)
        except Exception as error:  # noqa: BLE001  # the other families are measured all the same
            cause = _cause(error)
            console.print(f"bench: {name} failed: {type(cause).__name__}: {cause}", soft_wrap=True, highlight=False)
            failed.append(name)
    return figures, failed


def _cause(error: BaseException) -> BaseException:
    """The first error inside groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _in_a_process(function: Callable[..., list[Figure]], *arguments: object) -> list[Figure]:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _prepare() -> list[Figure]:
    import_module("tests.bench.speed.material").conversations()
    return []


def _measure(module: str, scale: Scale) -> list[Figure]:
    found: list[Figure] = import_module(f"tests.bench.speed.{module}").measure(scale)
    return found
