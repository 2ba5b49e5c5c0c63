"""A training run on the cluster: the local engine's run, with supervised training and GRPO by verl."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import util
from pathlib import Path

from stages.artifacts import ArtifactError
from stages.chat import Encoded
from stages.dataset import RlRow
from stages.stage import StageContext
from stages.train.config import GrpoConfig, SftConfig
from stages.train.journal import Journal
from stages.train.params import TrainParams
from stages.train.phases import Phases
from stages.train.run import Trainer
from stages.train.sft import sft_steps
from stages.train.supervision.signal import Signal
from stages.train.verl.imitate import imitate
from stages.train.verl.phases import ClusterPhases


class ClusterTrainer(Trainer):
    """The same phases on verl; a killed run goes on from verl's last checkpoint."""

    def __init__(self, ctx: StageContext[TrainParams]) -> None:
        super().__init__(ctx)
        self._cluster = ctx

    def imitate(self, weights: Path, rows: Sequence[Encoded], config: SftConfig, name: str, target: Path) -> None:
        """Supervised training from given weights to `target`; logs and checkpoints bear the name.

        Raises:
            ArtifactError: verl is not installed, or failed; shows the end of its log.
        """
        require_verl()
        journal = Journal(self.work / f"{name}_log.jsonl")
        start = weights if weights.is_dir() else self.as_given()
        with self._cluster.progress(f"Supervised on verl, {name}", total=sft_steps(len(rows), config)) as bar:

            def on_step(step: int, metrics: dict[str, float]) -> None:
                journal.add(step, metrics)
                self._cluster.log_metrics({f"{name}/{key}": value for key, value in metrics.items()}, step)
                bar.advance(1)

            imitate(self._cluster.params, start, rows, config, self.work / "verl" / name, target, on_step)

    def phases(self, rows: Sequence[RlRow], signal: Signal, config: GrpoConfig) -> Phases:
        """The phases of GRPO on verl."""
        require_verl()
        return ClusterPhases(self._cluster, self.work, signal, config, self.imitate)


def require_verl() -> None:
    """Raises ArtifactError where verl, or what its trainer needs, is not installed."""
    missing = [name for name in ("verl", "ray", "transfer_queue") if util.find_spec(name) is None]
    if missing:
        raise ArtifactError(
            f"train.engine verl needs {', '.join(missing)}: install the extra `verl` (pip install -e '.[verl]'), "
            "or requirements-gpu.txt for sampling with vLLM; docs/verl.md says more"
        )
