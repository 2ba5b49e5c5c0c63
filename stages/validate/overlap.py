"""Decontamination: what a user says here may not be a benchmark's question.

A text overlaps a question when they share a run of n words (8 unless set otherwise), or, if it is shorter, when it is
the whole question; less than n/2 words ("yes, go ahead") are nobody's. Words are runs of letters and digits in any
case. Eight words are fewer than the 13 of Brown et al. (2020), since requests are short. Fewer still hit common
phrases: on 1,500 conversations of the scripted teacher, runs of 6 words found four such as "I'm in the mood for".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stages.conversations import Conversation
from stages.validate.questions import Questions
from stages.validate.reasons import Reason, Rejection

WORD = re.compile(r"\w+")
EXAMPLES = 3
"""Overlaps of each benchmark that the metrics quote."""


def words(text: str) -> tuple[str, ...]:
    """The words of a text, casefolded."""
    return tuple(WORD.findall(text.casefold()))


def ngrams(text: str, n: int) -> Iterator[tuple[str, ...]]:
    """Every run of n words; the whole text if it is shorter than that, nothing if it has less than half of them."""
    found = words(text)
    if len(found) > n:
        yield from (found[start : start + n] for start in range(len(found) - n + 1))
    elif 2 * len(found) >= n:
        yield found


@dataclass(frozen=True, slots=True)
class Hit:
    """A user's message that repeats a benchmark."""

    benchmark: str
    conversation: str
    text: str
    shared: str


class Decontaminator:
    """Finds and remembers conversations that repeat a benchmark's question.

    Args:
        questions: the benchmarks, those that are not at hand included.
        n: the run of words that makes a repeat.
    """

    def __init__(self, questions: Sequence[Questions], n: int) -> None:
        self._questions = questions
        self._n = n
        self._grams = {q.benchmark: {gram for text in q.texts for gram in ngrams(text, n)} for q in questions}
        self._hits: list[Hit] = []

    def check(self, conversation: Conversation) -> Rejection | None:
        """Why a conversation can't be trained on, or None."""
        found = next(self._overlaps(conversation), None)
        if found is None:
            return None
        self._hits.append(found)
        return Rejection(Reason.BENCHMARK_OVERLAP, f"{found.benchmark} asks {found.shared!r} too")

    def _overlaps(self, conversation: Conversation) -> Iterator[Hit]:
        for message in conversation.messages:
            if message.role != "user":
                continue
            for gram in ngrams(message.content, self._n):
                for benchmark, known in self._grams.items():
                    if gram in known:
                        yield Hit(benchmark, conversation.id, message.content, " ".join(gram))

    def report(self) -> dict[str, Any]:
        """What was compared, what was found, and what could not be compared."""
        checked = []
        for item in self._questions:
            if item.absent:
                continue
            hits = [hit for hit in self._hits if hit.benchmark == item.benchmark]
            examples = [{"conversation": h.conversation, "text": h.text, "shared": h.shared} for h in hits[:EXAMPLES]]
            checked.append(
                {
                    "benchmark": item.benchmark,
                    "version": item.version,
                    "questions": len(item.texts),
                    "overlaps": len(hits),
                    "examples": examples,
                }
            )
        return {
            "ngram": self._n,
            "checked": checked,
            "not_at_hand": {item.benchmark: item.absent for item in self._questions if item.absent},
        }
