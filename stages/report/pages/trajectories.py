"""`trajectories.html`: every scored episode, of training, of validation and of held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.dataset import RL_ROWS, RlRow, rl_row
from stages.episodes import EPISODES
from stages.report.inputs import Inputs
from stages.report.viewer.episodes import FACETS, MEASURES, EpisodeSource, step_of, with_steps
from stages.report.viewer.origins import ToolFacts, tool_facts
from stages.report.viewer.shards import ShardWriter
from stages.reward.rules import RewardRules

TABLES = {
    "scores/episodes.parquet": "unseen chains",
    "scores/episodes_worlds.parquet": "unseen worlds",
    "scores/episodes_servers.parquet": "unseen servers",
    "rollouts/validation.parquet": "validation",
    "rollouts/train.parquet": "training",
}


@dataclass(frozen=True, slots=True)
class Spread:
    """Picks a number of records evenly out of so many."""

    wanted: int
    total: int

    def picks(self, index: int) -> bool:
        """Whether the record of this index is picked."""
        return (index + 1) * self.wanted // self.total > index * self.wanted // self.total


def write_trajectories(inputs: Inputs, target: Path) -> dict[str, Any]:
    """Write the data of the page into a directory; returns its header.

    Raises:
        ArtifactError: a table is damaged or lacks a column.
    """
    spreads = _spreads(inputs)
    limit = not_run_again(inputs, sum(spread.total for spread in spreads.values()))
    rules = RewardRules.model_validate(inputs.document.get("reward", {}))
    source = EpisodeSource(inputs.catalog, catalogue(inputs), _rows(inputs, spreads), rules)
    writer = ShardWriter(target, FACETS, MEASURES)
    for name, spread in spreads.items():
        for index, (plain, step) in enumerate(_steps(inputs, name)):
            writer.add(source.entry(plain, TABLES[name], step, with_diff=spread.picks(index), limit=limit))
    return writer.close()


def _spreads(inputs: Inputs) -> dict[str, Spread]:
    """The tables at hand, each with the episodes that are run again: held-out ones first, training ones last."""
    found, left = {}, inputs.params.state_diffs
    for name in TABLES:
        if (inputs.data / name).exists():
            total = inputs.count(name)
            found[name] = Spread(min(left, total), total)
            left -= found[name].wanted
    return found


def not_run_again(inputs: Inputs, total: int) -> str:
    """Why a record has no state diffs."""
    return f"only {inputs.params.state_diffs:,} of {total:,} are run again for their diffs (report.state_diffs)"


def catalogue(inputs: Inputs) -> Mapping[str, ToolFacts]:
    """What the origin of a value depends on, for every tool of the catalogue."""
    columns = ("name", "input_schema", "read_only")
    return {row["name"]: tool_facts(row) for row in inputs.stream("catalog/tools.parquet", columns)}


def _steps(inputs: Inputs, name: str) -> Iterator[tuple[Mapping[str, Any], int | None]]:
    rows = inputs.stream(name, EPISODES.names)
    if TABLES[name] == "training":
        yield from with_steps(rows)
    else:
        yield from ((row, step_of(row["policy"])) for row in rows)


def _rows(inputs: Inputs, spreads: Mapping[str, Spread]) -> Mapping[str, RlRow]:
    """The dataset's rows of the episodes that are picked."""
    picked = {
        row["row"]
        for name, spread in spreads.items()
        for index, row in enumerate(inputs.stream(name, ["row"]))
        if spread.picks(index)
    }
    return {
        plain["id"]: rl_row(plain)
        for split in ("train", "val", "test")
        for plain in inputs.stream(f"dataset/{split}.parquet", RL_ROWS.names)
        if plain["id"] in picked
    }
