"""The rows of the dataset that training takes: RL rows of a split, and the conversations that are imitated."""

from __future__ import annotations

from stages.artifacts import DATA, ArtifactError, read_table
from stages.chat import ChatFormat
from stages.dataset import RL_ROWS, SFT_ROWS, RlRow, SftRow, rl_row, sft_row
from stages.stage import StageContext
from stages.train.params import TrainParams
from stages.train.rows import fitting_rl


def rl_table(ctx: StageContext[TrainParams], chat: ChatFormat, split: str) -> tuple[list[RlRow], int]:
    """The rows of a split that are wanted and whose prompts fit, and how many are too long.

    Raises:
        ArtifactError: no row fits.
    """
    source = DATA / "dataset" / f"{split}.parquet"
    rows = [rl_row(row) for row in read_table(source, RL_ROWS, ctx.catalog.fingerprint)]
    if ctx.params.rows == "acting":
        rows = [row for row in rows if row.truth]
    fitting = fitting_rl(chat, rows, ctx.params.max_prompt)
    if not fitting:
        raise ArtifactError(f"no row of {source} has at most {ctx.params.max_prompt} tokens: raise train.max_prompt")
    return fitting, len(rows) - len(fitting)


def sft_table(ctx: StageContext[TrainParams]) -> list[SftRow]:
    """The training conversations."""
    table = read_table(DATA / "dataset" / "sft.parquet", SFT_ROWS, ctx.catalog.fingerprint)
    return [sft_row(row) for row in table]
