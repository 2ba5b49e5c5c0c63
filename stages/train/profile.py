"""What GRPO would have to learn from: a policy's rewards over the training rows, before any training.

Only a group whose rewards differ moves the policy. A profile in which most groups are all at nothing asks
for a warmer start, one in which most are all at the top for harder rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from servers.kernel.dice import Dice
from stages.artifacts import DATA, REPORTS, ArtifactError, write_json
from stages.episodes import ScoredEpisode
from stages.rollout import episode_for
from stages.skills import scorer_for
from stages.stage import StageContext
from stages.train.batched_rollout import rollout
from stages.train.collect import SPREAD
from stages.train.params import ProfileParams, TrainParams
from stages.train.policy import load_policy
from stages.train.tables import rl_table
from stages.train.watch import PARTS, episode_metrics

PLACES = (DATA / "policy" / "sft", DATA / "policy_base")


def profile_rewards(ctx: StageContext[TrainParams]) -> Sequence[Path]:
    """Sample a group of episodes for each of some training rows; write figures and a plot.

    Raises:
        ArtifactError: there are no weights at the place that the `profile` block names.
    """
    params, scorer = ctx.block(ProfileParams, "profile"), scorer_for(ctx)
    weights = _weights(params.weights)
    policy = load_policy(ctx.params.policy.model_copy(update={"base": str(weights)}))
    rows = Dice(ctx.seed, "profile/rows").sample(rl_table(ctx, policy.chat, "train")[0], params.rows)
    sampling = ctx.params.grpo.sampling
    groups: list[list[ScoredEpisode]] = []
    with ctx.progress(f"Sampling with {weights}", total=len(rows)) as bar:
        for number, row in enumerate(rows):
            episodes = [episode_for(ctx.catalog, row, sampling.max_rounds) for _ in range(params.group_size)]
            played = rollout(policy.network, policy.chat, episodes, sampling, seed=ctx.seed + number)
            groups.append([scorer.score("profile", row, i, t.record) for i, t in enumerate(played)])
            bar.advance(1)
    figures = {"weights": str(weights), "group_size": params.group_size, **spread(groups)}
    path, plot = REPORTS / "profile.json", REPORTS / "profile.svg"
    write_json(path, figures)
    _draw(plot, groups)
    ctx.log_metrics({name: value for name, value in figures.items() if isinstance(value, int | float)})
    return [path, plot]


def spread(groups: Sequence[Sequence[ScoredEpisode]]) -> dict[str, Any]:
    """Shares of groups by what they teach, and the means of their episodes.

    `all_zero`, `all_one` (every episode at 0 or below, or at 1 or above) and `alike` (no spread at all) are
    shares of groups; `deviation` is the mean standard deviation within a group.
    """
    rewards = [[e.reward.total for e in group if not e.reward.masked] for group in groups]
    rewards = [values for values in rewards if values]
    every = [e for group in groups for e in group]
    n = max(1, len(rewards))
    return {
        "rows": len(groups),
        "episodes": len(every),
        "masked": sum(e.reward.masked for e in every),
        "reward": sum(map(sum, rewards)) / max(1, sum(map(len, rewards))),
        "all_zero": sum(max(v) <= 0 for v in rewards) / n,
        "all_one": sum(min(v) >= 1 for v in rewards) / n,
        "alike": sum(max(v) - min(v) <= SPREAD for v in rewards) / n,
        "deviation": sum(map(_deviation, rewards)) / n,
        **episode_metrics(every),
    }


def _weights(wanted: str | None) -> Path:
    places = (Path(wanted),) if wanted else PLACES
    for place in places:
        if place.is_dir():
            return place
    cure = "set profile.weights to a directory of weights" if wanted else "run `python -m stages.bootstrap`"
    raise ArtifactError(f"no weights at {' or '.join(map(str, places))}: {cure}")


def _deviation(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))


def _draw(path: Path, groups: Sequence[Sequence[ScoredEpisode]]) -> None:
    """Three panels: rewards of all episodes, spread within groups, and the parts."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "prove"
    from matplotlib.figure import Figure

    live = [[e for e in group if not e.reward.masked] for group in groups]
    figure = Figure(figsize=(11, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.hist([e.reward.total for group in live for e in group], bins=24, color="#3f7cac")
    left.set(title="reward of an episode", ylabel="episodes")
    ordered = sorted((sorted(e.reward.total for e in group) for group in live if group), key=lambda v: sum(v) / len(v))
    for place, values in enumerate(ordered):
        middle.plot([place, place], [values[0], values[-1]], color="#9aa5b1", lw=2)
        middle.plot(place, sum(values) / len(values), ".", color="#d1662b")
    middle.set(title="lowest to highest of each row", xlabel="rows, worst first", ylabel="reward")
    parts = [[getattr(e.reward, part) for group in live for e in group if e.truth] for part in PARTS]
    right.boxplot([values or [0.0] for values in parts], tick_labels=list(PARTS), showfliers=False)
    right.set(title="parts, where something is to be called")
    right.tick_params(axis="x", labelrotation=20)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
