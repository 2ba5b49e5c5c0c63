"""A teacher in the judge's place: the same subgoals and checklists, scored by a model that plays the reflector.

Its answer is data: a JSON list, read item by item, each validated; subgoals that it leaves out are asked about once
more, and then have no score.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from stages.params import ParamsError
from stages.records import Message
from stages.skills.checks import CHECKS
from stages.skills.judge import Verdict
from stages.skills.library import Library
from stages.skills.trajectories import Trajectory
from stages.teacher.client import Teacher
from stages.teacher.errors import Failure, TeacherError

PROMPT = files("stages.skills").joinpath("prompts", "judge.md").read_text(encoding="utf-8")

ROUNDS = 2
"""How often a subgoal is asked about before it counts as not judged."""

AGAIN = "\nYour last answer holds no valid score for the subgoals {}. Answer for all of them.\n"

LONGEST = 2_000
"""Characters of one message that are shown."""


class Opinion(BaseModel):
    """The teacher's score of one subgoal, as it has to write it."""

    model_config = ConfigDict(strict=True, frozen=True)

    subgoal: Annotated[int, Field(ge=0)]
    score: Annotated[int, Field(ge=0, le=3)]
    reason: str = ""


class TeacherJudge:
    """Scores the subgoals of turns.

    Args:
        teacher: who plays the reflector.
        library: its checklists and pitfalls are shown.

    Raises:
        ParamsError: the teacher is scripted, and has no opinion.
    """

    def __init__(self, teacher: Teacher, library: Library) -> None:
        if teacher.is_scripted:
            raise ParamsError(
                "the scripted teacher can't judge: name a model in teacher.roles.reflector.model, "
                "or set skills.judge to program"
            )
        self._teacher = teacher
        self._prototypes = {prototype.id: prototype for prototype in library.prototypes}

    async def scores(self, trajectory: Trajectory, verdicts: Sequence[Verdict]) -> list[int | None]:
        """The teacher's score of each subgoal; None where it gave no valid one.

        Args:
            trajectory: the turn.
            verdicts: its subgoals with their prototypes; the program's scores are not shown.

        Raises:
            BudgetReachedError: there is nothing left to spend.
        """
        content = json.dumps(self._shown(trajectory, verdicts), ensure_ascii=False)
        found: dict[int, int] = {}
        told = PROMPT
        for attempt in range(ROUNDS):
            try:
                done = await self._teacher.complete(
                    [Message("system", told), Message("user", content)], script={}, seed=attempt, whole=False
                )
            except TeacherError:
                break
            found |= {n: score for n, score in read_scores(done.message.content).items() if n < len(verdicts)}
            missing = [n for n in range(len(verdicts)) if n not in found]
            if not missing:
                break
            cause = f"no valid score for {len(missing)} of {len(verdicts)} subgoals"
            self._teacher.unusable(Failure.BAD_STRUCTURE, cause, for_good=attempt + 1 == ROUNDS)
            told = PROMPT + AGAIN.format(", ".join(map(str, missing)))
        return [found.get(n) for n in range(len(verdicts))]

    def _shown(self, trajectory: Trajectory, verdicts: Sequence[Verdict]) -> dict[str, Any]:
        return {
            "tools": [tool.name for tool in trajectory.tools],
            "messages": [_message(number, message) for number, message in enumerate(trajectory.messages)],
            "turn_begins_at": trajectory.start,
            "subgoals": [self._subgoal(n, trajectory, verdict) for n, verdict in enumerate(verdicts)],
        }

    def _subgoal(self, number: int, trajectory: Trajectory, verdict: Verdict) -> dict[str, Any]:
        prototype = self._prototypes.get(verdict.prototype)
        steps = [f"{trajectory.calls[n].name} at message {trajectory.calls[n].position}" for n in verdict.subgoal.calls]
        return {
            "subgoal": number,
            "purpose": verdict.subgoal.text,
            "steps": steps or ["the answer that ends the turn"],
            "checklist": [CHECKS[name].told for name in prototype.checklist] if prototype else [],
            "pitfalls": [what for what, _ in prototype.pitfalls] if prototype else [],
        }


def read_scores(answer: str) -> dict[int, int]:
    """The valid scores in an answer by subgoal; whatever else it says is passed over."""
    start = answer.find("[")
    if start < 0:
        return {}
    try:
        items, _ = json.JSONDecoder().raw_decode(answer, start)
    except (ValueError, RecursionError):
        return {}
    found: dict[int, int] = {}
    for item in items:
        try:
            opinion = Opinion.model_validate(item)
        except ValidationError:
            continue
        found[opinion.subgoal] = opinion.score
    return found


def _message(number: int, message: Message) -> dict[str, Any]:
    calls = [{"tool": call.name, "arguments": call.arguments} for call in message.tool_calls]
    shown: dict[str, Any] = {"message": number, "role": message.role, "content": message.content[:LONGEST]}
    return {**shown, "calls": calls} if calls else shown
