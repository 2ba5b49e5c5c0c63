"""Rows of token ids with loss masks, as verl's SFT trainer reads them: nothing is rendered or tokenised again."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import torch
from torch import Tensor


class EncodedRows:
    """`parquet_files` is one file with the columns `input_ids` and `loss_mask`; the other arguments are verl's."""

    def __init__(self, parquet_files: Any, **_: Any) -> None:
        path = parquet_files if isinstance(parquet_files, str) else parquet_files[0]
        self._rows = pq.read_table(path, columns=["input_ids", "loss_mask"])

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        row = {name: self._rows[name][index].as_py() for name in ("input_ids", "loss_mask")}
        ids = torch.tensor(row["input_ids"], dtype=torch.long)
        return {
            "input_ids": ids,
            "position_ids": torch.arange(len(ids)),
            "loss_mask": torch.tensor(row["loss_mask"], dtype=torch.long),
        }
