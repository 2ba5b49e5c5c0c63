"""`data/scores`: what is kept of a run, and how it is read back.

episodes*.parquet      held-out rows, a table for each set
<benchmark>.parquet    every agent on every task of it
failures.jsonl         tasks that broke down or are masked, with the reason
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from stages.artifacts import Stamp, read_table, replaced_directory, write_table, write_text
from stages.episodes import EPISODES, ScoredEpisode, episode_from_row, episode_to_row
from stages.evaluate.heldout import SETS
from stages.evaluate.registry import BENCHMARKS
from stages.evaluate.store import TASK_ROWS, AgentRow, failures, row_from_plain, row_to_plain


def write_scores(
    target: Path,
    sets: Mapping[str, Mapping[str, Sequence[ScoredEpisode]]],
    tables: Mapping[str, Sequence[AgentRow]],
    stamp: Stamp,
) -> None:
    """Write everything, or nothing; the table of unseen chains is there even without rows."""
    with replaced_directory(target) as scratch:
        for name, file in SETS.items():
            if name in sets or name == "chains":
                episodes = [episode for played in sets.get(name, {}).values() for episode in played]
                write_table(scratch / file, EPISODES, [episode_to_row(episode) for episode in episodes], stamp)
        for name, rows in tables.items():
            write_table(scratch / f"{name}.parquet", TASK_ROWS, [row_to_plain(row) for row in rows], stamp)
        broken = [line for name, rows in tables.items() for line in failures(name, rows)]
        broken += [line for name, played in sets.items() for line in _masked(name, played)]
        write_text(scratch / "failures.jsonl", "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in broken))


def read_sets(source: Path, fingerprint: str | None) -> dict[str, dict[str, list[ScoredEpisode]]]:
    """Episodes by set and agent, in the order in which they were written.

    Raises:
        ArtifactError: a table is damaged, or of other servers.
    """
    sets: dict[str, dict[str, list[ScoredEpisode]]] = {}
    for name, file in SETS.items():
        if not (source / file).exists():
            continue
        for plain in read_table(source / file, EPISODES, fingerprint):
            episode = episode_from_row(plain)
            sets.setdefault(name, {}).setdefault(episode.policy, []).append(episode)
    return sets


def read_tables(source: Path) -> dict[str, list[AgentRow]]:
    """Rows by benchmark; what they say does not depend on our servers.

    Raises:
        ArtifactError: a table is damaged.
    """
    return {
        name: [row_from_plain(plain) for plain in read_table(source / f"{name}.parquet", TASK_ROWS, None)]
        for name in BENCHMARKS
        if (source / f"{name}.parquet").exists()
    }


def _masked(name: str, played: Mapping[str, Sequence[ScoredEpisode]]) -> list[dict[str, str]]:
    return [
        {
            "benchmark": f"unseen {name}",
            "agent": agent,
            "task": episode.row,
            "status": "infrastructure",
            "reason": next((call.result for call in episode.record.calls if call.infrastructure), episode.record.stop),
        }
        for agent, episodes in played.items()
        for episode in episodes
        if episode.reward.masked
    ]
