"""`python -m stages.evaluate`: score base, warm start and trained policy; BFCL with its controls.

`python -m stages.evaluate rescore` computes the rewards of stored episodes again under the present
`reward` block, without the model, and rewrites the figures.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stages.artifacts import DATA, REPORTS, read_json, read_table, replaced_directory, write_json, write_table
from stages.dataset import RL_ROWS, RlRow, rl_row
from stages.episodes import EPISODES, ScoredEpisode, episode_from_row, episode_to_row, rescored
from stages.evaluate.heldout import compare, draw_rows, summarise
from stages.params import EvaluateParams
from stages.reward.rules import RewardRules
from stages.stage import StageContext, run_stage
from stages.train.params import TrainParams

POLICIES = {"base": DATA / "policy_base", "sft": DATA / "policy" / "sft", "policy": DATA / "policy" / "final"}
"""What is scored: the untrained weights, the warm start, and the trained policy."""

PAIRS = (("policy", "base"), ("sft", "base"), ("policy", "sft"))


def main(ctx: StageContext[EvaluateParams]) -> Sequence[Path]:
    """Play held-out rows with every policy, run the benchmark, write episodes and figures."""
    from stages.evaluate.heldout import play
    from stages.train.policy import Policy, load_policy
    from stages.train.rows import fitting_rl

    train, rules = ctx.block(TrainParams, "train"), ctx.block(RewardRules, "reward")
    source = DATA / "dataset" / "test.parquet"
    table = [rl_row(row) for row in read_table(source, RL_ROWS, ctx.catalog.fingerprint)]
    sampling = train.grpo.sampling.model_copy(update={"temperature": 0.0, "batch_size": ctx.params.batch})
    work = DATA / ".unfinished" / "evaluate" / _key(ctx, source)
    played: dict[str, list[ScoredEpisode]] = {}
    rows: list[RlRow] = []
    policy: Policy | None = None
    for name, directory in POLICIES.items():
        policy = load_policy(train.policy.model_copy(update={"base": str(directory)}))
        if not rows:
            rows = draw_rows(fitting_rl(policy.chat, table, train.max_prompt), ctx.params.rows, ctx.seed)
        kept = work / f"{name}-{_digest(directory)}.parquet"
        if not kept.exists():
            with ctx.progress(f"Held-out rows, {name}", total=len(rows)) as bar:
                fresh = play(ctx.catalog, policy, name, rows, rules, sampling, bar.advance)
            write_table(kept, EPISODES, [episode_to_row(episode) for episode in fresh], ctx.stamp)
        played[name] = [episode_from_row(row) for row in read_table(kept, EPISODES, ctx.catalog.fingerprint)]
    assert policy is not None
    metrics = figures(ctx, played) | {"bfcl": _bfcl(ctx, policy), "rows_too_long": len(table) - len(rows)}
    with replaced_directory(DATA / "scores") as target:
        episodes = [episode_to_row(e) for part in played.values() for e in part]
        write_table(target / "episodes.parquet", EPISODES, episodes, ctx.stamp)
    shutil.rmtree(work.parent)
    return _publish(ctx, metrics)


def rescore(ctx: StageContext[EvaluateParams]) -> Sequence[Path]:
    """Score the stored episodes again."""
    rules = ctx.block(RewardRules, "reward")
    path = DATA / "scores" / "episodes.parquet"
    stored = [episode_from_row(row) for row in read_table(path, EPISODES, ctx.catalog.fingerprint)]
    again = [rescored(episode, rules) for episode in stored]
    played = {name: [e for e in again if e.policy == name] for name in POLICIES}
    old = read_json(REPORTS / "metrics" / "evaluate.json")
    write_table(path, EPISODES, [episode_to_row(e) for e in again], ctx.stamp)
    return _publish(ctx, {**old, **figures(ctx, played)})


def figures(ctx: StageContext[EvaluateParams], played: dict[str, list[ScoredEpisode]]) -> dict[str, Any]:
    """Every policy's figures and the paired differences."""
    count = ctx.params.bootstrap_samples
    return {
        "policies": {name: summarise(episodes, ctx.seed, count) for name, episodes in played.items()},
        "differences": {f"{a}-{b}": compare(played[a], played[b], ctx.seed, count) for a, b in PAIRS},
    }


def _key(ctx: StageContext[EvaluateParams], rows: Path) -> str:
    """What the episodes of a run are made from, besides the weights, as a directory name."""
    blocks = (ctx.params, ctx.block(TrainParams, "train"), ctx.block(RewardRules, "reward"))
    digest = hashlib.sha256("\n".join(block.model_dump_json() for block in blocks).encode())
    digest.update(rows.read_bytes() + str(ctx.seed).encode())
    return digest.hexdigest()[:16]


def _digest(weights: Path) -> str:
    """Digest of a directory's weights, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(weights.glob("*.safetensors")):
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]


def _bfcl(ctx: StageContext[EvaluateParams], policy: Any) -> dict[str, Any]:
    """BFCL multi-turn: the controls over all 800 tasks, and the policy on a sample."""
    from stages.evaluate.bfcl import controls, run
    from stages.evaluate.policy_agent import PolicyAgent

    result: dict[str, Any] = {"controls": [asdict(control) for control in controls()]}
    sample = ctx.params.bfcl_sample
    if sample:
        sampling = ctx.block(TrainParams, "train").grpo.sampling
        limits = sampling.model_copy(
            update={"temperature": 0.0, "max_context": ctx.params.bfcl_context, "batch_size": ctx.params.batch}
        )
        agent = PolicyAgent(policy, limits)
        with ctx.progress("BFCL multi-turn", total=4 * sample) as bar:
            measured = run(agent, sample=sample, seed=ctx.seed, on_result=lambda row: bar.advance(1))
        plain = asdict(measured)
        plain.pop("rows")
        result |= {"measurement": plain, "prompts_too_long": agent.refused}
    return result


def _publish(ctx: StageContext[EvaluateParams], metrics: dict[str, Any]) -> Sequence[Path]:
    path = REPORTS / "metrics" / "evaluate.json"
    write_json(path, metrics)
    for name, figure in metrics["policies"].items():
        ctx.log_metrics({f"{name}/reward": figure["reward"]["mean"], f"{name}/solved": figure["solved"]["mean"]})
    for name, difference in metrics["differences"].items():
        ctx.log_metrics({f"difference/{name}": difference["mean"], f"difference/{name}/low": difference["low"]})
    return [DATA / "scores", path]


if __name__ == "__main__":
    run_stage("evaluate", EvaluateParams, main, {"rescore": rescore})
