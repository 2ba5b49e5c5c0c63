"""The dataset card: what the dataset holds, how it was made, and what it can't do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml


def dataset_card(
    metrics: Mapping[str, Any],
    fingerprint: str,
    teacher: str,
    seed: int,
    files: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The card as Markdown with a YAML head that dataset hubs read.

    Args:
        metrics: those of the stage.
        fingerprint: the servers'.
        teacher: the model that wrote the conversations.
        seed: the pipeline's.
        files: path of each split by configuration, for a card beside such files.
    """
    rows, traced, seen = metrics["rows"], metrics["provenance"], metrics["leakage"]
    return f"""---
{_head(files or {})}---
# Conversations on verified tool servers

{metrics["accepted"]} conversations ({metrics["rejected"]} rejected) over {metrics["servers"]} servers, written by
`{teacher}` from seed {seed} and replayed on fresh sessions. Servers: fingerprint `{fingerprint}`.
{_held_out(metrics["held_out_servers"])}
| kind | conversations | share |
|---|---|---|
{_shares(metrics["kinds"], metrics["accepted"])}

| perturbation | conversations | share |
|---|---|---|
{_shares(metrics["perturbations"], metrics["accepted"])}

| table | rows |
|---|---|
| train (RL, one per user turn) | {rows["train"]} |
| val | {rows["val"]} |
| test | {rows["test"]} |
| SFT (whole conversations of the training split) | {metrics["sft_rows"]} |

## Checks
{metrics["acceptance_rate"]:.1%} of what was written holds.

| rejected because | conversations |
|---|---|
{_table(metrics["reasons"])}

{_quota(metrics)}
Of {traced["literals"]} literal arguments, {traced["traced"]:.1%} have a recorded origin:
{_list(traced["sources"])}.

Of the test rows, training has seen the chain of {seen["chains"]:.1%}, every identifier of {seen["entities"]:.1%}
and the phrasing of {seen["phrasing"]:.1%}.

{_decontamination(metrics["decontamination"])}
{_outside(metrics)}
## Known limits
- The scripted teacher's wording comes from a few phrasings for each tool; it is less varied than people's.
- All conversations play in the same virtual week and in one seeded world.
- Splits are by tool chain: tools, entities and phrasings of the test split do occur in training.
"""


def _head(files: Mapping[str, Mapping[str, str]]) -> str:
    head: dict[str, Any] = {
        "license": "apache-2.0",
        "task_categories": ["text-generation"],
        "language": ["en"],
        "tags": ["tool-use", "function-calling", "synthetic"],
    }
    if files:
        head["configs"] = [
            {"config_name": name, "data_files": [{"split": split, "path": path} for split, path in paths.items()]}
            for name, paths in files.items()
        ]
    text: str = yaml.safe_dump(head, sort_keys=False)
    return text


def _table(counts: Mapping[str, int]) -> str:
    return "\n".join(f"| {name} | {count} |" for name, count in counts.items()) or "| – | 0 |"


def _shares(counts: Mapping[str, int], whole: int) -> str:
    return "\n".join(f"| {name} | {count} | {count / whole:.1%} |" for name, count in counts.items()) or "| – | 0 | |"


def _list(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"


def _held_out(servers: Iterable[str]) -> str:
    listed = ", ".join(servers)
    return f"Only tested on, and never shown in training: {listed}.\n" if listed else ""


def _quota(metrics: Mapping[str, Any]) -> str:
    over, lacks = metrics["over_quota"], metrics["quota_lacks"]
    told = f"Left out over the quota, though they hold: {_list(over)}.\n" if over else ""
    return told + (f"The quota lacks: {_list(lacks)}.\n" if lacks else "")


def _decontamination(found: Mapping[str, Any]) -> str:
    lines = [f"Compared with benchmark questions (runs of {found['ngram']} words; repeats are rejected):"]
    lines += [
        f"- {item['benchmark']} {item['version']}: {item['questions']} questions, {item['overlaps']} repeats"
        for item in found["checked"]
    ]
    lines += [f"- {name}: not compared, {why}" for name, why in found["not_at_hand"].items()]
    return "\n".join(lines) + "\n"


def _outside(metrics: Mapping[str, Any]) -> str:
    sets = metrics["outside_sets"]
    if sets:
        return f"Abstention rows from sets of others, under their own licences: {_list(sets)}.\n"
    return "All abstention rows are our own (a hidden tool, or a request for which no visible tool fits).\n"
