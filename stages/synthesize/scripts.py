"""Scripts: what a turn asks of the user's writer and of the assistant, as the scripted teacher reads it.

Other teachers never see a script; of the user's part they are told the material (stages/synthesize/converse.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

from stages.sampling import PlannedCall
from stages.synthesize.plan import Batches
from stages.synthesize.sentences import Sentence

After: TypeAlias = Literal["", "done", "listed", "failed", "partial"]
"""How the turn before ended: not at all, with something changed, with something shown, refused, refused in part."""

Close: TypeAlias = Literal["answer", "question", "decline", "offer"]


@dataclass(frozen=True, slots=True)
class DraftTurn:
    """One user turn as scripts for the user and for the assistant.

    `context` samples the live state as the turn begins, as names by kind; `clarifies` marks the answer to a question.
    """

    user: Mapping[str, Any]
    assistant: Mapping[str, Any]
    context: Mapping[str, Sequence[str]] = field(default_factory=dict)
    clarifies: bool = False


def query_script(
    sentences: Sequence[Sentence], persona: str, after: After = "", *, retries: bool = False
) -> dict[str, Any]:
    """The user asks for something; `retries` adds that what failed should be tried again."""
    said = [asdict(sentence) for sentence in sentences]
    return {"role": "query", "sentences": said, "persona": persona, "after": after, "retries": retries}


def details_script(values: Mapping[str, str], parents: Sequence[str], persona: str) -> dict[str, Any]:
    """The user says what was withheld."""
    return {"role": "details", "values": dict(values), "parents": list(parents), "persona": persona}


def assistant_script(
    batches: Batches,
    close: Close = "answer",
    *,
    actions: Sequence[PlannedCall] = (),
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """The assistant calls and then closes the turn; what the `actions` brought is what its answer tells."""
    calls = [[_plain(call) for call in batch] for batch in batches]
    told = [_plain(call) for call in actions]
    return {"role": "assistant", "batches": calls, "close": close, "actions": told, "missing": list(missing)}


def _plain(call: PlannedCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": dict(call.arguments)}
