"""Which conversations are written: kinds and perturbations by the published shares, chains by rarity of their tools."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from servers.kernel.dice import Dice
from stages.conversations import Information, Kind
from stages.discover.edges import Chain
from stages.params import SynthesizeParams
from stages.teacher.wording import PERSONAS


@dataclass(frozen=True, slots=True)
class Job:
    """One conversation to be written.

    `turns` is how many times the user speaks at most. `missing_function` hides a tool that the chain needs;
    `irrelevant` asks another server's question; `setback` asks for something that the live state refuses.
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
    setback: bool = False

    @property
    def id(self) -> str:
        """The conversation's name."""
        return f"conv-{self.index:06d}"


class ChainDraw:
    """Draws chains, each as likely as its tools are rare among the chains.

    A tool that stands in `n` chains gives 1/n to each of them, so every tool is the seed of as many
    conversations as any other, and a server gets conversations in proportion to its tools.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        used = Counter(name for chain in chains for name in chain.tools)
        self._chains = chains
        self._bounds = list(accumulate(sum(1 / used[name] for name in chain.tools) for chain in chains))

    def draw(self, dice: Dice) -> Chain:
        """One chain."""
        place = bisect_right(self._bounds, dice.unit() * self._bounds[-1])
        return self._chains[min(place, len(self._chains) - 1)]


def make_jobs(chains: Sequence[Chain], params: SynthesizeParams, seed: int) -> list[Job]:
    """Every conversation of a run; job `n` depends only on the seed and on `n`."""
    draw = ChainDraw(chains)
    return [_job(n, draw, params, seed) for n in range(params.conversations)]


def _job(index: int, draw: ChainDraw, params: SynthesizeParams, seed: int) -> Job:
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
        chain=draw.draw(dice),
        world=seed,
        persona=dice.choice(PERSONAS),
        information=information if not hides else "complete",
        turns=min(2, params.max_turns) if dice.chance(params.stop_after_two) else params.max_turns,
        missing_function=hides,
        irrelevant=irrelevant,
        setback=kind == "multi_turn" and params.max_turns > 1 and dice.chance(params.setback_rate),
    )


def _hidden_share(abstention: float, params: SynthesizeParams) -> tuple[float, float]:
    """How often an abstention row hides a tool, and the share of all rows in which a clarification does.

    Irrelevance (5 %) and missing functions (12 %) are shares of all conversations. Abstentions are first
    made of irrelevance; what is left of them, and then of clarifications, hides a function.
    """
    by_hiding = max(0.0, abstention - params.irrelevance_rate)
    return (by_hiding / abstention if abstention else 0.0), max(0.0, params.missing_function_rate - by_hiding)
