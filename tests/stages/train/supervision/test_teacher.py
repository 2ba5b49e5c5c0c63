"""Hints and reflections of a teacher: what it is told, what becomes of its words, and of its silence."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from stages.records import Message
from stages.teacher.client import Teacher
from stages.teacher.provider import load_litellm
from stages.train.supervision.ets import Ets
from stages.train.supervision.hint import Hint
from stages.train.supervision.hinter import TeacherHinter
from stages.train.supervision.prs import Prs
from stages.train.supervision.reflector import TeacherReflector
from stages.train.supervision.signal import SAMPLED
from tests.stages.teacher.loopback import KEY, Provider, listening, message, refusal, settings
from tests.stages.train.supervision.material import acting, call, played, right, rows

load_litellm()  # takes many seconds on a busy machine, which are no test's own
pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with listening() as found:
        yield found


def told(provider: Provider, number: int) -> dict[str, object]:
    facts: dict[str, object] = json.loads(provider.requests[number]["messages"][1]["content"])
    return facts


def test_a_teachers_hint_is_used_and_cut_to_its_words(provider: Provider) -> None:
    provider.answer = lambda request, number: message("Look the payee up first, then pay.")
    signal = Hint(TeacherHinter(Teacher(settings(provider), "reflector"), 4), 2 / 8, 4)
    for _ in range(2):  # the asker outlives one round of questions
        first, second = signal.groups([acting(), rows()[0]], 4)
        assert [member.hint for member in first] == ["Look the payee up", "", "", ""] and second[0].hint
    facts = told(provider, 0)
    asked = {acting().messages[-1].content, rows()[0].messages[-1].content}
    assert facts["request"] in asked and "right_calls" in facts
    assert "4 words" in provider.requests[0]["messages"][0]["content"]


def test_where_the_teacher_fails_the_group_is_sampled_as_a_whole(provider: Provider) -> None:
    provider.answer = lambda request, number: refusal(500)
    signal = Hint(TeacherHinter(Teacher(settings(provider), "reflector"), 300), 2 / 8, 300)
    assert signal.groups([acting()], 4) == [[SAMPLED] * 4]


@pytest.mark.parametrize(("answers", "lessons"), [(True, 2), (False, 1)])
def test_a_teachers_reflection_is_learnt_and_without_one_the_correction_alone(
    provider: Provider, answers: bool, lessons: int
) -> None:
    provider.answer = lambda request, number: message("I named a tool that is not there.") if answers else refusal(500)
    reflector = TeacherReflector(Teacher(settings(provider), "reflector"))
    signal = Prs(rows(), Ets(rows(), right(), (2,), 10, "all"), reflector, 3)
    signal.observe(2, [played(acting(), (call("no_such_tool", {}), Message("assistant", "Sorry.")))])
    found = signal.lessons(2)
    assert len(found) == lessons
    if answers:
        assert found[0].messages[-1] == Message("assistant", "I named a tool that is not there.")
        facts = told(provider, 0)
        assert facts["calls"] and len(facts["similar_requests"]) <= 3  # type: ignore[arg-type]
