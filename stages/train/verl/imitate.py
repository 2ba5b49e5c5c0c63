"""Supervised training on the cluster: verl's own SFT trainer over rows that are token ids already.

The warm start and a signal's lessons both come this way. Loss and masks are those of the local engine: the mean over
the policy's own tokens of a batch.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stages.artifacts import ArtifactError
from stages.chat import Encoded
from stages.params import ParamsError
from stages.train.config import SftConfig
from stages.train.params import TrainParams
from stages.train.sft import sft_steps
from stages.train.verl.merge import last_step, merged
from stages.train.verl.overrides import Overrides, arguments
from stages.train.verl.prepare import variables
from stages.train.verl.supervise import supervise

COLUMNS = pa.schema([("input_ids", pa.list_(pa.int32())), ("loss_mask", pa.list_(pa.bool_()))])
DATASET = Path(__file__).with_name("encoded.py")
MODULE = "verl.trainer.sft_trainer"
OnStep = Callable[[int, dict[str, float]], None]


def imitate(
    params: TrainParams,
    weights: Path,
    rows: Sequence[Encoded],
    config: SftConfig,
    work: Path,
    target: Path,
    on_step: OnStep,
) -> None:
    """Train on the rows from given weights; the new ones go to `target`, a killed run goes on from its checkpoint.

    Args:
        params: the training block, of which engine settings and adapters count.
        weights: directory of the weights to start from.
        rows: token ids with their loss masks.
        config: epochs, batch, learning rate.
        work: directory of this training's files.
        target: where the new weights go.
        on_step: hears each finished step (from 1) and its figures.

    Raises:
        ArtifactError: verl failed; shows the end of its log.
        ParamsError: the settings ask for what verl does not have.
    """
    work = work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    ranks = params.verl.gpus
    if params.verl.nodes > 1:
        raise ParamsError("supervised training on verl takes one machine: set train.verl.nodes to 1, or phases: [grpo]")
    batch = batch_rows(len(rows), config.batch_size, ranks)
    steps = sft_steps(len(rows), config)
    _write(work / "rows.parquet", repeated(rows, batch))
    epochs = math.ceil(steps / max(1, len(rows) // batch))
    checkpoints, log, figures = work / "checkpoints", work / "verl.log", work / "figures.jsonl"
    if last_step(checkpoints) < steps:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
        command += [
            "-m",
            MODULE,
            *arguments(sft_overrides(params, config, weights.resolve(), work, batch, steps, epochs)),
        ]
        heard = _Figures(figures, on_step)
        environment = {**variables(params), "VERL_FILE_LOGGER_PATH": str(figures)}
        supervise(command, environment, log, heard, params.verl.step_seconds)
    if last_step(checkpoints) < steps:
        raise ArtifactError(f"supervised training ended before its step {steps}: see {log}")
    merged(checkpoints / f"global_step_{steps}", weights, target, work / "merge.log")


def batch_rows(rows: int, wanted: int, ranks: int) -> int:
    """Rows of a step: at most what is wanted and what there is, and as many for each rank."""
    return max(ranks, min(wanted, rows) // ranks * ranks)


def repeated(rows: Sequence[Encoded], batch: int) -> list[Encoded]:
    """The rows, from the beginning again if there are fewer than a batch has."""
    return [rows[number % len(rows)] for number in range(max(len(rows), batch))]


def sft_overrides(
    params: TrainParams, config: SftConfig, weights: Path, work: Path, batch: int, steps: int, epochs: int
) -> Overrides:
    """All settings of verl's SFT trainer."""
    optim, cpu = config.optim, params.verl.device == "cpu"
    longest = max(optim.micro_tokens, config.max_length)
    lora: Overrides = {}
    if params.policy.lora_rank:
        lora = {
            "model.lora_rank": params.policy.lora_rank,
            "model.lora_alpha": round(params.policy.lora_alpha),
            "model.target_modules": "all-linear",
        }
    device: Overrides = {
        "trainer.device": "cpu",
        "model.use_remove_padding": False,
        "+model.override_config.attn_implementation": "sdpa",
        "model.enable_gradient_checkpointing": False,
        "engine.dtype": "float32",
        "engine.use_torch_compile": False,
        "data.use_dynamic_bsz": False,
        "data.micro_batch_size_per_gpu": max(1, batch // params.verl.gpus),
    }
    return {
        "data.train_files": str(work / "rows.parquet"),
        "data.train_batch_size": batch,
        "data.max_length": config.max_length,
        "data.max_token_len_per_gpu": longest,
        "data.custom_cls.path": str(DATASET),
        "data.custom_cls.name": "EncodedRows",
        "data.num_workers": 0,
        "model.path": str(weights),
        **lora,
        "engine.strategy": "fsdp2",
        "engine.seed": config.seed % 2**31,
        "optim.lr": optim.lr,
        "optim.lr_warmup_steps": max(optim.warmup_steps, round(optim.warmup_ratio * steps)),
        "optim.lr_scheduler_type": optim.schedule,
        "optim.weight_decay": optim.weight_decay,
        "optim.betas": [optim.beta1, optim.beta2],  # type: ignore[list-item]
        "optim.clip_grad": optim.max_grad_norm,
        "trainer.total_training_steps": steps,
        "trainer.total_epochs": epochs,
        "trainer.save_freq": config.checkpoint_every or steps,
        "trainer.logger": ["console", "file"],
        "trainer.default_local_dir": str(work / "checkpoints"),
        "trainer.max_ckpt_to_keep": params.verl.checkpoints,
        "trainer.seed": config.seed % 2**31,
        "trainer.n_gpus_per_node": params.verl.gpus,
        "hydra.run.dir": str(work / "hydra"),
        **(device if cpu else {}),
    }


class _Figures:
    """Tells each new line of the trainer's file of figures once; a restarted trainer begins the file anew."""

    def __init__(self, path: Path, on_step: OnStep) -> None:
        self._path, self._on_step = path, on_step
        self._seen = 0

    def __call__(self) -> int:
        """The last finished step."""
        lines = self._path.read_bytes().split(b"\n")[:-1] if self._path.exists() else []
        for line in lines:
            told = json.loads(line)
            if told["step"] > self._seen:
                self._seen = told["step"]
                names = {"train/loss": "loss", "train/grad_norm": "grad_norm", "train/lr": "lr"}
                data = told["data"]
                self._on_step(self._seen, {ours: float(data[name]) for name, ours in names.items() if name in data})
        return self._seen


def _write(path: Path, rows: Sequence[Encoded]) -> None:
    table = pa.Table.from_pylist([{"input_ids": list(row.ids), "loss_mask": list(row.mask)} for row in rows], COLUMNS)
    scratch = path.with_name(f".{path.name}.writing")
    pq.write_table(table, scratch, compression="zstd")
    scratch.replace(path)
