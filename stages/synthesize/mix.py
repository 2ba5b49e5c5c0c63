"""Which conversations are written: kinds and perturbations by the published shares, chains in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servers.kernel.dice import Dice
from stages.conversations import Information, Kind
from stages.discover.edges import Chain
from stages.params import SynthesizeParams
from stages.teacher.wording import PERSONAS


@dataclass(frozen=True, slots=True)
class Job:
    """One conversation to be written.

    `missing_function` hides a tool that the chain needs; `irrelevant` asks another server's question.
    """

    index: int
    kind: Kind
    chain: Chain
    world: int
    persona: str
    information: Information
    turns: int
    missing_function: bool
    irrelevant: bool

    @property
    def id(self) -> str:
        """The conversation's name."""
        return f"conv-{self.index:06d}"


def make_jobs(chains: Sequence[Chain], params: SynthesizeParams, seed: int) -> list[Job]:
    """Every conversation of a run; job `n` depends only on the seed and on `n`."""
    order = Dice(seed, "jobs/chains").shuffled(chains)
    return [_job(n, order[n % len(order)], params, seed) for n in range(params.conversations)]


def _job(index: int, chain: Chain, params: SynthesizeParams, seed: int) -> Job:
    dice = Dice(seed, f"job/{index}")
    mix, level = params.mix, params.information
    multi = 1 - mix.clarification - mix.abstention
    kind: Kind = dice.weighted(
        ("multi_turn", "clarification", "abstention"), (multi, mix.clarification, mix.abstention)
    )
    information: Information = dice.weighted(
        ("complete", "missing", "minimal"), (level.complete, level.missing, level.minimal)
    )
    hides, irrelevant = False, False
    if kind == "abstention":
        irrelevant = not dice.chance(_hidden_share(mix.abstention, params)[0])
        hides = not irrelevant
    elif kind == "clarification":
        hides = dice.chance(min(1.0, _hidden_share(mix.abstention, params)[1] / mix.clarification))
    return Job(
        index=index,
        kind=kind,
        chain=chain,
        world=seed,
        persona=dice.choice(PERSONAS),
        information=information if not hides else "complete",
        turns=2 if dice.chance(params.stop_after_two) else params.max_turns,
        missing_function=hides,
        irrelevant=irrelevant,
    )


def _hidden_share(abstention: float, params: SynthesizeParams) -> tuple[float, float]:
    """How often an abstention row hides a tool, and the share of all rows in which a clarification does.

    Irrelevance (5 %) and missing functions (12 %) are shares of all conversations. Abstentions are first
    made of irrelevance; what is left of them, and then of clarifications, hides a function.
    """
    by_hiding = max(0.0, abstention - params.irrelevance_rate)
    return (by_hiding / abstention if abstention else 0.0), max(0.0, params.missing_function_rate - by_hiding)
