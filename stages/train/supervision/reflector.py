"""PRS's analyser: a reflection on a failed turn, written by a program or by a teacher.

It names the intent, the class of the mistake, its root cause and the corrected calls, then a few similar requests
with the tools that they took, and one contrast: a request that looks alike and is answered differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic_core import to_json

from stages.dataset import RlRow
from stages.episodes import ScoredEpisode
from stages.records import TruthCall
from stages.teacher.client import Teacher
from stages.train.supervision.asking import Asker
from stages.train.supervision.mistakes import first_mistake

QUESTION = "Look back at this turn: what was asked, what went wrong, why, and which calls are right?"
PROMPT = (Path(__file__).parent / "prompts" / "reflection.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Case:
    """A failing query with one of its episodes, similar rows that were rightly done, and a contrast if there is one."""

    row: RlRow
    episode: ScoredEpisode
    similar: tuple[RlRow, ...]
    contrast: RlRow | None


class Reflector(Protocol):
    """Writes reflections."""

    def reflect(self, cases: Sequence[Case]) -> list[str]:
        """One reflection for each case; empty where none could be had."""


class ProgrammaticReflector:
    """Derives the reflection from the trace, the reward record and the ground truth."""

    def reflect(self, cases: Sequence[Case]) -> list[str]:
        """One reflection for each case."""
        return [_reflection(case) for case in cases]


class TeacherReflector:
    """Asks a teacher; a request that fails for good yields no reflection."""

    def __init__(self, teacher: Teacher) -> None:
        self._asker = Asker(teacher, PROMPT)

    def reflect(self, cases: Sequence[Case]) -> list[str]:
        """One reflection for each case."""
        return self._asker.answers([_facts(case) for case in cases])


def calls_in_words(truth: Sequence[TruthCall]) -> str:
    """Numbered ground-truth calls with their arguments, and what each builds on."""
    lines = []
    for number, step in enumerate(truth, 1):
        after = ", ".join(str(i + 1) for i in step.depends_on)
        needs = f" (after {after}: take values from its result)" if after else ""
        lines.append(f"{number}. {step.name} {to_json(step.arguments, fallback=dict).decode()}{needs}")
    return "\n".join(lines)


def _reflection(case: Case) -> str:
    mistake = first_mistake(case.episode)
    lines = [
        f"Intent: {case.row.messages[-1].content}",
        f"Mistake: {mistake.kind}.",
        f"Root cause: {mistake.cause}.",
        "Corrected calls:",
        calls_in_words(case.row.truth) or "none: the right reply calls nothing",
    ]
    if case.similar:
        lines += ["Similar:", *(f"- {_in_short(row)}" for row in case.similar)]
    if case.contrast:
        lines.append(f"In contrast: {_in_short(case.contrast)}")
    return "\n".join(lines)


def _facts(case: Case) -> dict[str, Any]:
    calls = case.episode.record.calls
    return {
        "request": case.row.messages[-1].content,
        "calls": [{"name": c.name, "arguments": c.arguments, "result": c.result} for c in calls],
        "right_calls": [{"name": step.name, "arguments": step.arguments} for step in case.row.truth],
        "similar_requests": [row.messages[-1].content for row in case.similar],
        "contrast": case.contrast.messages[-1].content if case.contrast else None,
    }


def _in_short(row: RlRow) -> str:
    tools = ", then ".join(step.name for step in row.truth) or "no call"
    return f"{row.messages[-1].content} → {tools}"
