"""The command `export`: the dataset for other trainers, under `data/exports/`.

verl/{train,val,test}.parquet   RL rows for verl
sft.jsonl                       training conversations in the chat shape (TRL and others)
sharegpt.jsonl                  the same as ShareGPT
hub/                            a directory for `datasets.load_dataset` or the Hugging Face hub, with its card
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stages.artifacts import DATA, REPORTS, read_json, read_table, replaced_directory, write_table, write_text
from stages.dataset import REJECTED, RL_ROWS, SFT_ROWS, RlRow, Split, rl_row, sft_row
from stages.params import TeacherParams, ValidateParams
from stages.stage import StageContext
from stages.validate.card import dataset_card
from stages.validate.exports.conversational import chat_line, sharegpt_line
from stages.validate.exports.hub import write_hub
from stages.validate.exports.verl import VERL, verl_rows
from stages.validate.origins import PROVENANCE


def export(ctx: StageContext[ValidateParams]) -> Sequence[Path]:
    """Write data/exports/: the dataset for verl, TRL, ShareGPT readers and the Hugging Face hub."""
    source, mark = DATA / "dataset", ctx.catalog.fingerprint
    splits: tuple[Split, ...] = ("train", "val", "test")
    rl: dict[Split, list[RlRow]] = {
        name: [rl_row(row) for row in read_table(source / f"{name}.parquet", RL_ROWS, mark)] for name in splits
    }
    sft = [sft_row(row) for row in read_table(source / "sft.parquet", SFT_ROWS, mark)]
    others = {
        "provenance": read_table(source / "provenance.parquet", PROVENANCE, mark),
        "rejected": read_table(source / "rejected.parquet", REJECTED, mark),
    }
    metrics = read_json(REPORTS / "metrics" / "validate.json")
    teacher = ctx.block(TeacherParams, "teacher").model
    with replaced_directory(DATA / "exports") as target:
        for name, rows in rl.items():
            write_table(target / "verl" / f"{name}.parquet", VERL, verl_rows(rows, name), ctx.stamp)
        write_text(target / "sft.jsonl", _lines(chat_line(row) for row in sft))
        write_text(target / "sharegpt.jsonl", _lines(sharegpt_line(row) for row in sft))
        files = write_hub(target / "hub", rl, sft, others, ctx.stamp)
        write_text(target / "hub" / "README.md", dataset_card(metrics, mark, teacher, ctx.seed, files))
    return [DATA / "exports"]


def _lines(items: Iterable[Mapping[str, Any]]) -> str:
    return "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items)
