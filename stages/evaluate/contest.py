"""A whole run: every agent on every set of held-out rows and on its benchmarks, one set of weights at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from stages.artifacts import DATA
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode
from stages.evaluate.heldout import row_sets
from stages.evaluate.journal import weights_digest
from stages.evaluate.roster import Entrant
from stages.evaluate.row_play import RowPlayer
from stages.evaluate.runner import Prepared, play_hosted, play_local, play_scripted
from stages.evaluate.store import FLOOR, AgentRow
from stages.evaluate.suites import row_sizes
from stages.params import EvaluateParams
from stages.reward.rules import RewardRules
from stages.skills import scorer_for
from stages.skills.library import LIBRARY
from stages.stage import StageContext
from stages.tracking.digest import sha256
from stages.train.params import TrainParams

if TYPE_CHECKING:
    from stages.train.policy import Policy


@dataclass(slots=True)
class Results:
    """What came of a run: episodes by set and agent, rows by benchmark, what they took, and prompts too long."""

    sets: dict[str, dict[str, list[ScoredEpisode]]] = field(default_factory=dict)
    tables: dict[str, list[AgentRow]] = field(default_factory=dict)
    costs: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    rows_too_long: int = 0


class Contest:
    """The run of one stage.

    Args:
        ctx: the stage.
        ready: the benchmarks that are there.
        entrants: the agents; those that `evaluate.agents` names also play held-out rows.
    """

    def __init__(
        self, ctx: StageContext[EvaluateParams], ready: Sequence[Prepared], entrants: Sequence[Entrant]
    ) -> None:
        self._ctx, self._ready, self._entrants = ctx, ready, entrants
        self._train = ctx.block(TrainParams, "train")
        self._sampling = self._train.grpo.sampling.model_copy(
            update={"temperature": 0.0, "batch_size": ctx.params.batch}
        )
        self.results = Results()

    def run(self) -> Results:
        """Play everything; doing nothing comes first."""
        for name, player in self._players:
            self.results.sets[name] = {FLOOR: player.scripted(FLOOR)}
        for prepared in self._ready:
            floor = play_scripted(prepared, FLOOR, self._ctx.params)
            self.results.tables[prepared.name] = list(floor.rows)
        for entrant in self._entrants:
            policy = self._load(entrant) if entrant.weights else None
            if entrant.name in self._ctx.params.agents and entrant.name != FLOOR:
                self._rows(entrant, policy)
            for prepared in self._ready:
                if entrant.name in prepared.assignment.agents and prepared.tasks and entrant.name != FLOOR:
                    self._benchmark(prepared, entrant, policy)
        return self.results

    @cached_property
    def _players(self) -> Sequence[tuple[str, RowPlayer]]:
        """The sets of rows, drawn once: by what the first local policy can read, if there is one."""
        scorer = scorer_for(self._ctx)
        sets = row_sets(self._ctx, row_sizes(self._ctx.params), self._fitting)
        self.results.rows_too_long = sets.too_long
        return [
            (
                name,
                RowPlayer(name, self._ctx.catalog, rows, scorer, self._sampling, self._ctx.params, self._ctx.seed),
            )
            for name, rows in sets.rows.items()
        ]

    def _fitting(self, rows: Sequence[RlRow]) -> Sequence[RlRow]:
        from stages.train.rows import fitting_rl

        local = next((entrant for entrant in self._entrants if entrant.weights), None)
        return rows if local is None else fitting_rl(self._load(local).chat, rows, self._train.max_prompt)

    def _load(self, entrant: Entrant) -> Policy:
        from stages.train.policy import load_policy

        return load_policy(self._train.policy.model_copy(update={"base": str(entrant.weights)}))

    def _made_of(self, weights: Path) -> str:
        """All that a local policy's replies depend on: its weights, and how they are loaded and spoken to."""
        return f"{weights_digest(weights)} {self._train.policy.model_dump_json()} {self._library}"

    @cached_property
    def _library(self) -> str:
        """Digest of the skill library, where rewards depend on it."""
        judged = self._ctx.block(RewardRules, "reward").needs_judge
        return sha256(DATA / LIBRARY) if judged else ""

    def _rows(self, entrant: Entrant, policy: Policy | None) -> None:
        for name, player in self._players:
            with self._ctx.progress(f"Unseen {name}, {entrant.name}", total=len(player.rows)) as bar:
                if entrant.weights is not None:
                    episodes = player.local(entrant.name, policy, self._made_of(entrant.weights), bar)
                elif entrant.hosted is not None:
                    episodes = player.hosted(entrant.name, entrant.hosted, bar)
                else:
                    episodes = player.scripted(entrant.name)
                    bar.advance(len(episodes))
            self.results.sets[name][entrant.name] = episodes
            self.results.costs.setdefault(f"unseen {name}", {})[entrant.name] = _costs(
                player.took.get(entrant.name, {})
            )

    def _benchmark(self, prepared: Prepared, entrant: Entrant, policy: Policy | None) -> None:
        params, seed = self._ctx.params, self._ctx.seed
        with self._ctx.progress(f"{prepared.name}, {entrant.name}", total=len(prepared.tasks)) as bar:
            if entrant.weights is not None:
                sampling = self._sampling.model_copy(update={"max_context": params.max_context})
                made_of = self._made_of(entrant.weights)
                played = play_local(prepared, entrant.name, policy, made_of, params, sampling, seed, bar)
            elif entrant.hosted is not None:
                played = play_hosted(prepared, entrant.name, entrant.hosted, params, seed, bar)
            else:
                played = play_scripted(prepared, entrant.name, params)
                bar.advance(len(played.rows))
        self.results.tables[prepared.name] += played.rows
        self.results.costs.setdefault(prepared.name, {})[entrant.name] = _costs(played.took)


def _costs(took: Mapping[str, float]) -> dict[str, float]:
    """Seconds, tokens that the agent wrote, and for a hosted one those that it read and the price in US dollars."""
    return {
        "seconds": round(took.get("seconds", 0.0), 1),
        "prompt_tokens": round(took.get("prompt_tokens", 0)),
        "completion_tokens": round(took.get("completion_tokens", 0)),
        "cost": round(took.get("cost", 0.0), 6),
    }
