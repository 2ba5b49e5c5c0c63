"""A training run whose GRPO is verl's: rows out, the trainer in a process of its own, weights and journals back in."""

from __future__ import annotations

from importlib import util
from pathlib import Path

from stages.artifacts import ArtifactError
from stages.progress import Bar
from stages.stage import StageContext
from stages.train.journal import Journal
from stages.train.params import TrainParams
from stages.train.run import Trainer
from stages.train.verl.merge import last_step, merged
from stages.train.verl.prepare import prepare
from stages.train.verl.supervise import supervise


class ClusterTrainer(Trainer):
    """The local engine's run with another GRPO; a killed one goes on from verl's last checkpoint."""

    def __init__(self, ctx: StageContext[TrainParams]) -> None:
        super().__init__(ctx)
        self._cluster = ctx

    def reinforce(self, start: Path) -> Path:
        """GRPO from given weights; returns the directory of the new ones.

        Raises:
            ArtifactError: verl is not installed, failed, or got nowhere for too long; shows the end of its log.
            ParamsError: a setting would ruin the run.
        """
        target, work, steps = self.work / "final", (self.work / "verl").resolve(), self._cluster.params.grpo.steps
        prepared = prepare(self._cluster, start, self.work)
        self.metrics |= {"rl_rows": prepared.rows, "rl_rows_too_long": prepared.too_long}
        if target.exists():
            return target
        require_verl()
        checkpoints, log = self.work.resolve() / "checkpoints", work / "verl.log"
        if last_step(checkpoints) < steps:
            with self._cluster.progress(f"GRPO on verl, log in {log}", total=steps) as bar:
                watch = Watch(self._cluster, self.work, bar)
                seconds = self._cluster.params.verl.step_seconds
                supervise(prepared.command, prepared.variables, log, watch, seconds)
        if steps not in Journal(self.work / "grpo_log.jsonl").steps():
            cure = f"see {log}, remove {checkpoints}, run again"
            raise ArtifactError(f"step {steps} has a checkpoint and no figures: {cure}")
        return merged(checkpoints, steps, start, target, work / "merge.log")


class Watch:
    """Reads the journals that the trainer writes: moves the bar, and tracks each new line once."""

    def __init__(self, ctx: StageContext[TrainParams], work: Path, bar: Bar) -> None:
        self._ctx, self._bar = ctx, bar
        self._logs = {"grpo": work / "grpo_log.jsonl", "validation": work / "validation_log.jsonl"}
        self._seen = {"grpo": 0, "validation": -1}  # there is a validation before the first step
        self._sizes = dict.fromkeys(self._logs, -1)

    def __call__(self) -> int:
        """The last finished step."""
        for name, path in self._logs.items():
            size = path.stat().st_size if path.exists() else -1
            if size != self._sizes[name]:
                self._sizes[name] = size
                self._read(name, path)
        return self._seen["grpo"]

    def _read(self, name: str, path: Path) -> None:
        for step, lines in sorted(Journal(path).steps().items()):
            if step <= self._seen[name]:
                continue
            numbers = {key: value for key, value in lines[-1].items() if isinstance(value, int | float)}
            self._ctx.log_metrics({f"{name}/{key}": value for key, value in numbers.items()}, step)
            if name == "grpo":
                self._bar.advance(step - self._seen[name])
            self._seen[name] = step


def require_verl() -> None:
    """Raises ArtifactError where verl, or what its trainer needs, is not installed."""
    missing = [name for name in ("verl", "ray", "transfer_queue") if util.find_spec(name) is None]
    if missing:
        raise ArtifactError(
            f"train.engine verl needs {', '.join(missing)}: install the extra `verl` (pip install -e '.[verl]'), "
            "or requirements-gpu.txt for sampling with vLLM; docs/verl.md says more"
        )
