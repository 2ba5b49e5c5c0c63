"""`python -m stages.validate`: keep the conversations that hold, and make the dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stages.artifacts import (
    DATA,
    REPORTS,
    ArtifactError,
    read_table,
    replaced_directory,
    write_json,
    write_table,
    write_text,
)
from stages.conversations import CONVERSATIONS, Conversation, from_row
from stages.dataset import REJECTED, RL_ROWS, SFT_ROWS, RlRow, row_to_plain
from stages.params import TeacherParams, ValidateParams
from stages.stage import StageContext, run_stage
from stages.validate.card import dataset_card
from stages.validate.duplicates import Deduplicator
from stages.validate.expectations import check_contracts, conversation_frame, row_frame
from stages.validate.provenance import check_provenance
from stages.validate.reasons import Reason, Rejection
from stages.validate.replay import check_replay
from stages.validate.rows import rl_rows, sft_rows, split_of
from stages.validate.structure import check_structure


def main(ctx: StageContext[ValidateParams]) -> Sequence[Path]:
    """Check every conversation, split the accepted ones, and write rows, rejections, docs and card."""
    source = DATA / "conversations" / "conversations.parquet"
    accepted: list[Conversation] = []
    rejected: list[tuple[Conversation, Rejection]] = []
    table = read_table(source, CONVERSATIONS, ctx.catalog.fingerprint)
    duplicates = Deduplicator(ctx.params.near_duplicate)
    with ctx.progress("Replaying conversations", total=len(table)) as bar:
        for plain in table:
            conversation = from_row(plain)
            rejection = check(ctx, conversation, duplicates)
            if rejection is None:
                accepted.append(conversation)
            else:
                rejected.append((conversation, rejection))
            bar.advance(1, failed=int(rejection is not None))
    if not accepted:
        reasons = ", ".join(f"{r.reason} ({c.id}: {r.detail})" for c, r in rejected[:3])
        raise ArtifactError(f"none of {len(table)} conversations in {source} is valid: {reasons}")
    return write(ctx, accepted, rejected)


def check(ctx: StageContext[ValidateParams], conversation: Conversation, duplicates: Deduplicator) -> Rejection | None:
    """Why a conversation is rejected, or None."""
    found = (
        check_structure(conversation)
        or check_provenance(ctx.catalog, conversation)
        or check_replay(ctx.catalog, conversation, ctx.params.max_error_rate)
    )
    if found is None:
        original = duplicates.duplicate_of(conversation)
        found = Rejection(Reason.NEAR_DUPLICATE, f"repeats {original}") if original else None
    return found


def write(
    ctx: StageContext[ValidateParams],
    accepted: Sequence[Conversation],
    rejected: Sequence[tuple[Conversation, Rejection]],
) -> Sequence[Path]:
    """Write the dataset, the contract's results and the metrics."""
    splits = {c.id: split_of(c, ctx.params, ctx.seed) for c in accepted}
    rows: dict[str, list[RlRow]] = {"train": [], "val": [], "test": []}
    for conversation in accepted:
        rows[splits[conversation.id]] += rl_rows(conversation)
    imitated = list(sft_rows(c for c in accepted if splits[c.id] == "train"))
    frame = pl.concat(row_frame(part, name) for name, part in rows.items() if part)
    contract, page = check_contracts(conversation_frame(accepted), frame)
    metrics = summary(accepted, rejected, rows, len(imitated), bool(contract["success"]))
    teacher = ctx.block(TeacherParams, "teacher").model
    with replaced_directory(DATA / "dataset") as target:
        for name, part in rows.items():
            write_table(target / f"{name}.parquet", RL_ROWS, [row_to_plain(row) for row in part], ctx.stamp)
        write_table(target / "sft.parquet", SFT_ROWS, [row_to_plain(row) for row in imitated], ctx.stamp)
        refused = [
            {"id": c.id, "kind": c.kind, "server": c.server, "reason": r.reason.value, "detail": r.detail}
            for c, r in rejected
        ]
        write_table(target / "rejected.parquet", REJECTED, refused, ctx.stamp)
        write_text(target / "README.md", dataset_card(metrics, ctx.stamp.fingerprint, teacher, ctx.seed))
    write_json(REPORTS / "expectations" / "expectations.json", contract)
    write_text(REPORTS / "expectations" / "index.html", page)
    write_json(REPORTS / "metrics" / "validate.json", metrics)
    ctx.log_metrics({k: v for k, v in metrics.items() if isinstance(v, int | float)})
    if not contract["success"]:
        broken = [e for suite in contract["suites"] for e in suite["expectations"] if not e["success"]]
        raise ArtifactError(f"the dataset breaks its contract: {broken[0]}; see reports/expectations/")
    return [DATA / "dataset", REPORTS / "expectations", REPORTS / "metrics" / "validate.json"]


def summary(
    accepted: Sequence[Conversation],
    rejected: Sequence[tuple[Conversation, Rejection]],
    rows: dict[str, list[RlRow]],
    imitated: int,
    contract: bool,
) -> dict[str, Any]:
    """Counts for the report."""
    return {
        "accepted": len(accepted),
        "rejected": len(rejected),
        "acceptance_rate": round(len(accepted) / (len(accepted) + len(rejected)), 4),
        "reasons": dict(sorted(Counter(r.reason.value for _, r in rejected).items())),
        "kinds": dict(sorted(Counter(c.kind for c in accepted).items())),
        "servers": len({c.server for c in accepted}),
        "rows": {name: len(part) for name, part in rows.items()},
        "sft_rows": imitated,
        "tools_called": len({call.name for c in accepted for turn in c.turns for call in turn.truth}),
        "contract_holds": contract,
    }


if __name__ == "__main__":
    run_stage("validate", ValidateParams, main)
