"""A teacher as the judge: what it is shown, what of its answer counts, and how far it agrees."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

from stages.params import ParamsError, TeacherParams
from stages.records import Message
from stages.skills.agreement import agreement, cohens_kappa, exact_agreement
from stages.skills.judge import ProgramJudge
from stages.skills.library import Library, Settings, built, tallied
from stages.skills.router import Router
from stages.skills.teacher_judge import TeacherJudge, read_scores
from stages.teacher.client import Completion, Teacher
from stages.teacher.errors import Failure, TeacherError
from stages.teacher.provider import load_litellm
from tests.stages.skills.bank import FACTS
from tests.stages.skills.labelled import LABELLED

load_litellm()  # takes many seconds on a busy machine, which are no test's own

TRAJECTORY, _ = LABELLED["takes names for identifiers"]


class Voice:
    """A teacher whose answers are made by a function of the request and its number."""

    is_scripted = False

    def __init__(self, answer: Callable[[dict[str, Any], int], str]) -> None:
        self.answer = answer
        self.told: list[str] = []
        self.shown: dict[str, Any] = {}
        self.faults: list[tuple[str, bool]] = []

    def unusable(self, reason: Failure, cause: str, *, for_good: bool = True) -> TeacherError:
        self.faults.append((cause, for_good))
        return TeacherError("voice", reason, cause)

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        self.told.append(messages[0].content)
        self.shown = json.loads(messages[-1].content)
        return Completion(Message("assistant", self.answer(self.shown, len(self.told))), 1, 1, 0.0)


def library() -> Library:
    return built(tallied([trajectory for trajectory, _ in LABELLED.values()], FACTS), Settings(min_cluster_size=5))


async def asked(voice: Voice) -> list[int | None]:
    made = library()
    verdicts = ProgramJudge(FACTS, Router(made)).verdicts(TRAJECTORY)
    return await TeacherJudge(voice, made).scores(TRAJECTORY, verdicts)  # type: ignore[arg-type]


def everywhere(score: object) -> Callable[[dict[str, Any], int], str]:
    return lambda shown, _: json.dumps([{"subgoal": n, "score": score} for n in range(len(shown["subgoals"]))])


async def test_it_sees_the_turn_its_subgoals_and_what_to_check_but_no_score() -> None:
    voice = Voice(everywhere(2))
    assert await asked(voice) == [2, 2, 2]
    first = voice.shown["subgoals"][0]
    assert first["steps"] == ["send_payment at message 1"]
    assert "An identifier that was not found had at least been shown by a read" in first["checklist"]
    assert "invents an identifier or a secret" in first["pitfalls"]
    assert [message["role"] for message in voice.shown["messages"]] == [m.role for m in TRAJECTORY.messages]
    assert "score" not in json.dumps(voice.shown)


async def test_what_is_missing_is_asked_for_once_more_and_then_has_no_score() -> None:
    def answer(shown: dict[str, Any], number: int) -> str:
        if number == 1:
            return 'Here: [{"subgoal": 0, "score": 1}, {"subgoal": 1, "score": 7}, {"subgoal": 9, "score": 3}]'
        return '[{"subgoal": 1, "score": 3}]'

    voice = Voice(answer)
    assert await asked(voice) == [1, 3, None]
    assert "subgoals 1, 2" in voice.told[1]
    assert [for_good for _, for_good in voice.faults] == [False, True]


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        ("", {}),
        ("[", {}),
        ("3", {}),
        ('[1, {"subgoal": 0, "score": "3"}, {"subgoal": 1, "score": 2.5}, {"subgoal": -1, "score": 2}]', {}),
        ('[{"subgoal": 0, "score": true}]', {}),
        ('```[{"subgoal": 0, "score": 3, "reason": "__import__(\'os\')"}]```', {0: 3}),
    ],
)
def test_only_valid_scores_count(answer: str, scores: dict[int, int]) -> None:
    assert read_scores(answer) == scores


def test_the_scripted_teacher_has_no_opinion() -> None:
    with pytest.raises(ParamsError, match=r"teacher\.roles\.reflector\.model"):
        TeacherJudge(Teacher(TeacherParams(), "reflector"), library())


def test_agreement_is_that_of_the_textbook() -> None:
    pairs = [(3, 3), (3, 3), (3, 2), (0, 0), (1, 0), (2, 3), (0, 0), (3, 3)]
    assert exact_agreement(pairs) == pytest.approx(5 / 8)
    expected = cohen_kappa_score([a for a, _ in pairs], [b for _, b in pairs])
    assert cohens_kappa(pairs) == pytest.approx(expected)
    assert agreement(pairs, 2)["table"][3] == [0, 0, 1, 3]
    assert (exact_agreement([]), cohens_kappa([]), cohens_kappa([(3, 3)])) == (None, None, None)
