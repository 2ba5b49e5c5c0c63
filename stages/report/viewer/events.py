"""A conversation as the viewer shows it: one event for each text and each call, in the order of the messages.

An event is plain data. `say` has a role and a text; `turn` is a heading; `call` has the tool's name, its arguments
(path, value, kind of origin, event of the origin or -1), what came back, and for a call of the episode itself its
number. `earlier` marks what was given to the policy rather than done by it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from stages.records import ExecutedCall, Message, ToolCall
from stages.report.viewer.origins import Tracer

Event: TypeAlias = dict[str, Any]


@dataclass
class Timeline:
    """Turns messages into events and keeps count of which message is which event."""

    tracer: Tracer
    events: list[Event] = field(default_factory=list)
    _event_of: dict[int, int] = field(default_factory=dict)
    _calls: int = 0

    def heading(self, text: str) -> None:
        """Begin a part."""
        self.events.append({"t": "turn", "text": text})

    def take(
        self,
        messages: Sequence[Message],
        start: int,
        executed: Sequence[ExecutedCall],
        notes: Sequence[Mapping[str, Any]] = (),
        *,
        earlier: bool = False,
    ) -> None:
        """Take in messages, the first of which has the index `start` in the conversation.

        Args:
            messages: what was said and shown.
            start: the index of the first of them.
            executed: the calls among them that are on record, in order.
            notes: what else to say of each of these calls, as further keys of its event.
            earlier: whether they were given to the policy.
        """
        on_record: dict[int, list[tuple[ExecutedCall, Mapping[str, Any]]]] = {}
        for index, call in enumerate(executed):
            on_record.setdefault(call.position, []).append((call, notes[index] if index < len(notes) else {}))
        for place, message in enumerate(messages, start=start):
            if message.role == "tool":
                continue
            if message.content or not message.tool_calls:
                self._say(place, message, earlier=earlier)
            results = _results(messages, place - start)
            known = on_record.get(place, [])
            made = []
            for index, asked in enumerate(message.tool_calls):
                done, note = known[index] if index < len(known) else (None, {})
                made.append(self._call(asked, done, note, earlier=earlier))
            for index, asked in enumerate(message.tool_calls):
                text = results[index] if index < len(results) else None
                self._answer(place + 1 + index, made[index], asked, text)

    def _say(self, place: int, message: Message, *, earlier: bool) -> None:
        self._event_of[place] = len(self.events)
        event: Event = {"t": "say", "role": message.role, "text": message.content}
        self.events.append(event | ({"earlier": True} if earlier else {}))
        if message.role == "user":
            self.tracer.user(place, message.content)

    def _call(self, asked: ToolCall, done: ExecutedCall | None, note: Mapping[str, Any], *, earlier: bool) -> int:
        event: Event = {"t": "call", "name": asked.name, "arguments": None}
        if asked.arguments is None:
            event |= {"raw": asked.raw, "fault": asked.error}
        else:
            event["arguments"] = [
                [path, json.dumps(value, ensure_ascii=False), kind, self._event_of.get(message, -1)]
                for path, value, (kind, message) in self.tracer.origins(asked.name, asked.arguments)
            ]
        if earlier:
            event["earlier"] = True
        if done is not None:
            self._calls += 1
            event |= {"n": self._calls, "ok": done.ok, "code": done.error_code, **note}
        self.events.append(event)
        return len(self.events) - 1

    def _answer(self, place: int, number: int, asked: ToolCall, text: str | None) -> None:
        event = self.events[number]
        event["result"] = text
        if text is None:
            return
        failed = not event["ok"] if "ok" in event else is_error(text)
        event.setdefault("ok", not failed)
        self._event_of[place] = number
        self.tracer.result(place, text, asked.name, failed=failed)


def is_error(text: str) -> bool:
    """Whether a result is the error form of a tool's answer."""
    return text.startswith('{"error":')


def _results(messages: Sequence[Message], index: int) -> list[str]:
    """The tool messages that follow a message at once."""
    found = []
    for message in messages[index + 1 :]:
        if message.role != "tool":
            break
        found.append(message.content)
    return found
