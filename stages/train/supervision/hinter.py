"""Who writes hints: a program that knows the ground truth and the last error, or a teacher that is told both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from stages.dataset import RlRow
from stages.episodes import ScoredEpisode
from stages.teacher.client import Teacher
from stages.train.supervision.asking import Asker
from stages.train.supervision.mistakes import first_mistake
from stages.train.supervision.reflector import calls_in_words

PROMPT = (Path(__file__).parent / "prompts" / "hint.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Query:
    """A row, and the last of its episodes that failed, if any did."""

    row: RlRow
    failed: ScoredEpisode | None


class Hinter(Protocol):
    """Writes hints."""

    def hints(self, queries: Sequence[Query]) -> list[str]:
        """One hint for each query; empty where none could be had."""


class ProgrammaticHinter:
    """Says which calls are right, and what went wrong before."""

    def hints(self, queries: Sequence[Query]) -> list[str]:
        """One hint for each query."""
        return [_hint(query) for query in queries]


class TeacherHinter:
    """Asks a teacher; a request that fails for good yields no hint."""

    def __init__(self, teacher: Teacher, words: int) -> None:
        self._asker = Asker(teacher, PROMPT.replace("{words}", str(words)))

    def hints(self, queries: Sequence[Query]) -> list[str]:
        """One hint for each query."""
        return self._asker.answers([_facts(query) for query in queries])


def _facts(query: Query) -> dict[str, Any]:
    return {
        "request": query.row.messages[-1].content,
        "right_calls": [{"name": step.name, "arguments": step.arguments} for step in query.row.truth],
        "earlier_mistake": first_mistake(query.failed).cause if query.failed else None,
    }


def _hint(query: Query) -> str:
    if query.row.truth:
        lines = ["Hint: these calls do what is asked, one after another:", calls_in_words(query.row.truth)]
    else:
        lines = ["Hint: no call is needed; reply in words."]
    if query.failed:
        lines.append(f"Before, it went wrong: {first_mistake(query.failed).cause}.")
    return "\n".join(lines)
