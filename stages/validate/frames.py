"""The contracts' subjects as flat frames: one row for each record, with faults counted in columns of their own."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from stages.conversations import Conversation
from stages.dataset import RlRow, SftRow, Split

Row = Mapping[str, Any]


def server_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """One row for each server of the catalogue."""
    return _frame(
        [
            {
                "server": row["server"],
                "tools": row["tools"],
                "rows": row["rows"],
                "healthy": row["healthy"],
                "seed_hash": row["seed_hash"],
                "fingerprint": row["fingerprint"],
            }
            for row in rows
        ],
        {"server": pl.String, "tools": pl.Int64, "rows": pl.Int64, "healthy": pl.Boolean},
    )


def tool_frame(rows: Sequence[Row], servers: Collection[str]) -> pl.DataFrame:
    """One row for each tool of the catalogue."""
    made = []
    for row in rows:
        schema = json.loads(row["input_schema"])
        unknown = set(schema.get("required", ())) - schema.get("properties", {}).keys()
        made.append(
            {
                "name": row["name"],
                "known_server": row["server"] in servers,
                "description": row["description"],
                "input_type": schema.get("type"),
                "output_type": json.loads(row["output_schema"]).get("type"),
                "unknown_required": len(unknown),
                "reads_and_destroys": row["read_only"] and row["destructive"],
            }
        )
    return _frame(made, {"name": pl.String, "description": pl.String})


def edge_frame(rows: Sequence[Row], tools: Mapping[str, str]) -> pl.DataFrame:
    """One row for each edge of the graph; `tools` has the server of each tool."""
    return _frame(
        [
            {
                "edge": f"{row['first']} > {row['second']}: {row['label']}",
                "label": row["label"],
                "verdict": row["verdict"],
                "to_itself": row["first"] == row["second"],
                "across_servers": {tools.get(row["first"]), tools.get(row["second"])} != {row["server"]},
            }
            for row in rows
        ],
        {"edge": pl.String, "label": pl.String},
    )


def chain_frame(rows: Sequence[Row], tools: Mapping[str, str]) -> pl.DataFrame:
    """One row for each chain; `tools` has the server of each tool."""
    return _frame(
        [
            {
                "id": row["id"],
                "path": ">".join(row["tools"]),
                "tools": len(row["tools"]),
                "repeated_tools": len(row["tools"]) - len(set(row["tools"])),
                "foreign_tools": sum(tools.get(name) != row["server"] for name in row["tools"]),
                "missing_labels": len(row["tools"]) - 1 - len(row["labels"]),
                "explicit_edges": list(row["labels"]).count("explicit"),
            }
            for row in rows
        ],
        {"id": pl.String, "path": pl.String},
    )


def conversation_frame(conversations: Iterable[Conversation]) -> pl.DataFrame:
    """One row for each accepted conversation."""
    made = []
    for c in conversations:
        visible = {tool.name for tool in c.tools}
        called = [call.id for message in c.messages for call in message.tool_calls]
        answered = [message.tool_call_id for message in c.messages if message.role == "tool"]
        made.append(
            {
                "id": c.id,
                "kind": c.kind,
                "server": c.server,
                "turns": len(c.turns),
                "tools": len(c.tools),
                "duplicate_tools": len(c.tools) - len(visible),
                "hidden_truth_calls": sum(call.name not in visible for turn in c.turns for call in turn.truth),
                "unanswered_calls": len(called) - len(answered) if called[: len(answered)] == answered else -1,
                "cut_results": sum(message.role == "tool" and not _is_json(message.content) for message in c.messages),
                "empty_rounds": sum(
                    m.role == "assistant" and not m.tool_calls and not m.content.strip() for m in c.messages
                ),
                "last_role": c.messages[-1].role,
                "last_message_calls": len(c.messages[-1].tool_calls),
                "last_event": c.transitions[-1].event,
                "cost": c.cost,
            }
        )
    return _frame(made, {"id": pl.String, "kind": pl.String})


def rl_frame(rows: Mapping[Split, Sequence[RlRow]], leaked: Collection[str]) -> pl.DataFrame:
    """One row for each RL row of any split; `leaked` names the conversations whose chain training has seen."""
    return _frame(
        [
            {
                "id": row.id,
                "split": split,
                "last_role": row.messages[-1].role,
                "missing_user_turns": row.turn + 1 - sum(not step.name for step in row.replay),
                "bad_edges": sum(d >= i for i, call in enumerate(row.truth) for d in call.depends_on),
                "hidden_truth_calls": sum(call.name not in {tool.name for tool in row.tools} for call in row.truth),
                "leaked_chain": row.conversation in leaked,
                "state_hash": row.state_hash,
            }
            for split, part in rows.items()
            for row in part
        ],
        {"id": pl.String, "split": pl.String},
    )


def sft_frame(rows: Sequence[SftRow], trained: Collection[str]) -> pl.DataFrame:
    """One row for each SFT row; `trained` names the conversations of the training split."""
    return _frame(
        [
            {
                "id": row.id,
                "in_training": row.id in trained,
                "unmarked_messages": len(row.messages) - len(row.learn),
                "learnt": sum(row.learn),
                "learnt_of_others": sum(
                    learnt and message.role != "assistant"
                    for message, learnt in zip(row.messages, row.learn, strict=False)
                ),
            }
            for row in rows
        ],
        {"id": pl.String, "learnt": pl.Int64},
    )


def rejected_frame(rows: Sequence[Row], accepted: Collection[str]) -> pl.DataFrame:
    """One row for each conversation that is not in the dataset."""
    return _frame(
        [
            {
                "id": row["id"],
                "reason": row["reason"],
                "detail_length": len(row["detail"]),
                "accepted": row["id"] in accepted,
            }
            for row in rows
        ],
        {"id": pl.String, "reason": pl.String, "detail_length": pl.Int64, "accepted": pl.Boolean},
    )


def provenance_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """One row for each literal."""
    return _frame(
        [
            {
                "source": row["source"],
                "lacks_message": row["source"] in ("user", "result") and row["message"] < 0,
                "has_message": row["source"] in ("default", "choice") and row["message"] >= 0,
            }
            for row in rows
        ],
        {"source": pl.String, "lacks_message": pl.Boolean, "has_message": pl.Boolean},
    )


def _frame(rows: Sequence[Row], columns: Mapping[str, Any]) -> pl.DataFrame:
    """A frame that has its columns even without rows."""
    return pl.DataFrame(list(rows), infer_schema_length=None) if rows else pl.DataFrame(schema=dict(columns))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
