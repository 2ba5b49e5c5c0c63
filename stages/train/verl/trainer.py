"""verl's synchronous trainer, driven by our phase: members of groups in, finished steps and validations out.

Masked episodes are left out of every mean here, also where verl's own means would take them for a reward of 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import transfer_queue
from torch import Tensor
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils

from stages.dataset import rl_row
from stages.episodes import ScoredEpisode, episode_from_row
from stages.train.batched_rollout import Origin, Trajectory
from stages.train.verl.data import read_rows
from stages.train.verl.driver import Driver, Finished
from stages.train.verl.evidence import EPISODE
from stages.train.verl.figures import renamed
from stages.train.verl.members import to_text
from stages.train.verl.phase import Phase

TOKENS = ("prompts", "responses", "response_mask", "rollout_log_probs", "old_log_probs")


class EpisodeTrainer(PPOTrainerSync):  # type: ignore[misc]  # verl is untyped here
    """GRPO step by step; `prove.phase` in its settings is the file of the phase."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._phase = Phase.model_validate_json(Path(config.prove.phase).read_text(encoding="utf-8"))
        self._healthy = True

    def on_init_end(self) -> None:
        """Tokenizer and checkpoint, if there is one, are loaded."""
        super().on_init_end()
        rows = read_rows(Path(self.config.data.train_files))
        self._driver = Driver(self._phase, rows, self.tokenizer, ExitStack())
        self._driver.resume(self._step())

    def _next_train_batch(self, num_prompts: int | None = None) -> Any:
        batch = super()._next_train_batch(num_prompts)
        rows = [rl_row(json.loads(info["row"])) for info in batch["extra_info"]]
        groups = self._driver.members(rows, self.config.actor_rollout_ref.rollout.n)
        tensordict_utils.assign_non_tensor(batch, members=[to_text(members) for members in groups])
        return batch

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> Any:
        """One step; its journals are written before verl keeps a checkpoint of it."""
        batch = super().step(metrics, timing_raw)
        seconds = {f"timing_s/{name}": value for name, value in timing_raw.items()}
        figures, self._healthy = self._driver.finished(
            self._step(), self._finished(batch), renamed({**metrics, **seconds})
        )
        metrics.update({f"prove/{name}": value for name, value in figures.items()})
        return batch

    def _save_checkpoint(self) -> None:
        if self._healthy or self.global_steps >= self.total_training_steps:
            super()._save_checkpoint()

    def _val_metrics_update(
        self,
        data_sources: Sequence[str],
        sample_uids: Sequence[str],
        reward_extra_infos_dict: dict[str, list[Any]],
        sample_turns: Sequence[int],
        expected_acc_counts: dict[tuple[str, str], int] | None = None,
    ) -> dict[str, float]:
        infos = dict(reward_extra_infos_dict)
        episodes = [_episode({EPISODE: text}) for text in infos.pop(EPISODE)]
        masked = [bool(value) for value in infos["masked"]]
        judged = {
            name: values if name.startswith(("masked", "fault_")) else _without(values, masked)
            for name, values in infos.items()
        }
        figures = self._driver.validated(self._step(), episodes)
        theirs = super()._val_metrics_update(data_sources, sample_uids, judged, sample_turns, expected_acc_counts)
        return {**theirs, **{f"validation/{name}": value for name, value in figures.items()}}

    def _step(self) -> int:
        """The present step's number in the whole run."""
        return self._phase.first + int(self.global_steps)

    def _finished(self, batch: Any) -> list[Finished]:
        """The step's trajectories, without those that verl adds to fill a batch."""
        keys = [key for key, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        reference = ["ref_log_prob"] if self.use_reference_policy else []
        wanted = [*TOKENS, *reference, "extra_fields"]
        data = transfer_queue.kv_batch_get(keys=keys, partition_id=batch.partition_id, select_fields=wanted)
        columns = {name: data[name].unbind() for name in (*TOKENS, *reference)}
        told = [dict(fields["reward_extra_info"]) for fields in data["extra_fields"]]
        return [
            _one(item, {name: values[place] for name, values in columns.items()}) for place, item in enumerate(told)
        ]


def _one(told: Mapping[str, Any], tokens: Mapping[str, Tensor]) -> Finished:
    episode, own = _episode(told), tokens["response_mask"].bool()
    origin: Origin = episode.policy  # type: ignore[assignment]  # the agent loop names an episode by its origin
    trajectory = Trajectory(
        tuple(tokens["prompts"].tolist()), tuple(tokens["responses"].tolist()), tuple(own.tolist()),
        tuple(tokens["rollout_log_probs"].tolist()), episode.record, float(told["seconds_environment"]), origin,
    )  # fmt: skip
    reference = tokens.get("ref_log_prob")
    return Finished(
        episode, told, trajectory, tokens["old_log_probs"][own], None if reference is None else reference[own]
    )


def _episode(told: Mapping[str, Any]) -> ScoredEpisode:
    return episode_from_row(json.loads(told[EPISODE]))


def _without(values: Sequence[Any], masked: Sequence[bool]) -> list[Any]:
    """The values with None, which verl skips, where the trajectory is masked."""
    return [None if hidden else value for value, hidden in zip(values, masked, strict=True)]
