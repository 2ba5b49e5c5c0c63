"""Everything that a run needs on disk and on its command line, checked before anything heavy starts."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from stages.artifacts import write_text
from stages.chat import ChatFormat
from stages.dataset import RlRow
from stages.params import BootstrapParams, ParamsError
from stages.reward.rules import RewardRules
from stages.stage import StageContext
from stages.train.params import TrainParams
from stages.train.policy import load_chat
from stages.train.rl_table import rl_table
from stages.train.verl.checks import check_overrides
from stages.train.verl.data import write_rows
from stages.train.verl.limits import Limits, LoopSettings
from stages.train.verl.overrides import AGENT, arguments, environment, verl_overrides

ROOT = Path(__file__).parents[3]
MODULE = "stages.train.verl.main"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can be started: its arguments, environment variables and rows."""

    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    rows: int
    too_long: int

    @property
    def command(self) -> list[str]:
        """The program and its arguments."""
        return [sys.executable, "-m", MODULE, *self.arguments]

    def shell(self) -> str:
        """The command as a person can paste it."""
        lines = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        lines += [f"{shlex.quote(sys.executable)} -m {MODULE}", *(f"  {shlex.quote(item)}" for item in self.arguments)]
        return " \\\n".join(lines)


def prepare(ctx: StageContext[TrainParams], start: Path, work: Path) -> Prepared:
    """Write a run's rows and agent-loop settings under `work`, and check what verl is going to be given.

    Raises:
        ParamsError: a setting would ruin the run; names each.
        ArtifactError: the dataset is missing or of other servers, or no row fits.
    """
    params, work = ctx.params, work.resolve()
    if ctx.block(RewardRules, "reward").needs_judge:
        raise ParamsError("reward: the cluster engine has no process judge: set reward.kind to dense or outcome")
    chat = load_chat(params.policy.model_copy(update={"base": str(start)}))
    train, too_long = rl_table(ctx, chat, "train")
    val = rl_table(ctx, chat, "val")[0][: params.validation.rows]
    settings = verl_overrides(params, start.resolve(), work, len(train), ctx.seed)
    check_overrides(settings, len(train), longest_prompt(chat, train))
    write_rows(work / "data" / "train.parquet", train, "train")
    write_rows(work / "data" / "val.parquet", val, "val")
    write_text(work / "agent_loop.yaml", agent_loop(loop_settings(ctx)))
    return Prepared(tuple(arguments(settings)), variables(params), len(train), too_long)


def variables(params: TrainParams) -> dict[str, str]:
    """Environment variables of the run, this repository's place among them."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "TOKENIZERS_PARALLELISM": "false"}
    return {**environment(params), "PYTHONPATH": path, **quiet}


def loop_settings(ctx: StageContext[TrainParams]) -> LoopSettings:
    """What the agent loops are told."""
    params, sampling = ctx.params, ctx.params.grpo.sampling
    return LoopSettings(
        servers=tuple(ctx.block(BootstrapParams, "bootstrap").servers),
        rules=ctx.block(RewardRules, "reward"),
        described=params.policy.tool_summaries,
        threads=params.verl.threads,
        limits=Limits(
            prompt=params.max_prompt,
            response=params.verl.response,
            context=sampling.max_context,
            reply=sampling.max_new_tokens,
            tool_response=params.verl.tool_response,
            rounds=sampling.max_rounds,
            call_seconds=params.verl.call_seconds,
            episode_seconds=params.verl.episode_seconds,
        ),
    )


def agent_loop(settings: LoopSettings) -> str:
    """The YAML that registers our agent loop with verl."""
    entry = {
        "name": AGENT,
        "_target_": "stages.train.verl.agent_loop.EpisodeLoop",
        "settings": json.dumps(settings.model_dump(mode="json"), sort_keys=True),
    }
    return yaml.safe_dump([entry], sort_keys=False)


def longest_prompt(chat: ChatFormat, rows: Sequence[RlRow]) -> int:
    """Tokens of the longest prompt."""
    return max(len(chat.opening(row.tools, row.messages)) for row in rows)
