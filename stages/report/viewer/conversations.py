"""Synthesized conversations as a source of the viewer, with what validation said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from servers.kernel.catalog import Catalog
from servers.kernel.session import Session
from stages.conversations import Conversation, Turn
from stages.report.viewer.diffs import CannotReplayError, RowChange, check_state, run
from stages.report.viewer.episodes import LONGEST_TEXT, NO_ERROR, pairs
from stages.report.viewer.events import Event, Timeline
from stages.report.viewer.origins import ToolFacts, Tracer
from stages.report.viewer.shards import Entry, Facet, Measure
from stages.reward.matching import match

FACETS = (
    Facet("status", "status"),
    Facet("reason", "reason of rejection"),
    Facet("split", "split"),
    Facet("server", "server"),
    Facet("kind", "kind"),
    Facet("perturbations", "perturbation", many=True),
    Facet("information", "information"),
    Facet("persona", "persona"),
    Facet("codes", "error code", many=True),
    Facet("steps", "step of the machine", many=True),
)
MEASURES = (Measure("turns", "turns"), Measure("calls", "calls"), Measure("failed", "failed calls"))


@dataclass(frozen=True, slots=True)
class Fate:
    """What validation made of a conversation."""

    status: str
    reason: str = ""
    detail: str = ""
    split: str = ""


@dataclass(frozen=True)
class ConversationSource:
    """Makes records of conversations; `fates` say by id what validation made of them."""

    catalog: Catalog
    tools: Mapping[str, ToolFacts]
    fates: Mapping[str, Fate]

    def entry(self, told: Conversation, *, with_diff: bool, limit: str) -> Entry:
        """One conversation. `limit` says why there are no state diffs where `with_diff` is false."""
        fate = self.fates.get(told.id, Fate("not validated"))
        diffs, problem = self._replayed(told) if with_diff else (None, limit)
        calls = [call for turn in told.turns for call in turn.calls]
        failed = [call.error_code for call in calls if not call.ok]
        asked = next((message.content for message in told.messages if message.role == "user"), "")
        return Entry(
            name=told.id,
            facets={
                "status": fate.status,
                "reason": fate.reason or "none",
                "split": fate.split or "none",
                "server": told.server,
                "kind": told.kind,
                "perturbations": sorted(set(told.perturbations)) or ["none"],
                "information": told.information,
                "persona": told.persona,
                "codes": sorted(set(failed)) or [NO_ERROR],
                "steps": sorted({step_name(s.state, s.event) for s in told.transitions}),
            },
            measures={"turns": len(told.turns), "calls": len(calls), "failed": len(failed)},
            text="\n".join([asked[:LONGEST_TEXT], " ".join(dict.fromkeys(call.name for call in calls))]),
            body={
                "facts": [
                    ["server", told.server],
                    ["kind", told.kind],
                    ["persona", told.persona],
                    ["information", told.information],
                    ["perturbations", ", ".join(told.perturbations) or "none"],
                    ["chain", " → ".join(told.chain) or "none"],
                    ["teacher", told.teacher],
                    ["reference date", told.reference_date],
                ],
                "verdict": _verdict(fate),
                "compared": _comparisons(told),
                "no_diff": problem,
                "tools": [tool.name for tool in told.tools],
                "path": [[step.state, step.event, step.target] for step in told.transitions],
                "events": self._events(told, diffs),
            },
        )

    def _replayed(self, told: Conversation) -> tuple[list[list[RowChange]] | None, str]:
        session = Session(self.catalog.world(told.world))
        diffs = []
        try:
            for turn in told.turns:
                session.user_turn()
                diffs += [run(self.catalog, session, call) for call in turn.calls]
                check_state(session, turn.state_hash)
        except CannotReplayError as error:
            return None, f"it does not run again on these servers: {error}"
        return diffs, ""

    def _events(self, told: Conversation, diffs: list[list[RowChange]] | None) -> list[Event]:
        timeline = Timeline(Tracer(self.tools))
        timeline.take(told.messages[: told.turns[0].start if told.turns else None], 0, ())
        changes: Iterator[Any] = iter(diffs or [])
        for number, turn in enumerate(told.turns, start=1):
            timeline.heading(f"Turn {number}")
            notes = [{"diff": next(changes)} if diffs is not None else {} for _ in turn.calls]
            timeline.take(told.turn_messages(number - 1), turn.start, turn.calls, notes)
        return timeline.events


def step_name(state: str, event: str) -> str:
    """One step of the state machine as the filter names it."""
    return f"{state}: {event}"


def _verdict(fate: Fate) -> list[str]:
    if fate.reason:
        return [f"{fate.status.capitalize()}: {fate.reason}. {fate.detail}"]
    return [f"{fate.status.capitalize()}, in the {fate.split} split." if fate.split else f"{fate.status.capitalize()}."]


def _comparisons(told: Conversation) -> list[dict[str, Any]]:
    """Each turn's ground truth beside the calls that were made, which are counted over the whole conversation."""
    made, before = [], 0
    for number, turn in enumerate(told.turns, start=1):
        made.append({"title": f"Turn {number}: ground truth and calls", **_compared(turn, before)})
        before += len(turn.calls)
    return made


def _compared(turn: Turn, before: int) -> dict[str, Any]:
    worked = [index for index, call in enumerate(turn.calls) if call.ok]
    stands = match(turn.truth, [turn.calls[index] for index in worked], mode="one_to_one", strict=True)
    used = [worked[place] if place is not None else None for place in stands]
    rows: list[dict[str, Any]] = [
        {
            "expected": {"name": step.name, "arguments": pairs(step.arguments)},
            "made": _made(turn, before, index) if index is not None else None,
            "differs": [],
            "why": f"needs {', '.join(turn.truth[n].name for n in step.depends_on)}" if step.depends_on else "",
            "good": index is not None,
        }
        for step, index in zip(turn.truth, used, strict=True)
    ]
    return {"rows": rows, "extra": [_made(turn, before, n) for n in range(len(turn.calls)) if n not in used]}


def _made(turn: Turn, before: int, index: int) -> dict[str, Any]:
    call = turn.calls[index]
    told = {"n": before + index + 1, "name": call.name, "arguments": pairs(call.arguments)}
    return told | ({"why": call.error_code} if call.error_code else {})
