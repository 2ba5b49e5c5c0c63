"""The dataset as it is written: RL rows by split, SFT rows, origins of literals, and what was refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from servers.kernel.catalog import Catalog
from stages.artifacts import Stamp, write_table
from stages.dataset import REJECTED, RL_ROWS, SFT_ROWS, RlRow, SftRow, Split, row_to_plain
from stages.params import ValidateParams
from stages.validate.leakage import leaked_chains
from stages.validate.origins import PROVENANCE, provenance_rows
from stages.validate.rows import rl_rows, sft_rows, split_of
from stages.validate.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class Tables:
    """Every row of the dataset.

    `leaked` names the conversations outside training whose chain training has seen: the contract wants none.
    """

    splits: Mapping[str, Split]
    rows: Mapping[Split, Sequence[RlRow]]
    imitated: Sequence[SftRow]
    origins: Sequence[Mapping[str, Any]]
    refused: Sequence[Mapping[str, Any]]
    leaked: frozenset[str]

    def write(self, target: Path, stamp: Stamp) -> None:
        """Write each table as Parquet into a directory."""
        for name, part in self.rows.items():
            write_table(target / f"{name}.parquet", RL_ROWS, [row_to_plain(row) for row in part], stamp)
        write_table(target / "sft.parquet", SFT_ROWS, [row_to_plain(row) for row in self.imitated], stamp)
        write_table(target / "provenance.parquet", PROVENANCE, self.origins, stamp)
        write_table(target / "rejected.parquet", REJECTED, self.refused, stamp)


def make_tables(catalog: Catalog, verdicts: Verdicts, params: ValidateParams, seed: int) -> Tables:
    """Divide the accepted conversations by chain and make their rows."""
    kept = verdicts.conversations
    splits = {c.id: split_of(c, params, seed) for c in kept}
    rows: dict[Split, list[RlRow]] = {"train": [], "val": [], "test": []}
    for conversation in kept:
        rows[splits[conversation.id]] += rl_rows(catalog, conversation)
    return Tables(
        splits,
        rows,
        list(sft_rows(c for c in kept if splits[c.id] == "train")),
        [row for item in verdicts.accepted for row in provenance_rows(item.conversation.id, item.origins)],
        list(_refused(verdicts)),
        frozenset(leaked_chains(kept, splits)),
    )


def _refused(verdicts: Verdicts) -> Iterator[dict[str, Any]]:
    for c, r in chain(verdicts.rejected, verdicts.over_quota):
        yield {"id": c.id, "kind": c.kind, "server": c.server, "reason": r.reason.value, "detail": r.detail}
