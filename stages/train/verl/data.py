"""Dataset rows as verl's Parquet columns.

verl wants a prompt, a data source, a reward model and extra information; our agent loop wants the row itself, so it
travels as JSON text in `extra_info`. The prompt column is for people and for verl's logs: token ids are made by the
chat format, with the row's own tools.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stages.artifacts import dump
from stages.dataset import RlRow, Split, rl_row, row_to_plain
from stages.train.verl.overrides import AGENT

_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
COLUMNS = pa.schema(
    [
        ("prompt", pa.list_(_MESSAGE)),
        ("data_source", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        (
            "extra_info",
            pa.struct([("split", pa.string()), ("index", pa.int64()), ("id", pa.string()), ("row", pa.string())]),
        ),
        ("agent_name", pa.string()),
    ]
)


def verl_row(row: RlRow, split: Split, index: int) -> Mapping[str, Any]:
    """One row in verl's columns; `index` is its place in the split."""
    plain = row_to_plain(row)
    return {
        "prompt": [{"role": message.role, "content": message.content} for message in row.messages],
        "data_source": row.kind,
        "reward_model": {"style": "rule", "ground_truth": plain["truth"]},
        "extra_info": {"split": split, "index": index, "id": row.id, "row": dump(plain)},
        "agent_name": AGENT,
    }


def write_rows(path: Path, rows: Sequence[RlRow], split: Split) -> None:
    """Write rows for verl, whole or not at all, the same bytes for the same rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([dict(verl_row(row, split, index)) for index, row in enumerate(rows)], COLUMNS)
    scratch = path.with_name(f".{path.name}.writing")
    pq.write_table(table, scratch, compression="zstd", write_page_index=False)
    scratch.replace(path)


def read_rows(path: Path) -> list[RlRow]:
    """The rows that `write_rows` wrote."""
    column = pq.read_table(path, columns=["extra_info"])["extra_info"]
    return [rl_row(json.loads(info["row"])) for info in column.to_pylist()]
