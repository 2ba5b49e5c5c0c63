"""What each signal adds: to groups, to memory, and to the pauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from stages.dataset import RlRow
from stages.records import Message
from stages.train.supervision.choice import signal_for
from stages.train.supervision.ets import Ets
from stages.train.supervision.hint import Hint, shortened
from stages.train.supervision.hinter import ProgrammaticHinter
from stages.train.supervision.mistakes import MistakeClass, first_mistake
from stages.train.supervision.ops import Ops
from stages.train.supervision.prs import Prs
from stages.train.supervision.reflector import QUESTION, ProgrammaticReflector
from stages.train.supervision.settings import SignalConfig
from stages.train.supervision.sft_then_rl import SftThenRl
from stages.train.supervision.signal import SAMPLED, Member, Signal
from tests.stages.train.supervision.material import acting, call, perfect, played, right, rows, silent

pytestmark = pytest.mark.timeout(120)  # the conversations are written first


def test_none_adds_nothing() -> None:
    signal = Signal()
    assert signal.pauses == () and signal.lessons(50) == []
    assert signal.groups(rows()[:2], 3) == [[SAMPLED] * 3] * 2


@pytest.mark.parametrize(("size", "count"), [(8, 1), (16, 2), (4, 1), (2, 1)])
def test_ops_demonstrates_an_eighth_of_each_group(size: int, count: int) -> None:
    group = Ops(right(), 1 / 8).groups([acting()], size)[0]
    assert group == [Member(replies=right().replies(acting()))] * count + [SAMPLED] * (size - count)


@pytest.mark.parametrize(("size", "count"), [(8, 2), (16, 4), (3, 1)])
def test_a_quarter_of_each_group_is_hinted_with_the_calls(size: int, count: int) -> None:
    group = Hint(ProgrammaticHinter(), 2 / 8, 300).groups([acting()], size)[0]
    assert [bool(member.hint) for member in group] == [True] * count + [False] * (size - count)
    assert all(step.name in group[0].hint for step in acting().truth)


def test_a_hint_tells_of_the_last_failure_of_its_own_row_alone() -> None:
    signal = Hint(ProgrammaticHinter(), 2 / 8, 300)
    other = next(row for row in rows() if row.truth and row.id != acting().id)
    signal.observe(1, [silent(acting()), perfect(other)])
    about, elsewhere = (signal.groups([row], 4)[0][0].hint for row in (acting(), other))
    assert "went wrong" in about and "went wrong" not in elsewhere


def test_a_hint_has_so_many_words_at_most() -> None:
    text = "one two three\nfour five six"
    assert shortened(text, 4) == "one two three\nfour"
    assert shortened(text, 3) == "one two three"
    assert shortened(text, 300) == text
    words = Hint(ProgrammaticHinter(), 2 / 8, 5).groups([acting()], 4)[0][0].hint.split()
    assert len(words) == 5


def test_sft_then_rl_learns_every_right_reply_once_before_the_first_step() -> None:
    signal = SftThenRl(rows(), right())
    assert signal.pauses == (0,)
    lessons = signal.lessons(0)
    assert len(lessons) == sum(len(right().replies(row)) for row in rows())
    assert all(sum(lesson.learn) == 1 and lesson.learn[-1] for lesson in lessons)


def _ets(failing: str = "all", window: int = 10) -> Ets:
    return Ets(rows(), right(), (50, 150), window, failing)  # type: ignore[arg-type]


def _wanting(count: int) -> Sequence[RlRow]:
    return [row for row in rows() if row.truth][:count]


def test_ets_learns_queries_of_the_last_ten_steps_that_all_failed() -> None:
    old, mixed, failed = _wanting(3)
    signal = _ets()
    signal.observe(40, [silent(old), silent(old)])
    signal.observe(41, [silent(mixed), perfect(mixed)])
    signal.observe(50, [silent(failed), silent(failed)])
    assert signal.pauses == (50, 150)
    assert [lesson.id for lesson in signal.lessons(50)] == [failed.id]
    assert signal.lessons(50)[0].messages == (*failed.messages, *right().of(failed))


def test_ets_with_any_takes_queries_that_failed_once() -> None:
    mixed, solved = _wanting(2)
    signal = _ets("any")
    signal.observe(50, [silent(mixed), perfect(mixed), perfect(solved)])
    assert [lesson.id for lesson in signal.lessons(50)] == [mixed.id]


def test_masked_episodes_are_no_failures_and_a_step_that_is_heard_again_counts_once() -> None:
    row = acting()
    lost = silent(row)
    masked = replace(lost, reward=lost.reward.model_copy(update={"masked": True}))
    signal = _ets()
    signal.observe(50, [masked])
    assert signal.lessons(50) == []
    signal.observe(50, [silent(row)])
    signal.observe(49, [perfect(row)])
    assert signal.lessons(50) == [], "going back to step 49 forgets step 50"


def test_prs_learns_a_reflection_and_a_correction_of_each_failure() -> None:
    row = acting()
    signal = Prs(rows(), _ets(), ProgrammaticReflector(), 3)
    failed = played(row, (call("no_such_tool", {}), Message("assistant", "Sorry.")))
    signal.observe(50, [failed])
    reflection, correction = signal.lessons(50)
    assert correction.messages == (*row.messages, *right().of(row))
    assert reflection.messages[: len(failed.record.messages)] == failed.record.messages
    assert reflection.messages[-2] == Message("user", QUESTION)
    text = reflection.messages[-1].content
    assert sum(reflection.learn) == 1 and reflection.learn[-1]
    assert row.messages[-1].content in text and MistakeClass.UNKNOWN_TOOL in text and "no_such_tool" in text
    assert all(step.name in text for step in row.truth)
    assert text.count("\n- ") <= 3


MISTAKES = [
    ((Message("assistant", "Sure."),), MistakeClass.NO_CALL),
    ((call("no_such_tool", {}),), MistakeClass.UNKNOWN_TOOL),
    ((call("", None, "{oops"),), MistakeClass.UNREADABLE_CALL),
    ((call("no_such_tool", {}), call("no_such_tool", {})), MistakeClass.UNKNOWN_TOOL),
]


@pytest.mark.parametrize(("replies", "kind"), MISTAKES)
def test_mistakes_are_classified_from_the_trace(replies: tuple[Message, ...], kind: MistakeClass) -> None:
    assert first_mistake(played(acting(), replies)).kind == kind


def test_a_truth_tool_with_bad_arguments_or_left_out_is_named() -> None:
    row = acting()
    first, *_, last = row.truth
    bad = first_mistake(played(row, (call(first.name, {"no_such_argument": 1}),)))
    assert (bad.kind, bad.tool) == (MistakeClass.BAD_ARGUMENTS, first.name)
    short = right().replies(row)[:-2]
    missing = first_mistake(played(row, (*short, Message("assistant", "Done."))))
    assert (missing.kind, missing.tool) == (MistakeClass.MISSING_CALL, last.name)


def test_a_call_where_none_is_wanted_is_needless() -> None:
    row = next(row for row in rows() if not row.truth)
    tool = next(tool.name for tool in row.tools)
    assert first_mistake(played(row, (call(tool, {}),))).kind == MistakeClass.NEEDLESS_CALL


class _Refused:
    is_scripted = True


@pytest.mark.parametrize(
    ("name", "kind"),
    [("none", Signal), ("sft_then_rl", SftThenRl), ("ops", Ops), ("hint", Hint), ("ets", Ets), ("prs", Prs)],
)
def test_the_name_chooses_the_signal(name: str, kind: type[Signal]) -> None:
    chosen = signal_for(name, SignalConfig(), rows(), right(), lambda: _Refused())  # type: ignore[arg-type,return-value]
    assert type(chosen) is kind
