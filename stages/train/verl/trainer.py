"""verl's synchronous trainer with our journals: every step's figures and every scored episode are kept.

Masked episodes are left out of every mean here, also where verl's own means would take them for a reward of 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import transfer_queue
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from stages.episodes import ScoredEpisode, episode_from_row, episode_to_row
from stages.train.journal import Journal
from stages.train.verl.evidence import EPISODE
from stages.train.verl.figures import renamed, rollout_figures
from stages.train.watch import episode_metrics


class EpisodeTrainer(PPOTrainerSync):  # type: ignore[misc]  # verl is untyped here
    """GRPO step by step; `prove.work` in its settings is the directory of the journals."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        work = Path(config.prove.work)
        self._log, self._episodes = Journal(work / "grpo_log.jsonl"), Journal(work / "train.jsonl")
        self._val_log, self._val_episodes = Journal(work / "validation_log.jsonl"), Journal(work / "validation.jsonl")

    def _compute_metrics(
        self, batch: Any, metrics: dict[str, Any], timing_raw: dict[str, float], global_steps: int, epoch: int
    ) -> None:
        super()._compute_metrics(batch, metrics, timing_raw, global_steps=global_steps, epoch=epoch)
        keys = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        data = transfer_queue.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=["extra_fields"])
        told = [dict(item["reward_extra_info"]) for item in data["extra_fields"].tolist()]
        episodes = _read(told)
        figures = {**rollout_figures(episodes, told), **renamed(metrics)}
        self._log.add(global_steps, figures)
        self._episodes.replace_step(global_steps, [episode_to_row(episode) for episode in episodes])
        metrics.update({f"prove/{name}": value for name, value in figures.items()})

    def _val_metrics_update(
        self,
        data_sources: Sequence[str],
        sample_uids: Sequence[str],
        reward_extra_infos_dict: dict[str, list[Any]],
        sample_turns: Sequence[int],
        expected_acc_counts: dict[tuple[str, str], int] | None = None,
    ) -> dict[str, float]:
        infos = dict(reward_extra_infos_dict)
        told = [{EPISODE: text} for text in infos.pop(EPISODE)]
        masked = [bool(value) for value in infos["masked"]]
        judged = {
            name: values if name.startswith(("masked", "fault_")) else _without(values, masked)
            for name, values in infos.items()
        }
        episodes = _read(told)
        rewards = {e.row: e.reward.total for e in episodes if not e.reward.masked}
        mean = sum(rewards.values()) / max(1, len(rewards))
        figures = {"reward": mean, "masked": float(sum(masked)), **episode_metrics(episodes)}
        self._val_log.add(self.global_steps, {**figures, "rewards": rewards})
        self._val_episodes.replace_step(self.global_steps, [episode_to_row(episode) for episode in episodes])
        theirs = super()._val_metrics_update(data_sources, sample_uids, judged, sample_turns, expected_acc_counts)
        return {**theirs, **{f"validation/{name}": value for name, value in figures.items()}}


def _read(told: Sequence[Mapping[str, Any]]) -> list[ScoredEpisode]:
    return [episode_from_row(json.loads(item[EPISODE])) for item in told]


def _without(values: Sequence[Any], masked: Sequence[bool]) -> list[Any]:
    """The values with None, which verl skips, where the trajectory is masked."""
    return [None if hidden else value for value, hidden in zip(values, masked, strict=True)]
