"""The benchmarks that there are, by the name that `params.yaml` and the tables use. A new one is one line here.

A benchmark is imported when it is asked for. Its tasks are read at once, so that a missing package or data
directory shows before anything is played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from stages.evaluate import loaders, official
from stages.evaluate.benchmark import Benchmark, BenchmarkUnavailableError, TaskResult
from stages.evaluate.official import Official
from stages.params import BenchmarkParams, ParamsError
from stages.records import TruthCall

Gold: TypeAlias = Callable[[Any], Sequence[Sequence[TruthCall]]]
"""The reference calls of a task, turn by turn."""

Floor: TypeAlias = Callable[[Any, Any], TaskResult]
"""How doing nothing is played in a benchmark."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One benchmark.

    Args:
        make: its loader.
        takes: what `params.yaml` may say of it beyond sample and agents: `data`, `code`, `user`, `trials`.
        official: the figures of its own paper, where they are not the mean of its categories.
        gold: the reference calls of a task, where replaying them is all that the oracle does.
        floor: how doing nothing is played, where that is more than an empty answer.
    """

    make: Callable[[BenchmarkParams, int], Benchmark[Any]]
    takes: frozenset[str] = frozenset()
    official: Official | None = None
    gold: Gold | None = None
    floor: Floor | None = None

    def load(self, own: BenchmarkParams | None, seed: int) -> Benchmark[Any]:
        """The benchmark, its tasks read.

        Raises:
            BenchmarkUnavailableError: its package or data is missing; the message says how to get it.
            ParamsError: `params.yaml` says something of it that it does not take.
        """
        own = own or BenchmarkParams()
        for name in ("data", "code", "user", "trials"):
            if name in own.model_fields_set and name not in self.takes:
                raise ParamsError(f"evaluate.benchmarks: {self.make.__name__} takes no {name!r}: leave it out")
        benchmark = self.make(own, seed)
        if not benchmark.tasks():
            raise BenchmarkUnavailableError(f"{benchmark.name} ({benchmark.version}) has no tasks: install it anew")
        return benchmark


DATA = frozenset({"data"})

BENCHMARKS: dict[str, Entry] = {
    "bfcl": Entry(loaders.bfcl, gold=lambda task: task.gold),
    "tau2": Entry(
        loaders.tau2,
        frozenset({"data", "user", "trials"}),
        official.tau2,
        floor=lambda benchmark, task: benchmark.floor(task),  # a user model is neither asked nor paid for it
    ),
    "acebench_en": Entry(loaders.acebench_en, DATA, official.acebench),
    "acebench_en_training": Entry(loaders.acebench_en_training, DATA, official.acebench),
    "acebench_zh": Entry(loaders.acebench_zh, DATA, official.acebench),
    "acebench_zh_training": Entry(loaders.acebench_zh_training, DATA, official.acebench),
    "acebench_agent": Entry(loaders.acebench_agent, frozenset({"data", "code", "user"}), official.acebench),
    "teval": Entry(loaders.teval, DATA, official.teval),
    "tooltalk": Entry(loaders.tooltalk, DATA, official.tooltalk),
    "nestful": Entry(loaders.nestful, official=official.nestful, gold=lambda task: (task.gold,)),
}


def entry_of(name: str) -> Entry:
    """The entry of a benchmark.

    Raises:
        ParamsError: there is none of that name.
    """
    if name in BENCHMARKS:
        return BENCHMARKS[name]
    near = get_close_matches(name, BENCHMARKS, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(BENCHMARKS)}"
    raise ParamsError(f"evaluate.benchmarks: unknown benchmark {name!r}; {advice}")
