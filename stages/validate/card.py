"""The dataset card: what the dataset holds, how it was made, and what it can't do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def dataset_card(metrics: Mapping[str, Any], fingerprint: str, teacher: str, seed: int) -> str:
    """The card as Markdown with a YAML head that dataset hubs read."""
    rejected = "\n".join(f"| {reason} | {count} |" for reason, count in metrics["reasons"].items()) or "| – | 0 |"
    kinds = "\n".join(f"| {kind} | {count} |" for kind, count in metrics["kinds"].items())
    rows = metrics["rows"]
    return f"""---
license: apache-2.0
task_categories: [text-generation]
tags: [tool-use, function-calling, synthetic]
---
# Conversations on verified tool servers

{metrics["accepted"]} conversations ({metrics["rejected"]} rejected) over {metrics["servers"]} servers, written by
`{teacher}` from seed {seed} and replayed on fresh sessions. Servers: fingerprint `{fingerprint}`.

| kind | conversations |
|---|---|
{kinds}

| table | rows |
|---|---|
| train (RL, one per user turn) | {rows["train"]} |
| val | {rows["val"]} |
| test | {rows["test"]} |
| SFT (whole conversations of the training split) | {metrics["sft_rows"]} |

| rejected because | conversations |
|---|---|
{rejected}

## Known limits
- The scripted teacher's wording comes from a few phrasings for each tool; it is less varied than people's.
- All conversations play in the same virtual week and in one seeded world.
- Splits are by tool chain: tools, entities and phrasings of the test split do occur in training.
"""
