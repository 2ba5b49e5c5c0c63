"""`dataset.html`: every conversation, accepted or not, and the state machine with its traffic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stages.conversations import CONVERSATIONS, Transition, from_row
from stages.report.inputs import Inputs
from stages.report.pages.trajectories import Spread, catalogue, not_run_again
from stages.report.viewer.conversations import FACETS, MEASURES, ConversationSource, Fate
from stages.report.viewer.shards import ShardWriter

TABLE = "conversations/conversations.parquet"


def write_conversations(inputs: Inputs, target: Path) -> tuple[dict[str, Any], Counter[Transition]]:
    """Write the data of the page into a directory; returns its header and the state machine's traffic.

    Raises:
        ArtifactError: a table is missing or damaged, or lacks a column.
    """
    total = inputs.count(TABLE)
    spread = Spread(min(inputs.params.state_diffs, total), total)
    limit = not_run_again(inputs, total)
    source = ConversationSource(inputs.catalog, catalogue(inputs), _fates(inputs))
    writer = ShardWriter(target, FACETS, MEASURES)
    traffic: Counter[Transition] = Counter()
    for plain in inputs.stream(TABLE, CONVERSATIONS.names):
        told = from_row(plain)
        traffic.update(told.transitions)
        writer.add(source.entry(told, with_diff=spread.picks(writer.count), limit=limit))
    return writer.close(), traffic


def _fates(inputs: Inputs) -> Mapping[str, Fate]:
    found = {}
    for split in ("train", "val", "test"):
        for row in inputs.stream(f"dataset/{split}.parquet", ["conversation"]):
            found[row["conversation"]] = Fate("accepted", split=split)
    for row in inputs.stream("dataset/rejected.parquet", ["id", "reason", "detail"]):
        status = "over quota" if row["reason"] == "over_quota" else "rejected"
        found[row["id"]] = Fate(status, row["reason"], row["detail"])
    return found
