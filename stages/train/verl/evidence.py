"""What a scored trajectory tells verl: the reward's parts and what happened, under the same keys for every sample."""

from __future__ import annotations

from typing import Any, get_args

from stages.artifacts import dump
from stages.dataset import RlRow
from stages.episodes import ScoredEpisode, episode_to_row, score_episode
from stages.reward.combine import RewardRecord
from stages.reward.rules import RewardRules
from stages.rollout import Stop
from stages.train.verl.faults import FAULTS
from stages.train.verl.trajectory import Played
from stages.train.watch import PARTS

EPISODE = "episode"
"""Key of the whole episode as JSON text; the other values are numbers."""


def scored(policy: str, row: RlRow, sample: int, played: Played, rules: RewardRules) -> ScoredEpisode:
    """The trajectory's episode with its reward; one with a fault is masked whatever its calls were."""
    if played.fault is None:
        return score_episode(policy, row, sample, played.record, rules)
    return ScoredEpisode(
        policy=policy,
        row=row.id,
        sample=sample,
        kind=row.kind,
        server=row.server,
        tools=row.tools,
        truth=row.truth,
        record=played.record,
        truth_hash=row.state_hash,
        required=row.required,
        reward=RewardRecord(total=0.0, masked=True, abstention=not row.truth),
    )


def evidence(played: Played, episode: ScoredEpisode) -> dict[str, Any]:
    """Numbers of the trajectory, and the episode itself."""
    reward, record = episode.reward, played.record
    return {
        **{f"part_{part}": float(getattr(reward, part)) for part in PARTS},
        "solved": float(bool(reward.outcome)),
        "masked": float(reward.masked),
        **{f"fault_{fault}": float(played.fault == fault) for fault in FAULTS},
        **{f"stop_{stop}": float(record.stop == stop) for stop in get_args(Stop)},
        "calls": float(len(record.calls)),
        "calls_failed": float(sum(not call.ok for call in record.calls)),
        "calls_over_budget": float(max(0, len(record.calls) - reward.budget)) if episode.truth else 0.0,
        "own_tokens": float(sum(played.mask)),
        "seconds_model": played.seconds_model,
        "seconds_environment": played.seconds_environment,
        EPISODE: dump(episode_to_row(episode)),
    }
