"""RL rows for verl: the columns that its `RLHFDataset` reads, and what an agent loop needs to open the session.

A session belongs to a whole episode, so it is opened by an agent loop: `extra_info.tools_kwargs.session` has the seed
number of its world and the calls to replay. verl's own tools are created for each call and would lose the state;
hence `need_tools_kwargs` is false. The rule's ground truth is JSON text: the calls with their dependencies, the state
after them, and the results that the user wanted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from stages.artifacts import dump
from stages.dataset import RlRow, Split
from stages.validate.exports.chat import MESSAGES, chat_messages, chat_tools

DATA_SOURCE = "prove_pipeline"

VERL = pa.schema(
    [
        ("data_source", pa.string()),
        ("prompt", MESSAGES),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        (
            "extra_info",
            pa.struct(
                [
                    ("split", pa.string()),
                    ("index", pa.int64()),
                    ("id", pa.string()),
                    ("kind", pa.string()),
                    ("server", pa.string()),
                    ("tools", pa.string()),
                    ("need_tools_kwargs", pa.bool_()),
                    (
                        "tools_kwargs",
                        pa.struct([("session", pa.struct([("world", pa.int64()), ("replay", pa.string())]))]),
                    ),
                ]
            ),
        ),
    ]
)


def verl_rows(rows: Iterable[RlRow], split: Split) -> list[dict[str, Any]]:
    """One row for each RL row, `index` counted from 0 within the split."""
    return [
        {
            "data_source": DATA_SOURCE,
            "prompt": chat_messages(row.messages),
            "ability": "tool_use",
            "reward_model": {"style": "rule", "ground_truth": ground_truth(row)},
            "extra_info": {
                "split": split,
                "index": index,
                "id": row.id,
                "kind": row.kind,
                "server": row.server,
                "tools": chat_tools(row.tools),
                "need_tools_kwargs": False,
                "tools_kwargs": {
                    "session": {"world": row.world, "replay": dump([asdict(step) for step in row.replay])}
                },
            },
        }
        for index, row in enumerate(rows)
    ]


def ground_truth(row: RlRow) -> str:
    """What the rule compares with, as JSON text."""
    calls = [asdict(call) for call in row.truth]
    return dump({"calls": calls, "state_hash": row.state_hash, "required": list(row.required)})
