"""Figures of a small hand-made trajectory and of a pack."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from stages.records import EpisodeRecord, Message, ToolCall
from stages.train.batched_rollout import Trajectory
from stages.train.losses import low_var_kl
from stages.train.monitor.control import ControlTokens
from stages.train.monitor.measure import divergence_metrics, form_metrics
from stages.train.packing import Row, pack_sequences
from tests.stages.train.monitor.formats import chat_of

CHAT, TOKENIZER = chat_of("plain")
CONTROL = ControlTokens(CHAT, TOKENIZER)
RECORD = EpisodeRecord((), (), "hash", "answered")
CALL = CHAT.reply(Message("assistant", "", (ToolCall("c", "pay", {"to": "Zoë"}),)))
SAID = CHAT.reply(Message("assistant", "Done."))
BETWEEN = CHAT.continuation([Message("tool", "<tool_call></tool_call>")])
(STOP,) = set(SAID) & CHAT.stop_ids


def encoded(text: str) -> list[int]:
    return list(TOKENIZER(text, add_special_tokens=False)["input_ids"])


def episode(*parts: tuple[list[int], float | None]) -> Trajectory:
    """An episode of replies, whose tokens all have one log-probability, and of what came between (None)."""
    ids = [i for part, _ in parts for i in part]
    mask = [p is not None for part, p in parts for _ in part]
    logprobs = [p or 0.0 for part, p in parts for _ in part]
    return Trajectory((1,), tuple(ids), tuple(mask), tuple(logprobs), RECORD)


def test_replies_are_told_apart_and_counted() -> None:
    first = episode((CALL, -1.0), (BETWEEN, None), (SAID, -3.0))
    second = episode(([*encoded("<tool_call></tool_call>"), STOP], -2.0))
    third = episode((encoded('<tool_call>{"name'), -4.0))
    found = form_metrics([first, second, third], CONTROL, CHAT)
    assert {key.removeprefix("forms/"): value for key, value in found.items() if key.startswith("forms/")} == {
        "call": 0.5,
        "response": 0.25,
        "polluted": 0,
        "collapsed": 0.25,
    }
    assert (found["control/open"], found["control/close"], found["control/stop"]) == (0.75, 0.5, 0.75)
    assert (found["empty_calls"], found["unterminated_calls"]) == (0.25, 0.25)


def test_log_probabilities_of_control_tokens_and_of_the_rest() -> None:
    call = [m is not None for m in CONTROL.labels(CALL)]
    trajectory = episode((CALL, -1.0), (BETWEEN, None), (SAID, -3.0))
    found = form_metrics([trajectory], CONTROL, CHAT)
    controls, rest = sum(call), len(call) - sum(call)
    assert found["control_logprob"] == pytest.approx(-(controls + 3) / (controls + 1))
    assert found["text_logprob"] == pytest.approx(-(rest + 3 * 5) / (rest + 5))


def test_repetition_is_a_mean_over_replies() -> None:
    found = form_metrics([episode(([7] * 8, -1.0), (BETWEEN, None), (SAID, -1.0))], CONTROL, CHAT)
    assert found["repetition"] == pytest.approx(4 / 5 / 2)


def test_nothing_sampled_says_nothing() -> None:
    assert form_metrics([], CONTROL, CHAT) == {}
    assert form_metrics([Trajectory((1,), (), (), (), RECORD)], CONTROL, CHAT) == {}


def test_replies_without_a_record_of_log_probabilities_have_forms_alone() -> None:
    found = form_metrics([Trajectory((1,), tuple(SAID), (True,) * len(SAID), (), RECORD)], CONTROL, CHAT)
    assert found["forms/response"] == 1
    assert not {"control_logprob", "text_logprob"} & set(found)


def pack() -> Any:
    ids = [*CALL, *BETWEEN, *SAID]
    mask = [True] * len(CALL) + [False] * len(BETWEEN) + [True] * len(SAID)
    rows = [Row((1, 2), tuple(SAID), (True,) * len(SAID)), Row((1, 2), tuple(ids), tuple(mask))]
    (made,) = pack_sequences(rows, 10_000)
    return made


def test_divergence_is_parted_token_by_token() -> None:
    made = pack()
    control = torch.tensor([m is not None for row in ([*CALL], [*SAID], [*SAID]) for m in CONTROL.labels(row)])
    assert torch.equal(made.target, torch.tensor([*CALL, *SAID, *SAID]))
    own, reference = -torch.rand(len(control), generator=torch.Generator().manual_seed(0)), torch.zeros(len(control))
    found = divergence_metrics([made.sequences] * 2, [own, own], [reference, reference], CONTROL)
    kl = low_var_kl(own, reference)
    assert found == pytest.approx({"control_kl": float(kl[control].mean()), "text_kl": float(kl[~control].mean())})


def test_tokens_without_a_record_are_left_out() -> None:
    made = pack()
    own = torch.full((len(made.target),), -1.0)
    own[made.member == 1] = math.nan
    zero = torch.zeros(len(own))
    expected = float(low_var_kl(torch.tensor(-1.0), torch.tensor(0.0)))
    assert divergence_metrics([made.sequences], [own], [zero], CONTROL) == pytest.approx(
        {"control_kl": expected, "text_kl": expected}
    )
    assert divergence_metrics([made.sequences], [own * math.nan], [zero], CONTROL) == {}
    assert divergence_metrics([], [], [], CONTROL) == {}
