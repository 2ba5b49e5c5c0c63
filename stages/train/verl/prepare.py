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
from stages.train.order import mixed_seed
from stages.train.params import TrainParams
from stages.train.policy import load_chat
from stages.train.tables import rl_table
from stages.train.verl.checks import check_overrides
from stages.train.verl.data import write_rows
from stages.train.verl.limits import Limits, LoopSettings
from stages.train.verl.overrides import AGENT, arguments, environment, forks_workers, verl_overrides
from stages.train.verl.phase import FILE, Phase

ROOT = Path(__file__).parents[3]
MODULE = "stages.train.verl.main"
FORKS = "stages.train.verl.cpu.forks"
LOADED = "actor_rollout_ref.actor.checkpoint.load_contents"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that can be started: its modules, their arguments, environment variables and rows."""

    modules: tuple[str, ...]
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    rows: int
    too_long: int

    @property
    def command(self) -> list[str]:
        """The program and its arguments."""
        return [sys.executable, "-m", *self.modules, *self.arguments]

    def shell(self) -> str:
        """The command as a person can paste it."""
        lines = [f"{name}={shlex.quote(value)}" for name, value in self.variables.items()]
        lines += [
            f"{shlex.quote(sys.executable)} -m {' '.join(self.modules)}",
            *(f"  {shlex.quote(item)}" for item in self.arguments),
        ]
        return " \\\n".join(lines)


def whole(ctx: StageContext[TrainParams], work: Path) -> Phase:
    """All GRPO steps as one phase, with its files under `work`."""
    return phase_of(ctx, work, work, 0, ctx.params.grpo.steps)


def phase_of(ctx: StageContext[TrainParams], work: Path, directory: Path, first: int, last: int) -> Phase:
    """The steps after `first` up to `last` of this run."""
    return Phase(
        root=Path.cwd(), work=work.resolve(), directory=directory.resolve(), first=first, last=last,
        seed=ctx.seed, params=ctx.params, document=dict(ctx.document),
    )  # fmt: skip


def prepare(
    ctx: StageContext[TrainParams], start: Path, phase: Phase, restarts: int = 0, *, anew: bool = False
) -> Prepared:
    """Write a phase's rows and settings into its directory, and check what verl is going to be given.

    After each of the `restarts` that an alarm caused, the learning rate is half of what it was and rows come in
    another order. `anew` takes the weights alone from verl's last checkpoint: optimiser and rate begin anew.

    Raises:
        ParamsError: a setting would ruin the run; names each.
        ArtifactError: the dataset is missing or of other servers, or no row fits.
    """
    directory = phase.directory
    if ctx.block(RewardRules, "reward").needs_judge:
        raise ParamsError("reward: the cluster engine has no process judge: set reward.kind to dense or outcome")
    chat = load_chat(ctx.params.policy.model_copy(update={"base": str(start)}))
    train, too_long = rl_table(ctx, chat, "train")
    val = rl_table(ctx, chat, "val")[0][: ctx.params.validation.rows]
    seed = mixed_seed(ctx.seed, phase.first, restarts)
    settings = verl_overrides(_slowed(phase, restarts), start.resolve(), phase, len(train), seed)
    if anew:
        settings[LOADED] = ["model"]
    check_overrides(settings, len(train), longest_prompt(chat, train))
    write_rows(directory / "data" / "train.parquet", train, "train")
    write_rows(directory / "data" / "val.parquet", val, "val")
    write_text(directory / "agent_loop.yaml", agent_loop(loop_settings(ctx, phase.first)))
    write_text(directory / FILE, phase.model_dump_json(indent=1))
    modules = (FORKS, MODULE) if forks_workers(ctx.params) else (MODULE,)
    return Prepared(modules, tuple(arguments(settings)), variables(ctx.params), len(train), too_long)


def _slowed(phase: Phase, restarts: int) -> TrainParams:
    """The parameters with the phase's number of steps and its present learning rate."""
    grpo = phase.params.grpo
    optim = grpo.optim.model_copy(update={"lr": grpo.optim.lr / 2**restarts})
    steps = phase.last - phase.first
    return phase.params.model_copy(update={"grpo": grpo.model_copy(update={"optim": optim, "steps": steps})})


def variables(params: TrainParams) -> dict[str, str]:
    """Environment variables of the run, this repository's place among them."""
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH", "")) if part)
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "TOKENIZERS_PARALLELISM": "false"}
    if params.verl.device == "cpu":
        quiet["RAY_worker_niceness"] = "0"  # Ray's workers, who do all of the work here, yield to everybody by default
    return {**environment(params), "PYTHONPATH": path, **quiet}


def loop_settings(ctx: StageContext[TrainParams], first: int) -> LoopSettings:
    """What the agent loops are told."""
    params, sampling = ctx.params, ctx.params.grpo.sampling
    return LoopSettings(
        servers=tuple(ctx.block(BootstrapParams, "bootstrap").servers),
        rules=ctx.block(RewardRules, "reward"),
        described=params.policy.tool_summaries,
        threads=params.verl.threads,
        first=first,
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
