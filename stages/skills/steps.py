"""The decomposed dataset as a table: `data/skills/steps.parquet` has a row for each step, with its subgoal's score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from stages.skills.judge import Verdict
from stages.skills.trajectories import Trajectory

STEPS = pa.schema(
    [
        ("conversation", pa.string()),
        ("message", pa.int64()),
        ("subgoal", pa.int64()),
        ("skill", pa.string()),
        ("text", pa.string()),
        ("prototype", pa.string()),
        ("score", pa.int64()),
        ("failed", pa.list_(pa.string())),
        ("tool", pa.string()),
        ("error_code", pa.string()),
    ]
)
"""`message` is the index of the assistant's message in the conversation; an answer's row has no tool, and `message`
-1 where the turn never got one. `failed` names the items of the checklist that the subgoal fails."""


def step_rows(trajectory: Trajectory, verdicts: Sequence[Verdict]) -> Iterator[dict[str, Any]]:
    """The rows of one turn."""
    for number, verdict in enumerate(verdicts):
        common = {
            "conversation": trajectory.id,
            "subgoal": number,
            "skill": verdict.subgoal.skill,
            "text": verdict.subgoal.text,
            "prototype": verdict.prototype,
            "score": verdict.score,
            "failed": list(verdict.failed),
        }
        for index in verdict.subgoal.calls:
            call = trajectory.calls[index]
            yield {**common, "message": call.position, "tool": call.name, "error_code": call.error_code}
        if verdict.subgoal.answer:
            last = len(trajectory.messages) - 1
            said = bool(trajectory.messages) and trajectory.messages[last].role == "assistant"
            yield {**common, "message": last if said else -1, "tool": "", "error_code": ""}
