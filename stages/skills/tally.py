"""What the data says of each distinct description: how often it occurs, how well it went, and what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stages.skills.decompose import Skill

MOST_EXAMPLES = 3
"""References to conversations that are kept for one description."""


@dataclass(slots=True)
class Tally:
    """One description.

    `scores` counts the scores 0 to 3, `errors` the codes of failed calls, `failed` the items of the checklist.
    """

    text: str
    skill: Skill
    scores: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    errors: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How often it occurs."""
        return sum(self.scores)

    def add(self, score: int, errors: Iterable[str], failed: Iterable[str], example: str) -> None:
        """Count one subgoal."""
        self.scores[score] += 1
        self.errors.update(errors)
        self.failed.update(failed)
        if example not in self.examples and len(self.examples) < MOST_EXAMPLES:
            self.examples.append(example)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "text": self.text,
            "skill": self.skill,
            "scores": self.scores,
            "errors": dict(sorted(self.errors.items())),
            "failed": dict(sorted(self.failed.items())),
            "examples": self.examples,
        }


def tally_from(plain: Mapping[str, Any]) -> Tally:
    """The tally of its plain form."""
    return Tally(
        plain["text"], plain["skill"], list(plain["scores"]), Counter(plain["errors"]), Counter(plain["failed"]),
        list(plain["examples"]),
    )  # fmt: skip


def added(first: Mapping[str, Tally], second: Mapping[str, Tally]) -> dict[str, Tally]:
    """Both tallies together, by the texts in order; neither is changed."""
    out = {}
    for text in sorted({*first, *second}):
        parts = [tallies[text] for tallies in (first, second) if text in tallies]
        whole = Tally(text, parts[0].skill)
        for part in parts:
            whole.scores = [a + b for a, b in zip(whole.scores, part.scores, strict=True)]
            whole.errors += part.errors
            whole.failed += part.failed
            whole.examples = list(dict.fromkeys([*whole.examples, *part.examples]))[:MOST_EXAMPLES]
        out[text] = whole
    return out
