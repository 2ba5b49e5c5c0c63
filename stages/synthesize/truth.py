"""Ground truth from what ran: the calls of a turn that succeeded, with the edges that their values prove.

Call B depends on call A if an identifier among B's arguments was first shown, within the turn, by A's
result in an earlier message: parallel calls never depend on each other. Provenance rather than a plan
decides, so it is the same for every teacher.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from servers.kernel.catalog import Catalog
from stages.records import ExecutedCall, TruthCall
from stages.sampling import shown_entities, strings, walk


def ground_truth(catalog: Catalog, calls: Sequence[ExecutedCall]) -> tuple[TruthCall, ...]:
    """The turn's successful calls in order, each with the indices of the calls it depends on."""
    done = [call for call in calls if call.ok and call.arguments is not None]
    origin: dict[str, int] = {}
    truth = []
    for index, call in enumerate(done):
        shown = {origin[value] for value in _identifiers(catalog, call) if value in origin}
        sources = (source for source in shown if done[source].position < call.position)
        truth.append(TruthCall(call.name, dict(call.arguments or {}), tuple(sorted(sources))))
        for value in _shown(catalog, call):
            origin.setdefault(value, index)
    return tuple(truth)


def _identifiers(catalog: Catalog, call: ExecutedCall) -> Iterator[str]:
    for parameter in catalog.entry(call.name).tool.parameters:
        if parameter.entity is not None and call.arguments and parameter.name in call.arguments:
            yield from strings(call.arguments[parameter.name])


def _shown(catalog: Catalog, call: ExecutedCall) -> Iterator[str]:
    tool = catalog.entry(call.name).tool
    result = json.loads(call.result)
    for entity in sorted(shown_entities(tool)):
        yield from (sighting.id for sighting in walk(tool, result, entity))
