"""Held-out rows: turns of chains, of worlds and of servers that training never saw, each set on its own.

chains     the test split: other chains of the servers and the world that were trained on
worlds     chains that were trained on, in a world of another seed
servers    servers kept out of training altogether (`validate.held_out_servers`)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from servers.kernel.dice import Dice
from stages.artifacts import DATA, read_table
from stages.conversations import CONVERSATIONS, from_row
from stages.dataset import RL_ROWS, RlRow, rl_row
from stages.discover.edges import CHAINS, chain_from
from stages.evaluate.suites import RowSizes
from stages.params import EvaluateParams, SynthesizeParams, ValidateParams
from stages.stage import StageContext

SETS = {"chains": "episodes.parquet", "worlds": "episodes_worlds.parquet", "servers": "episodes_servers.parquet"}
"""The sets, with the table of `data/scores` that keeps their episodes."""


@dataclass(frozen=True, slots=True)
class RowSets:
    """The rows that are played, by set; sets without rows are left out. `too_long` prompts did not fit."""

    rows: Mapping[str, Sequence[RlRow]]
    too_long: int


def row_sets(
    ctx: StageContext[EvaluateParams], sizes: RowSizes, fitting: Callable[[Sequence[RlRow]], Sequence[RlRow]]
) -> RowSets:
    """Draw the rows of each set; `fitting` keeps those whose prompt a policy can read."""
    unseen = _rows_of(ctx, "test")
    apart = set(ctx.block(ValidateParams, "validate").held_out_servers)
    pools = {
        "chains": [row for row in unseen if row.server not in apart],
        "worlds": _in_another_world(ctx, sizes.worlds) if sizes.worlds else [],
        "servers": [row for row in unseen if row.server in apart],
    }
    kept = {name: fitting(pool) for name, pool in pools.items()}
    counts = {"chains": sizes.chains, "worlds": sizes.worlds, "servers": sizes.servers}
    drawn = {name: draw_rows(kept[name], counts[name], ctx.seed) for name in SETS}
    too_long = sum(len(pools[name]) - len(kept[name]) for name in SETS)
    return RowSets({name: rows for name, rows in drawn.items() if rows}, too_long)


def draw_rows(rows: Sequence[RlRow], count: int, seed: int) -> list[RlRow]:
    """Up to `count` rows, drawn by the seed, in the dataset's order."""
    drawn = {row.id for row in Dice(seed, "evaluate/rows").sample(rows, count)}
    return [row for row in rows if row.id in drawn]


def _rows_of(ctx: StageContext[EvaluateParams], split: str) -> list[RlRow]:
    path = DATA / "dataset" / f"{split}.parquet"
    return [rl_row(row) for row in read_table(path, RL_ROWS, ctx.catalog.fingerprint)]


def _in_another_world(ctx: StageContext[EvaluateParams], count: int) -> list[RlRow]:
    from stages.evaluate.worlds import unseen_worlds

    fingerprint = ctx.catalog.fingerprint
    seen = {row.conversation for row in _rows_of(ctx, "train")}
    table = read_table(DATA / "conversations" / "conversations.parquet", CONVERSATIONS, fingerprint)
    chains = [chain_from(row) for row in read_table(DATA / "graph" / "chains.parquet", CHAINS, fingerprint)]
    return unseen_worlds(
        ctx.catalog,
        [from_row(row) for row in table if row["id"] in seen],
        chains,
        ctx.block(SynthesizeParams, "synthesize"),
        ctx.block(ValidateParams, "validate").max_error_rate,
        ctx.seed,
        count,
    )
