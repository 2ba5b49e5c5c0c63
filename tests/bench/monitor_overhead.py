"""Seconds of the collapse monitor over seconds of a training step.

    python tests/bench/monitor_overhead.py --model data/policy/sft --steps 2

Runs GRPO steps on banking requests, then measures each step's replies and their distance to made-up
log-probabilities of a reference, several times over, and prints the medians and their ratio. The pass through the
reference itself is not counted: with a KL term the loss needs it anyway.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import stages.train  # noqa: F401  # sets the thread policy before torch starts
from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session
from stages.chat import chat_format
from stages.records import EpisodeRecord, Message
from stages.reward.combine import RewardRecord, score
from stages.rollout import Episode, visible_spec
from stages.train.batched_rollout import Trajectory
from stages.train.config import GrpoConfig, OptimConfig, PolicyConfig, SamplingConfig
from stages.train.grpo import train_grpo
from stages.train.monitor.control import ControlTokens
from stages.train.monitor.measure import divergence_metrics, form_metrics
from stages.train.packing import Row, pack_sequences
from stages.train.policy import Policy, load_policy

CATALOG = load_catalog(("banking",))
WORLD = CATALOG.world(7)
TOOLS = tuple(visible_spec(CATALOG.entry(name).tool) for name in ("list_accounts", "list_payees", "list_cards"))
REQUESTS = ("Which accounts do I have?", "Show me my cards.", "Look up my payees called Miller.", "Any frozen cards?")
REPEATS = 5


def watched(policy: Policy, trajectories: list[Trajectory]) -> float:
    """Median seconds of the monitor on one step's trajectories, nothing decoded before."""
    rows = [Row(t.prompt, t.ids, t.mask, logprobs=t.logprobs) for t in trajectories if t.ids]
    packs = pack_sequences(rows, 4096)
    own = [pack.sampled_logprobs() for pack in packs]
    reference = [logprobs - 0.1 for logprobs in own]
    chat = chat_format(policy.tokenizer)
    seconds = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        control = ControlTokens(chat, policy.tokenizer)
        form_metrics(trajectories, control, chat)
        divergence_metrics([pack.sequences for pack in packs], own, reference, control)
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def main() -> None:
    """Train some steps, watch them, and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a directory of weights (default: the packaged SmolLM2)")
    parser.add_argument("--steps", type=int, default=2, help="steps, after one that warms up (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=4, help="prompts in a step (default: %(default)s)")
    parser.add_argument("--group", type=int, default=8, help="episodes of a prompt (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of a reply (default: %(default)s)")
    arguments = parser.parse_args()
    policy = load_policy(PolicyConfig(base=str(arguments.model)) if arguments.model else PolicyConfig())
    steps: list[float] = []
    monitor: list[float] = []
    replies: list[int] = []

    def open_episode(text: str) -> Episode:
        return Episode(CATALOG, Session(WORLD), TOOLS, [Message("user", text)], 3)

    def reward(_: str, done: Any) -> RewardRecord:
        record: EpisodeRecord = done.record
        return score(TOOLS, (), record.calls)

    def on_step(_: int, metrics: dict[str, float], rollouts: Any) -> None:
        trajectories = [rollout.trajectory for rollout in rollouts]
        steps.append(metrics["seconds_rollout"] + metrics["seconds_update"])
        monitor.append(watched(policy, trajectories))
        replies.append(sum(m.role == "assistant" for t in trajectories for m in t.record.messages))

    config = GrpoConfig(
        steps=arguments.steps + 1,
        batch_size=arguments.rows,
        group_size=arguments.group,
        sampling=SamplingConfig(max_new_tokens=arguments.tokens, max_context=4096, max_rounds=3, batch_size=64),
        optim=OptimConfig(lr=1e-6, micro_tokens=4096),
    )
    train_grpo(policy, REQUESTS, open_episode, reward, config, on_step=on_step)
    step, watching = statistics.median(steps[1:]), statistics.median(monitor[1:])
    executed = statistics.mean(replies[1:])
    print(f"{executed:.0f} executed replies a step, {step:.2f} s a step, {watching * 1000:.1f} ms watching it")
    print(f"monitor / step: {watching / step:.2%}")


if __name__ == "__main__":
    main()
