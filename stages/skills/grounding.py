"""Whether a call's values come from somewhere: the user, an observation, a default, or a free choice.

The sources are those of the validation's provenance, and so is their notion of a value's occurrence. A judge meets
text that a policy worded itself, so it is laxer than validation in three ways: a longer text may reword what was
said, a date or an hour may be written out from words, and a natural identifier may be put together from its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from stages.records import ExecutedCall, Json
from stages.skills.facts import ParameterFacts, ToolFacts
from stages.skills.trajectories import Trajectory
from stages.validate.origins import Leaf
from stages.validate.provenance import PAGE_ARGUMENTS, SHORTEST_LABEL
from stages.validate.sources import Source, occurs

Invention: TypeAlias = Literal["identifier", "value", "search", "option"]
"""What was invented: an identifier or a secret; a required value of a change; what a lookup looks for; an option
of a change that nobody asked for."""

ERROR = '{"error":'
"""How the result of a failed call begins."""

WORDED = 4
"""Words from which on a text may be in the agent's own words."""

_DATE = re.compile(r"\d{4}-\d{2}-(\d{2})")
_HOUR = re.compile(r"(?:^|T)(\d{2}):(\d{2})")
_DAYS = re.compile(r"\b(to(day|night|morrow)|next|this|in an?|mon|tues?|wednes|thurs?|fri|satur|sun|week|month)", re.I)
_HOURS = re.compile(r"\b(noon|midnight|\d{1,2} ?[ap]m|\d{1,2} o'clock|morning|evening|afternoon)\b", re.I)
_WORD = re.compile(r"\w{4,}")


@dataclass
class Knowledge:
    """All that the user said and results showed, in the order of the messages.

    Texts are read as they are needed: a `Source` folds its case and finds its numbers at first use.
    """

    sources: list[Source] = field(default_factory=list)

    def before(self, message: int) -> list[Source]:
        """What was known when a message was written."""
        return [source for source in self.sources if source.message < message]

    def results_before(self, message: int) -> list[Source]:
        """What had been shown by then."""
        return [source for source in self.sources if source.message < message and source.kind == "result"]


def knowledge_of(trajectory: Trajectory) -> Knowledge:
    """The sources of a trajectory; errors justify nothing and are left out."""
    knowledge = Knowledge()
    for index, message in enumerate(trajectory.messages):
        if message.role == "tool":
            if not message.content.startswith(ERROR):
                knowledge.sources.append(Source("result", index, message.content))
        elif message.role != "assistant":
            knowledge.sources.append(Source("user", index, message.content))
    return knowledge


def inventions(tool: ToolFacts, call: ExecutedCall, known: Sequence[Source]) -> set[Invention]:
    """What a call invented, given the sources before it; arguments that the tool doesn't have are passed over."""
    found: set[Invention] = set()
    for name, value in (call.arguments or {}).items():
        parameter = tool.by_name.get(name)
        if parameter is None:
            continue
        for leaf in _literals(value):
            if not _has_origin(tool, parameter, leaf, known):
                found.add(_kind(tool, parameter))
    return found


def _literals(value: Json) -> Iterator[Leaf]:
    """Every literal inside an argument."""
    pending = [value]
    while pending:  # a stack of our own: values as deep as a model likes
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        else:
            yield item


def _has_origin(tool: ToolFacts, parameter: ParameterFacts, leaf: Leaf, known: Sequence[Source]) -> bool:
    if leaf is None or leaf == "":
        return True
    if parameter.sensitive:
        return any(source.has_exactly(leaf) for source in known)
    if any(source.has(leaf) for source in known):
        return True
    if parameter.entity:
        return parameter.natural and isinstance(leaf, str) and _put_together(leaf, known)
    if parameter.default == leaf and isinstance(parameter.default, bool) == isinstance(leaf, bool):
        return True
    if isinstance(leaf, bool) or parameter.options:
        return tool.read_only or _names_flag(parameter, known)
    if tool.read_only and parameter.name in PAGE_ARGUMENTS:
        return True
    return isinstance(leaf, str) and (_written_out(leaf, known) or _reworded(leaf, known))


def _kind(tool: ToolFacts, parameter: ParameterFacts) -> Invention:
    if parameter.entity or parameter.sensitive:
        return "identifier"
    if tool.read_only:
        return "search"
    return "value" if parameter.required else "option"


def _names_flag(parameter: ParameterFacts, known: Sequence[Source]) -> bool:
    words = [word for word in parameter.words if len(word) >= SHORTEST_LABEL]
    return any(word in source.folded for source in known if source.kind == "user" for word in words)


def _put_together(leaf: str, known: Sequence[Source]) -> bool:
    """Whether each part of a path or an address stands somewhere."""
    parts = [part.casefold() for part in leaf.split("/") if part]
    return len(parts) > 1 and all(any(occurs(part, source.folded) for source in known) for part in parts)


def _written_out(leaf: str, known: Sequence[Source]) -> bool:
    """Whether a date or an hour can be what a person said in words."""
    day, hour = _DATE.match(leaf), _HOUR.search(leaf)
    said = [source for source in known if source.kind == "user"]
    if day and not any(float(day[1]) in source.numbers or _DAYS.search(source.text) for source in said):
        return False
    if hour and not any(_HOURS.search(s.text) or float(hour[1]) in s.numbers or hour[0][-5:] in s.text for s in known):
        return False
    return bool(day or hour)


def _reworded(leaf: str, known: Sequence[Source]) -> bool:
    """Whether a longer text takes at least half of its longer words from the sources."""
    if len(leaf.split()) < WORDED:
        return False
    words = set(_WORD.findall(leaf.casefold()))
    return 2 * sum(any(word in source.folded for source in known) for word in words) >= len(words)
