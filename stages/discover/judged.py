"""What the teacher thinks of each pair: 20 pairs a request, answered as JSON, kept until a tool changes.

An answer is read pair by pair: what is whole counts even if the rest is cut off or wrong. Pairs that an answer
leaves out are asked about once more, with what was wrong, and then count as unanswered, which is no opinion at all.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.resources import files
from itertools import combinations
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from servers.kernel.server import ToolServer
from servers.kernel.tool import Tool
from stages.discover.claims import Answer, Claim, Claims
from stages.discover.edges import Edge, Pair
from stages.params import DiscoverParams
from stages.records import Message
from stages.sampling import shown_entities
from stages.teacher.cache import Cache
from stages.teacher.client import Teacher
from stages.teacher.errors import Failure, TeacherError

PROMPT = files("stages.discover").joinpath("prompts", "pairs.md").read_text(encoding="utf-8")
PROMPT_DIGEST = blake2b(PROMPT.encode(), digest_size=8).hexdigest()
"""Names the version of the prompt in the artefacts."""

ROUNDS = 2
"""How often a pair is asked about before it counts as unanswered."""

LONGEST_REASON = 200
"""Characters of a reason that are kept."""

AGAIN = "\nYour last answer cannot be used for the pairs below: {}. Answer for each of them.\n"

Tools: TypeAlias = tuple[Tool, Tool]

_LIST = re.compile(r"\[\s*\{")


class Verdict(BaseModel):
    """The teacher's answer on one pair, as it has to write it."""

    model_config = ConfigDict(strict=True, frozen=True)

    first: str
    second: str
    label: Answer
    direction: Literal["forward", "backward"]
    reason: str = ""


@dataclass(slots=True)
class Opinion:
    """All that the teacher has to say on one server.

    `asked` counts the pairs that were not known before, `error` is the last failed request's.
    """

    claims: list[Claim] = field(default_factory=list)
    unanswered: list[Pair] = field(default_factory=list)
    asked: int = 0
    error: str = ""


async def judge(teacher: Teacher, server: ToolServer, params: DiscoverParams, cache: Cache | None) -> Opinion:
    """The teacher's claim on each pair of a server's tools; only pairs that the cache lacks are asked about.

    Raises:
        BudgetReachedError: there is nothing left to spend.
    """
    opinion = Opinion()
    known = Claims(cache, teacher.params.model, teacher.params.temperature, PROMPT)
    left: list[Tools] = []
    for tools in combinations(server.tools.values(), 2):
        claim = known.get(*tools)
        if claim:
            opinion.claims.append(claim)
        else:
            left.append(tools)
    opinion.asked = len(left)

    async def ask(batch: Sequence[Tools]) -> None:
        complaint = ""
        for attempt in range(ROUNDS):
            try:
                answer = await _request(teacher, batch, attempt, complaint)
            except TeacherError as error:
                opinion.error = str(error)
                break
            told = read_claims(answer, batch)
            for tools, claim in told.items():
                known.put(*tools, claim)
            opinion.claims += told.values()
            batch = [tools for tools in batch if tools not in told]
            if not batch:
                return
            complaint = what_is_wrong(answer)
            teacher.unusable(Failure.BAD_STRUCTURE, complaint, for_good=attempt + 1 == ROUNDS)
        opinion.unanswered += [(first.name, second.name) for first, second in batch]

    size = params.pairs_per_request
    await asyncio.gather(*(ask(left[start : start + size]) for start in range(0, len(left), size)))
    return opinion


async def _request(teacher: Teacher, batch: Sequence[Tools], attempt: int, complaint: str) -> str:
    content = json.dumps([{"first": _brief(a), "second": _brief(b)} for a, b in batch])
    told = PROMPT + (AGAIN.format(complaint) if complaint else "")
    done = await teacher.complete(
        [Message("system", told), Message("user", content)],
        script={"role": "edges"},
        seed=attempt,
        whole=False,
        keep=lambda message: False,  # its claims are kept, one by one
    )
    return done.message.content


def read_claims(answer: str, batch: Sequence[Tools]) -> dict[Tools, Claim]:
    """The claims in an answer, the last one on each pair; what it says of other pairs is passed over."""
    pairs = {frozenset((a.name, b.name)): (a, b) for a, b in batch}
    claims: dict[Tools, Claim] = {}
    for item in _items(answer):
        try:
            verdict = Verdict.model_validate(item)
        except ValidationError:
            continue
        tools = pairs.get(frozenset((verdict.first, verdict.second)))
        if tools:
            order = (verdict.first, verdict.second)
            first, second = order if verdict.direction == "forward" else order[::-1]
            claims[tools] = Claim(first, second, verdict.label, one_line(verdict.reason))
    return claims


def what_is_wrong(answer: str) -> str:
    """The first thing in an answer that is no verdict, in a few words for the model."""
    found = False
    for item in _items(answer):
        found = True
        try:
            Verdict.model_validate(item)
        except ValidationError as error:
            first = error.errors()[0]
            return one_line(f"{first['loc'][0] if first['loc'] else 'an item'}: {first['msg']}")
    return "they are missing in it" if found else "it holds no JSON list of objects"


def _items(answer: str) -> Iterator[Any]:
    """What the JSON lists of objects in an answer hold; the last one may break off."""
    position = 0
    while found := _LIST.search(answer, position):
        try:
            items, position = json.JSONDecoder().raw_decode(answer, found.start())
        except (ValueError, RecursionError):
            try:
                items, position = from_json(answer[found.start() :], allow_partial=True), len(answer)
            except ValueError:
                items, position = [], found.end()
        yield from items


def one_line(text: str) -> str:
    """A model's text as a short line of printable characters."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split())[:LONGEST_REASON]


def merge(server: str, edges: Sequence[Edge], claims: Sequence[Claim]) -> list[Edge]:
    """The edges with the teacher's labels, and those that only the teacher sees, by the names of their tools."""
    found: dict[Pair, Edge] = {edge.pair: edge for edge in edges}
    for claim in claims:
        if claim.label == "none":
            continue
        edge = found.setdefault(claim.pair, Edge(server, *claim.pair, claim.label))
        edge.teacher, edge.reason = claim.label, claim.reason
    return [found[pair] for pair in sorted(found)]


def _brief(tool: Tool) -> Mapping[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "arguments": [p.name if p.required else f"{p.name}?" for p in tool.parameters],
        "requires": sorted({p.entity for p in tool.parameters if p.required and p.entity}),
        "returns": sorted(shown_entities(tool)),
        "read_only": tool.read_only,
    }
