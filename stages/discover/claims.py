"""What the teacher said of a pair of tools, kept until one of the two changes.

A claim's key is the digest of both tools as published (schemas, docstring and hints), the teacher's model, its
temperature and the prompt, so only pairs of a changed tool are asked about again. Claims lie in the teacher's
cache, each batch as soon as it is answered, under keys that no whole request has.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Literal, TypeAlias

from servers.kernel.catalog import describe
from servers.kernel.tool import Tool
from stages.artifacts import dump
from stages.discover.edges import Label, Pair
from stages.teacher.cache import Cache

Answer: TypeAlias = Label | Literal["none"]


@dataclass(frozen=True, slots=True)
class Claim:
    """The teacher's answer on one pair, `first` being the tool that has to come first, with its reason."""

    first: str
    second: str
    label: Answer
    reason: str = ""

    @property
    def pair(self) -> Pair:
        """The two tools, in the claimed direction."""
        return self.first, self.second


class Claims:
    """Claims by the pair of tools that they are about.

    Args:
        cache: where they are kept; nowhere if None.
        model: the teacher's name.
        temperature: of its answers.
        prompt: what it is told.
    """

    def __init__(self, cache: Cache | None, model: str, temperature: float, prompt: str) -> None:
        self._cache = cache
        self._teacher = {"model": model, "temperature": temperature, "prompt": prompt}

    def get(self, first: Tool, second: Tool) -> Claim | None:
        """What was said of a pair, in whichever order, or None."""
        kept = self._cache.get(self._key(first, second)) if self._cache else None
        return Claim(**kept) if kept else None

    def put(self, first: Tool, second: Tool, claim: Claim) -> None:
        """Keep what was said of a pair."""
        if self._cache:
            self._cache.put(self._key(first, second), asdict(claim))

    def _key(self, first: Tool, second: Tool) -> str:
        tools = sorted((describe(first), describe(second)), key=lambda tool: str(tool["name"]))
        return f"pair-{sha256(dump({'tools': tools, **self._teacher}).encode()).hexdigest()}"
