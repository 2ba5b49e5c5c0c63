"""Every row's right way: executed, it solves the row; its own tokens alone are marked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stages.records import Message
from stages.rollout import Episode, episode_for
from stages.train.demonstrate import demonstrate
from stages.train.supervision.demonstrations import Demonstrations
from stages.train.supervision.lessons import single_steps, whole_turn
from tests.stages.synthesize.writing import catalog
from tests.stages.train.supervision.material import acting, imitated, perfect, right, rows

pytestmark = pytest.mark.timeout(120)  # the conversations are written first


def test_every_demonstration_solves_its_row_with_the_calls_of_its_ground_truth() -> None:
    assert len(rows()) > 40
    for row in rows():
        episode = perfect(row)
        assert episode.reward.outcome, row.id
        said = [call for message in right().replies(row) for call in message.tool_calls]
        wanted = [(step.name, step.arguments) for step in row.truth]
        assert all((c.name, c.arguments) in wanted for c in said) and len(said) == len(wanted)


def test_mistakes_that_were_corrected_are_no_part_of_it() -> None:
    clumsy = [
        row
        for row in imitated()
        if any(m.role == "assistant" and not ok for m, ok in zip(row.messages, row.learn, strict=True))
    ]
    assert clumsy, "some conversation has a mistake"
    names = {row.id for row in clumsy}
    for row in (row for row in rows() if row.conversation in names):
        answered = {m.tool_call_id for m in right().of(row) if m.role == "tool"}
        assert answered == {call.id for m in right().replies(row) for call in m.tool_calls}


def test_a_row_whose_conversation_is_not_at_hand_has_none() -> None:
    assert Demonstrations([]).of(rows()[0]) == ()


def test_lessons_carry_loss_on_right_replies_alone() -> None:
    row = acting()
    turn = right().of(row)
    whole = whole_turn(row, turn)
    assert whole.messages == (*row.messages, *turn)
    assert [m.role for m, learnt in zip(whole.messages, whole.learn, strict=True) if learnt] == ["assistant"] * len(
        right().replies(row)
    )
    assert not any(whole.learn[: len(row.messages)])
    steps = list(single_steps(row, turn))
    assert len(steps) == len(right().replies(row))
    for step, reply in zip(steps, right().replies(row), strict=True):
        assert step.messages[-1] == reply
        assert step.learn == (*[False] * (len(step.messages) - 1), True)
        assert step.messages == whole.messages[: len(step.messages)]


class _Spelled:
    """One token a message part: own tokens are recognisable."""

    stop_ids = frozenset({9})
    one_call = False

    def opening(self, tools: object, messages: object) -> list[int]:
        return [1, 2]

    def reply(self, message: Message) -> list[int]:
        return [3, *(5 for _ in message.tool_calls), 9]

    def continuation(self, messages: list[Message], *, closed: bool = True) -> list[int]:
        return [7] * len(messages)


def _episode(rounds: int = 12) -> Episode:
    return episode_for(catalog(), acting(), rounds)


def test_a_demonstration_is_executed_and_marks_its_own_tokens() -> None:
    row = acting()
    replies = right().replies(row)
    shown = demonstrate(_Spelled(), _episode(), replies, 1000)  # type: ignore[arg-type]
    assert shown is not None and shown.origin == "demonstrated"
    assert [c.name for c in shown.record.calls] == [step.name for step in row.truth]
    assert shown.record.state_hash == row.state_hash
    assert {i for i, own in zip(shown.ids, shown.mask, strict=True) if not own} == {7}
    assert sum(shown.mask) == sum(2 + len(reply.tool_calls) for reply in replies)
    assert shown.logprobs == ()


def test_a_demonstration_that_does_not_fit_is_none() -> None:
    assert demonstrate(_Spelled(), _episode(), right().replies(acting()), 4) is None  # type: ignore[arg-type]


def test_a_format_of_one_call_a_message_gets_parallel_calls_one_after_another() -> None:
    class Single(_Spelled):
        one_call = True

    row = acting()
    calls = tuple(c for m in right().replies(row) for c in m.tool_calls)
    together = (replace(right().replies(row)[0], tool_calls=calls), Message("assistant", "Done."))
    shown = demonstrate(Single(), _episode(), together, 1000)  # type: ignore[arg-type]
    assert shown is not None
    assert shown.ids.count(9) == len(calls) + 1
