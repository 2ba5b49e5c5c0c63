"""The stage's metrics: how much was decomposed, how the library was made, and how the subgoals score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from stages.skills.decompose import SKILLS
from stages.skills.judge import Verdict
from stages.skills.library import Library
from stages.skills.scoring import process_score


def summary(turns: Sequence[Sequence[Verdict]], library: Library) -> dict[str, Any]:
    """Counts and means over the judged turns."""
    judged = [verdict for turn in turns for verdict in turn]
    return {
        "turns": len(turns),
        "subgoals": len(judged),
        "steps": sum(len(v.subgoal.calls) + v.subgoal.answer for v in judged),
        "descriptions": len(library.base),
        "prototypes": len(library.prototypes),
        "embedder": library.settings.embedder,
        "router": library.settings.router,
        "methods": dict(library.methods),
        "generic": sum(not verdict.prototype for verdict in judged),
        "process": round(sum(process_score([v.score for v in turn]) for turn in turns) / max(1, len(turns)), 6),
        "scores": {str(score): sum(v.score == score for v in judged) for score in range(4)},
        "skills": {skill: _of_skill([v for v in judged if v.subgoal.skill == skill]) for skill in SKILLS},
        "failed": dict(sorted(Counter(name for v in judged for name in v.failed).items())),
    }


def _of_skill(judged: Sequence[Verdict]) -> dict[str, float | None]:
    mean = round(sum(verdict.score for verdict in judged) / len(judged), 6) if judged else None
    return {"subgoals": len(judged), "mean_score": mean}
