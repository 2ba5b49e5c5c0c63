"""Samples per second of GRPO here and in TRL: same weights, prompts, tools, sessions, reward and lengths.

    python tests/bench/grpo_vs_trl.py --model data/policy/sft --steps 3 --rounds 2

Both sides speak Qwen2.5's template on the model's own tokenizer, take one optimiser step on each batch of
`rows x group` episodes with AdamW in float32, have no KL term, and stop an episode after the same number of
replies and tokens. The first step of each run is a warm-up and does not count. The two take turns, so that a
busy machine slows both.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import stages.train  # noqa: F401  # sets the thread policy before torch starts
from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session
from stages.chat import TemplateChat
from stages.records import ExecutedCall, Message, TruthCall
from stages.reward.combine import RewardRecord, score
from stages.rollout import Episode, visible_spec
from stages.train.batched_rollout import Trajectory
from stages.train.config import GrpoConfig, OptimConfig, SamplingConfig
from stages.train.grpo import train_grpo
from stages.train.policy import Policy, packaged_weights

CATALOG = load_catalog(("banking",))
WORLD = CATALOG.world(7)
NAMES = ("list_accounts", "list_payees", "list_cards", "freeze_card")
TOOLS = tuple(visible_spec(CATALOG.entry(name).tool) for name in NAMES)
SYSTEM = "You act for a bank's customer. Look things up with tools before you change them."


@dataclass(frozen=True)
class Row:
    """A request and the calls that answer it."""

    text: str
    truth: tuple[TruthCall, ...]


ROWS = (
    Row("Which accounts do I have?", (TruthCall("list_accounts", {}),)),
    Row("Show me my savings accounts.", (TruthCall("list_accounts", {"kind": "savings"}),)),
    Row("Which of my cards are frozen?", (TruthCall("list_cards", {"status": "frozen"}),)),
    Row("Look up my payees called Miller.", (TruthCall("list_payees", {"query": "Miller"}),)),
    Row("List the cards that I can use.", (TruthCall("list_cards", {"status": "active"}),)),
    Row("I lost a card: list my cards, please.", (TruthCall("list_cards", {}),)),
)


@dataclass(frozen=True)
class Budget:
    """What one run may do."""

    model: Path
    steps: int
    rows: int
    group: int
    tokens: int
    rounds: int


@dataclass(frozen=True)
class Measured:
    """Seconds of each counted step and of its rollout, and own tokens of an episode on average."""

    seconds: tuple[float, ...]
    rollout: tuple[float, ...]
    tokens: float


class BankEnvironment:
    """The same sessions as TRL wants them: tools are methods with documented arguments."""

    def __init__(self) -> None:
        self._begin(())

    def reset(self, truth: str = "0", **_: Any) -> None:
        """A fresh session for the row of this number."""
        self._begin(ROWS[int(truth)].truth)

    def list_accounts(self, kind: str = "") -> str:
        """List the customer's accounts with their ids and balances.

        Args:
            kind: only accounts of this kind.
        """
        return self._call("list_accounts", {"kind": kind} if kind else {})

    def list_payees(self, query: str = "", limit: int = 5, offset: int = 0) -> str:
        """List saved payees with their ids; search by name before paying somebody.

        Args:
            query: words of the payee's name.
            limit: most payees to return.
            offset: how many to skip.
        """
        return self._call("list_payees", {"query": query, "limit": limit, "offset": offset})

    def list_cards(self, status: str = "") -> str:
        """List the customer's debit cards with their ids, last digits and status.

        Args:
            status: only cards in this status.
        """
        return self._call("list_cards", {"status": status} if status else {})

    def freeze_card(self, card_id: str) -> str:
        """Block a card at once, for example when it is lost or a payment looks wrong.

        Args:
            card_id: the card, from list_cards.
        """
        return self._call("freeze_card", {"card_id": card_id})

    def get_reward(self) -> float:
        """The same reward as ours."""
        return score(TOOLS, self._truth, self._calls).total

    def _begin(self, truth: Sequence[TruthCall]) -> None:
        self._session, self._truth = Session(WORLD), truth
        self._calls: list[ExecutedCall] = []

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        outcome = CATALOG.call(self._session, name, arguments)
        done = ExecutedCall(name, arguments, len(self._calls), True, outcome.ok, outcome.text)
        self._calls.append(done)
        return outcome.text


def load(budget: Budget) -> tuple[Any, Any]:
    """The model and its tokenizer with Qwen2.5's template."""
    spec = find_spec("trl")
    assert spec is not None and spec.origin is not None, "pip install trl jmespath"
    model = AutoModelForCausalLM.from_pretrained(budget.model, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(budget.model, padding_side="left")
    template = Path(spec.origin).parent / "chat_templates" / "qwen2_5.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    return model, tokenizer


def ours(budget: Budget) -> Measured:
    """Steps of the local engine."""
    model, tokenizer = load(budget)
    seconds: list[float] = []
    rollout: list[float] = []
    lengths: list[float] = []

    def open_episode(row: Row) -> Episode:
        messages = [Message("system", SYSTEM), Message("user", row.text)]
        return Episode(CATALOG, Session(WORLD), TOOLS, messages, budget.rounds)

    def reward(row: Row, trajectory: Trajectory) -> RewardRecord:
        return score(TOOLS, row.truth, trajectory.record.calls)

    def on_step(step: int, metrics: dict[str, float], _: Any) -> None:
        seconds.append(metrics["seconds_rollout"] + metrics["seconds_update"])
        rollout.append(metrics["seconds_rollout"])
        lengths.append(metrics["own_tokens_per_episode"])

    config = GrpoConfig(
        steps=budget.steps + 1,
        batch_size=budget.rows,
        group_size=budget.group,
        kl=0.0,
        sampling=SamplingConfig(
            max_new_tokens=budget.tokens, max_context=4096, max_rounds=budget.rounds, batch_size=64
        ),
        optim=OptimConfig(lr=1e-6, micro_tokens=4096),
    )
    train_grpo(Policy(model, tokenizer, TemplateChat(tokenizer)), ROWS, open_episode, reward, config, on_step=on_step)
    return Measured(tuple(seconds[1:]), tuple(rollout[1:]), statistics.mean(lengths[1:]))


def trls(budget: Budget) -> Measured:
    """Steps of TRL's trainer."""
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    model, tokenizer = load(budget)
    starts: list[float] = []
    ends: list[float] = []
    rollout: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            starts.append(time.perf_counter())

        def on_step_end(self, *_: Any, **__: Any) -> None:
            ends.append(time.perf_counter())

    class Timed(GRPOTrainer):  # type: ignore[misc]
        def _generate_and_score_completions(self, *given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            made = super()._generate_and_score_completions(*given, **named)
            rollout.append(time.perf_counter() - began)
            return made

    rows = [ROWS[i % len(ROWS)] for i in range(budget.rows * (budget.steps + 1))]
    prompts = [[{"role": "system", "content": SYSTEM}, {"role": "user", "content": row.text}] for row in rows]
    data = Dataset.from_dict({"prompt": prompts, "truth": [str(ROWS.index(row)) for row in rows]})
    with tempfile.TemporaryDirectory() as scratch:
        config = GRPOConfig(
            output_dir=scratch,
            max_steps=budget.steps + 1,
            per_device_train_batch_size=budget.group,
            gradient_accumulation_steps=budget.rows,
            num_generations=budget.group,
            max_completion_length=budget.tokens,
            max_tool_calling_iterations=budget.rounds - 1,
            learning_rate=1e-6,
            beta=0.0,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            disable_tqdm=True,
        )
        trainer = Timed(
            model=model,
            args=config,
            train_dataset=data,
            processing_class=tokenizer,
            environment_factory=BankEnvironment,
            callbacks=[Clock()],
        )
        trainer.train()
    lengths = [log["completions/mean_length"] for log in trainer.state.log_history if "completions/mean_length" in log]
    seconds = [end - start for start, end in zip(starts, ends, strict=True)]
    return Measured(tuple(seconds[1:]), tuple(rollout[1:]), statistics.mean(lengths[1:]))


def main() -> None:
    """Take turns and print samples per second, lengths and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a directory of weights (default: the packaged SmolLM2)")
    parser.add_argument("--steps", type=int, default=3, help="counted steps of a run (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each side (default: %(default)s)")
    parser.add_argument("--rows", type=int, default=4, help="prompts in a step (default: %(default)s)")
    parser.add_argument("--group", type=int, default=8, help="episodes of a prompt (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of a reply (default: %(default)s)")
    arguments = parser.parse_args()
    model = arguments.model or packaged_weights(Path(".cache/models"))
    budget = Budget(model, arguments.steps, arguments.rows, arguments.group, arguments.tokens, rounds=3)
    sides: dict[str, Callable[[Budget], Measured]] = {"here": ours, "trl": trls}
    found: dict[str, list[Measured]] = {name: [] for name in sides}
    for _ in range(arguments.rounds):
        for name, run in sides.items():
            torch.manual_seed(0)
            found[name].append(run(budget))
    samples = budget.rows * budget.group
    rates = {name: samples / statistics.median(s for m in runs for s in m.seconds) for name, runs in found.items()}
    for name, runs in found.items():
        tokens = statistics.mean(m.tokens for m in runs)
        share = sum(s for m in runs for s in m.rollout) / sum(s for m in runs for s in m.seconds)
        print(f"{name:5} {rates[name]:6.2f} samples/s, {tokens:5.1f} tokens an episode, {share:.0%} of it in rollouts")
    print(f"here / trl: {rates['here'] / rates['trl']:.2f}")


if __name__ == "__main__":
    main()
