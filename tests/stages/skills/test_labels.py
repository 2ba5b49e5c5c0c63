"""The program against labels by hand."""

from __future__ import annotations

import pytest

from stages.skills.judge import ProgramJudge
from stages.skills.library import Settings, built, tallied
from stages.skills.router import Router
from tests.stages.skills.bank import FACTS
from tests.stages.skills.labelled import LABELLED

LIBRARY = built(tallied([trajectory for trajectory, _ in LABELLED.values()], FACTS), Settings(min_cluster_size=5))
FLOOR = 0.85
DIFFERENT = {
    ("pays twice", "report"),  # that it was paid twice is left out: the program checks what is said alone
    ("takes the first of several", "change_state"),  # 0 by hand; a program can't rule out a reason
    ("reads what it does not need", "look_up"),  # what is needed shows in the truth alone
}
"""Where the program is known to differ, and why."""


def scores(judge: ProgramJudge) -> list[tuple[str, str, int, int | None]]:
    """Per labelled subgoal its trace, skill, label, and the program's score (None: it sees no such subgoal)."""
    out: list[tuple[str, str, int, int | None]] = []
    for name, (trajectory, labels) in LABELLED.items():
        found = [(verdict.subgoal.skill, verdict.score) for verdict in judge.verdicts(trajectory)]
        for n, (skill, label) in enumerate(labels):
            same = len(found) == len(labels) and found[n][0] == skill
            out.append((name, skill, label, found[n][1] if same else None))
    return out


def test_the_program_agrees_with_the_labels() -> None:
    judged = scores(ProgramJudge(FACTS, Router(LIBRARY)))
    assert len(judged) >= 40
    wrong = [row for row in judged if row[2] != row[3]]
    assert 1 - len(wrong) / len(judged) >= FLOOR, wrong
    assert {(name, skill) for name, skill, *_ in wrong} == DIFFERENT


@pytest.mark.parametrize("label", [0, 1, 2, 3])
def test_it_agrees_with_most_labels_of_every_score(label: int) -> None:
    judged = [row for row in scores(ProgramJudge(FACTS, Router(LIBRARY))) if row[2] == label]
    assert sum(score == label for *_, score in judged) / len(judged) >= 0.6, judged


def test_repeated_judgements_are_the_same() -> None:
    once, again = (scores(ProgramJudge(FACTS, Router(LIBRARY))) for _ in range(2))
    assert once == again
