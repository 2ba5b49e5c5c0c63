"""How much is played: three sizes, and what `params.yaml` changes of them.

    smoke      what a laptop plays in minutes: is everything still in its place?
    standard   samples large enough to see large differences, on every benchmark
    full       all tasks: the size of published figures

A benchmark that a suite names and that is not installed is left out, and the report says why. One that
`params.yaml` names itself has to be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from stages.evaluate.registry import BENCHMARKS, entry_of
from stages.params import BenchmarkParams, EvaluateParams, ParamsError

Sample: TypeAlias = "int | Literal['all'] | Mapping[str, int]"
"""Tasks of each category, all of them, or a number for each category by name; 0 plays none."""


@dataclass(frozen=True, slots=True)
class RowSizes:
    """Held-out rows at most: of unseen chains, unseen worlds, unseen servers."""

    chains: int
    worlds: int
    servers: int


@dataclass(frozen=True, slots=True)
class Suite:
    """A size; `local` are the local policies that play benchmarks, other agents play all of them."""

    rows: RowSizes
    samples: Mapping[str, Sample]
    local: tuple[str, ...] = ("base", "sft", "policy")


EVERYTHING = 1_000_000

REPLAYING = frozenset({"oracle", "drop_last"})
"""Agents that play a benchmark only where its reference calls are known."""

SUITES: Mapping[str, Suite] = {
    "smoke": Suite(RowSizes(48, 0, 48), {"bfcl": 1}, local=("policy",)),
    "standard": Suite(RowSizes(200, 100, 200), dict.fromkeys(BENCHMARKS, 25)),
    "full": Suite(RowSizes(EVERYTHING, 1000, EVERYTHING), dict.fromkeys(BENCHMARKS, "all")),
}


@dataclass(frozen=True, slots=True)
class Assignment:
    """One benchmark of a run: its tasks, who answers, and what `params.yaml` says of it."""

    name: str
    sample: Sample
    agents: tuple[str, ...]
    own: BenchmarkParams | None

    @property
    def required(self) -> bool:
        """Whether it has to be there: `params.yaml` names it."""
        return self.own is not None


def row_sizes(params: EvaluateParams) -> RowSizes:
    """Held-out rows at most, after `params.yaml`."""
    sizes, own = SUITES[params.suite].rows, params.heldout
    return RowSizes(
        sizes.chains if own.chains is None else own.chains,
        sizes.worlds if own.worlds is None else own.worlds,
        sizes.servers if own.servers is None else own.servers,
    )


def assignments(params: EvaluateParams, local: tuple[str, ...]) -> list[Assignment]:
    """The run's benchmarks in the registry's order; `local` names the agents that are local policies.

    Raises:
        ParamsError: `params.yaml` names a benchmark that there is not, or lets an agent replay calls without any.
    """
    suite = SUITES[params.suite]
    for name in params.benchmarks:
        entry_of(name)
    names = [name for name in BENCHMARKS if name in suite.samples or name in params.benchmarks]
    usual = tuple(name for name in params.agents if name not in local or name in suite.local)
    made = []
    for name in names:
        own = params.benchmarks.get(name)
        sample: Sample | None = own.sample if own else None
        agents = usual if own is None or own.agents is None else tuple(own.agents)
        if BENCHMARKS[name].gold is None:
            if own is not None and (replaying := REPLAYING & set(own.agents or ())):
                raise ParamsError(
                    f"evaluate.benchmarks.{name}.agents: {min(replaying)} replays reference calls, and {name} has none "
                    "that suffice; its controls do so in every run"
                )
            agents = tuple(agent for agent in agents if agent not in REPLAYING)
        made.append(
            Assignment(
                name=name,
                sample=suite.samples.get(name, "all") if sample is None else sample,
                agents=agents,
                own=own,
            )
        )
    return made
