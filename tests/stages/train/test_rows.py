"""Rows for the engine: whole turns that fit, failed messages shown but not learnt."""

from __future__ import annotations

from stages.dataset import SftRow
from stages.records import Message, ToolCall
from stages.train.rows import encode_sft
from tests.stages.train.conftest import CALL, ToyChat

TALK = (
    Message("user", "11"),
    Message("assistant", "2", (ToolCall("a", "say", {}),)),
    Message("tool", "9", tool_call_id="a"),
    Message("assistant", "3"),
    Message("user", "44"),
    Message("assistant", "5"),
)


def row(*learn: bool) -> SftRow:
    return SftRow("r", "multi_turn", "s", (), TALK, learn)


def test_a_failed_message_is_shown_and_not_learnt() -> None:
    (encoded,) = encode_sft(ToyChat(), [row(False, False, False, True, False, True)], 100).rows
    learnt = [token for token, own in zip(encoded.ids, encoded.mask, strict=True) if own]
    assert CALL in encoded.ids and CALL not in learnt
    (whole,) = encode_sft(ToyChat(), [row(False, True, False, True, False, True)], 100).rows
    assert whole.ids == encoded.ids and CALL in [t for t, own in zip(whole.ids, whole.mask, strict=True) if own]


def test_a_long_conversation_is_cut_after_a_whole_turn() -> None:
    full = encode_sft(ToyChat(), [row(False, True, False, True, False, True)], 100)
    length = len(full.rows[0].ids)
    assert (full.cut, full.left_out) == (0, 0)
    cut = encode_sft(ToyChat(), [row(False, True, False, True, False, True)], length - 1)
    assert (cut.cut, cut.left_out) == (1, 0)
    assert full.rows[0].ids[: len(cut.rows[0].ids)] == cut.rows[0].ids
    none = encode_sft(ToyChat(), [row(False, True, False, True, False, True)], 3)
    assert (none.rows, none.left_out) == ((), 1)


def test_a_turn_without_anything_to_learn_is_left_out() -> None:
    only_second = encode_sft(ToyChat(), [row(False, False, False, False, False, True)], 11)
    assert only_second.left_out == 1
