"""Supervised training on verl: what its trainer is given, and what comes back of its figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from servers.kernel.catalog import Catalog
from stages.artifacts import ArtifactError
from stages.chat import ChatFormat, Encoded
from stages.params import ParamsError, check_block
from stages.train.config import SftConfig
from stages.train.params import TrainParams
from stages.train.rows import encode_sft
from stages.train.verl.encoded import EncodedRows
from stages.train.verl.imitate import batch_rows, imitate, repeated
from tests.stages.train.verl.small import sft_rows

CONFIG = SftConfig(epochs=2.0, batch_size=3, max_length=600)


@pytest.fixture
def rows(catalog: Catalog, chat: ChatFormat) -> tuple[Encoded, ...]:
    return encode_sft(chat, sft_rows(catalog), 600).rows


def params(**verl: Any) -> TrainParams:
    found: TrainParams = check_block(TrainParams, {"verl": {"gpus": 1, "device": "cpu", **verl}}, "train")
    return found


@pytest.mark.parametrize(
    ("rows", "wanted", "ranks", "found"), [(100, 128, 8, 96), (500, 128, 8, 128), (3, 128, 8, 8), (4, 3, 1, 3)]
)
def test_a_batch_is_as_many_for_each_rank(rows: int, wanted: int, ranks: int, found: int) -> None:
    assert batch_rows(rows, wanted, ranks) == found


def test_few_rows_come_more_than_once(rows: tuple[Encoded, ...]) -> None:
    assert repeated(rows[:3], 8) == [*rows[:3], *rows[:3], *rows[:2]]
    assert repeated(rows, 2) == list(rows)


def test_rows_reach_the_trainer_token_by_token_and_figures_come_back(
    tmp_path: Path, rows: tuple[Encoded, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []

    def trainer(
        command: Sequence[str], variables: Mapping[str, str], log: Path, tick: Any = None, idle: float = 0
    ) -> None:
        asked.append(command)
        if "verl.model_merger" in command:
            target = Path(command[command.index("--target_dir") + 1])
            (target / "config.json").write_text("{}")
            (target / "model.safetensors").write_text("merged")
            return
        lines = [{"step": step, "data": {"train/loss": 1.0 / step, "train/other": 0}} for step in (1, 2, 3)]
        Path(variables["VERL_FILE_LOGGER_PATH"]).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        assert tick() == 3
        (log.parent / "checkpoints" / "global_step_3").mkdir(parents=True)
        (log.parent / "checkpoints" / "latest_checkpointed_iteration.txt").write_text("3")

    monkeypatch.setattr("stages.train.verl.imitate.supervise", trainer)
    monkeypatch.setattr("stages.train.verl.merge.supervise", trainer)
    heard: list[tuple[int, dict[str, float]]] = []
    work, target = tmp_path / "work", tmp_path / "sft"
    imitate(params(), tmp_path, rows, CONFIG, work, target, lambda step, told: heard.append((step, told)))
    assert heard == [(1, {"loss": 1.0}), (2, {"loss": 0.5}), (3, {"loss": pytest.approx(1 / 3)})]
    assert (target / "model.safetensors").exists() and len(asked) == 2
    assert "trainer.total_training_steps=3" in asked[0], "4 rows, 2 epochs, 3 rows a step"
    read = EncodedRows(parquet_files=[str(work / "rows.parquet")])
    assert [tuple(read[place]["input_ids"].tolist()) for place in range(len(read))] == [row.ids for row in rows]
    assert [tuple(map(bool, read[place]["loss_mask"])) for place in range(len(read))] == [row.mask for row in rows]


def test_a_trainer_that_ends_early_is_an_error(
    tmp_path: Path, rows: tuple[Encoded, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stages.train.verl.imitate.supervise", lambda *_: None)
    with pytest.raises(ArtifactError, match="ended before its step 3"):
        imitate(params(), tmp_path, rows, CONFIG, tmp_path / "work", tmp_path / "sft", lambda *_: None)


def test_several_machines_are_refused(tmp_path: Path, rows: tuple[Encoded, ...]) -> None:
    with pytest.raises(ParamsError, match=r"train\.verl\.nodes to 1"):
        imitate(params(nodes=2), tmp_path, rows, CONFIG, tmp_path / "work", tmp_path / "sft", lambda *_: None)
