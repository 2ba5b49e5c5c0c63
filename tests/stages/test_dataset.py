"""The dataset's rows in their tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from stages.artifacts import ArtifactError, Stamp, read_table, write_table
from stages.dataset import RL_ROWS, SFT_ROWS, ReplayStep, RlRow, SftRow, rl_row, row_to_plain, sft_row
from stages.records import Message, ToolCall, ToolSpec, TruthCall

TOOLS = (ToolSpec("f", "does", {"type": "object", "properties": {"é": {"enum": ["a", None]}}}),)
MESSAGES = (
    Message("user", "hëllo\n\x00\u2028"),
    Message("assistant", "", (ToolCall("c", "f", {"x": [1, 2.5, None, True]}), ToolCall("d", "g", None, "{", "bad"))),
    Message("tool", "{}", tool_call_id="c"),
)
ROW = RlRow(
    "r/0", "r", 0, "multi_turn", "banking", 7, TOOLS, MESSAGES,
    (ReplayStep("", {}), ReplayStep("f", {"x": 1})), (TruthCall("f", {"x": 1}, (0,)),), "0" * 32,
)  # fmt: skip
STAMP = Stamp("fingerprint-a", "params-a")


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    sft = SftRow("s", "abstention", "banking", TOOLS, MESSAGES, (False, True, False))
    write_table(tmp_path / "rl.parquet", RL_ROWS, [row_to_plain(ROW)], STAMP)
    write_table(tmp_path / "sft.parquet", SFT_ROWS, [row_to_plain(sft)], STAMP)
    assert [rl_row(row) for row in read_table(tmp_path / "rl.parquet", RL_ROWS, STAMP.fingerprint)] == [ROW]
    assert [sft_row(row) for row in read_table(tmp_path / "sft.parquet", SFT_ROWS, STAMP.fingerprint)] == [sft]


def test_a_table_of_other_servers_is_refused_with_both_fingerprints_and_the_cure(tmp_path: Path) -> None:
    path = tmp_path / "rl.parquet"
    write_table(path, RL_ROWS, [row_to_plain(ROW)], STAMP)
    with pytest.raises(ArtifactError, match=r"fingerprint-a, these are fingerprint-b.*stages\.bootstrap diff"):
        read_table(path, RL_ROWS, "fingerprint-b")
    assert len(read_table(path, RL_ROWS, None)) == 1
