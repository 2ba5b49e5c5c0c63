"""What a conversation has brought to light so far, and so need not be looked up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from servers.kernel.server import ToolServer
from stages.records import Json
from stages.sampling import PlannedCall, Sighting, Thing, shown_entities, strings, walk


@dataclass(slots=True)
class Knowledge:
    """What the results so far have shown.

    `shown` holds, for each id seen in a result, all fields that were shown of it; `outputs` the things that
    the last action returned, by kind.
    """

    shown: dict[str, dict[str, Json]] = field(default_factory=dict)
    outputs: dict[str, Thing] = field(default_factory=dict)

    def copy(self) -> Knowledge:
        """The same knowledge, to be changed apart."""
        return Knowledge({key: dict(value) for key, value in self.shown.items()}, dict(self.outputs))

    def learn(self, server: ToolServer, call: PlannedCall, text: str, *, is_action: bool) -> None:
        """Take in a call's result; an action that returns one thing of a kind makes it an output."""
        tool, result = server.tools[call.name], json.loads(text)
        for entity in sorted(shown_entities(tool)):
            sightings = list(walk(tool, result, entity))
            for sighting in sightings:
                self.shown.setdefault(sighting.id, {}).update(_own_fields(sighting))
            if is_action and not tool.read_only and len({s.id for s in sightings}) == 1:
                key = sightings[0].id
                self.outputs[entity] = Thing(entity, key, self.shown[key], call)

    def justifies(self, server: ToolServer, call: PlannedCall) -> bool:
        """Whether every opaque identifier of a call has been shown."""
        return all(
            value in self.shown
            for parameter in server.tools[call.name].parameters
            if parameter.entity is not None and not parameter.natural
            for value in strings(call.arguments.get(parameter.name))
        )


def _own_fields(sighting: Sighting) -> Mapping[str, Json]:
    """The fields shown of a thing itself, not those of an object with another id that refers to it."""
    return sighting.shown if sighting.shown.get("id", sighting.id) == sighting.id else {}
