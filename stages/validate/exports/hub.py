"""A directory as `datasets.load_dataset` and the Hugging Face hub read it: one Parquet file a split, and a card.

Configurations: `rl` (train, validation, test), `sft`, `provenance` and `rejected`. Splits without rows are left out,
as the library can't load them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from stages.artifacts import Stamp, dump, write_table
from stages.dataset import REJECTED, RlRow, SftRow, Split
from stages.validate.exports.chat import MESSAGES, chat_messages, chat_tools
from stages.validate.exports.verl import ground_truth
from stages.validate.origins import PROVENANCE

RL = pa.schema(
    [
        ("id", pa.string()),
        ("conversation", pa.string()),
        ("turn", pa.int64()),
        ("kind", pa.string()),
        ("server", pa.string()),
        ("world", pa.int64()),
        ("messages", MESSAGES),
        ("tools", pa.string()),
        ("replay", pa.string()),
        ("ground_truth", pa.string()),
    ]
)
SFT = pa.schema(
    [
        ("id", pa.string()),
        ("kind", pa.string()),
        ("server", pa.string()),
        ("messages", MESSAGES),
        ("tools", pa.string()),
        ("learn", pa.list_(pa.bool_())),
    ]
)

SPLITS = {"train": "train", "val": "validation", "test": "test"}
"""Our names of the splits, and the hub's."""

Files = dict[str, dict[str, str]]
"""Path of each split, by configuration."""


def write_hub(
    target: Path,
    rl: Mapping[Split, Sequence[RlRow]],
    sft: Sequence[SftRow],
    others: Mapping[str, Sequence[Mapping[str, Any]]],
    stamp: Stamp,
) -> Files:
    """Write the tables below `target` and say which there are."""
    files: Files = {}

    def add(config: str, split: str, schema: pa.Schema, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            path = f"{config}/{split}.parquet"
            write_table(target / path, schema, rows, stamp)
            files.setdefault(config, {})[split] = path

    for name, rows in rl.items():
        add("rl", SPLITS[name], RL, [_rl(row) for row in rows])
    add("sft", "train", SFT, [_sft(row) for row in sft])
    add("provenance", "train", PROVENANCE, others["provenance"])
    add("rejected", "train", REJECTED, others["rejected"])
    return files


def _rl(row: RlRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "conversation": row.conversation,
        "turn": row.turn,
        "kind": row.kind,
        "server": row.server,
        "world": row.world,
        "messages": chat_messages(row.messages),
        "tools": chat_tools(row.tools),
        "replay": dump([asdict(step) for step in row.replay]),
        "ground_truth": ground_truth(row),
    }


def _sft(row: SftRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "kind": row.kind,
        "server": row.server,
        "messages": chat_messages(row.messages),
        "tools": chat_tools(row.tools),
        "learn": list(row.learn),
    }
