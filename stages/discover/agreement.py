"""The teacher against execution: precision, recall and F1, and every pair on which the two differ.

Execution counts as the truth. Pairs on which the teacher gave no answer are left out on both sides: a failed
request says nothing about the teacher's judgement.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from stages.discover.edges import Edge, Label, Pair

KINDS: Mapping[str, tuple[Label, ...]] = {
    "explicit": ("explicit",),
    "implicit": ("implicit",),
    "both": ("explicit", "implicit"),
}
"""The labels that count as an edge in each score; `both` takes either label for the other."""


@dataclass(frozen=True, slots=True)
class Score:
    """Edges that the teacher claims, edges that execution proves, and those that are in both."""

    claimed: int
    proved: int
    agreed: int

    @property
    def precision(self) -> float | None:
        """Share of the claimed edges that execution proves; None if none is claimed."""
        return self.agreed / self.claimed if self.claimed else None

    @property
    def recall(self) -> float | None:
        """Share of the proved edges that the teacher claims; None if none is proved."""
        return self.agreed / self.proved if self.proved else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None if there is no edge at all."""
        total = self.claimed + self.proved
        return 2 * self.agreed / total if total else None

    def row(self) -> dict[str, float | int | None]:
        """Counts and ratios as plain data."""
        return {**asdict(self), "precision": self.precision, "recall": self.recall, "f1": self.f1}


def scores(edges: Iterable[Edge], unanswered: Container[frozenset[str]]) -> dict[str, Score]:
    """The teacher's scores on explicit edges, implicit edges, and both."""
    judged = [edge for edge in edges if frozenset(edge.pair) not in unanswered]
    out: dict[str, Score] = {}
    for kind, labels in KINDS.items():
        claimed = {edge.pair for edge in judged if edge.verdict("teacher") in labels}
        proved = {edge.pair for edge in judged if edge.verdict("executed") in labels}
        out[kind] = Score(len(claimed), len(proved), len(claimed & proved))
    return out


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An ordered pair that the teacher labels other than execution does (`none`: no edge this way)."""

    server: str
    first: str
    second: str
    teacher: str
    executed: str
    evidence: str
    reason: str

    @property
    def kind(self) -> str:
        """What the teacher says, and what execution shows."""
        return f"{self.teacher}, executed {self.executed}"


DISAGREEMENTS = pa.schema(
    [(name, pa.string()) for name in ("server", "first", "second", "teacher", "executed", "evidence", "reason")]
)


def disagreements(
    edges: Iterable[Edge],
    evidence: Mapping[Pair, str],
    reasons: Mapping[frozenset[str], str],
    unanswered: Container[frozenset[str]],
) -> list[Disagreement]:
    """Every answered pair with different labels, in the order of the edges.

    Args:
        edges: the edges of a server, with the teacher's labels.
        evidence: what execution showed of each ordered pair.
        reasons: what the teacher said of each pair, dependent or not.
        unanswered: pairs without an answer.
    """
    out = []
    for edge in edges:
        told, shown = edge.verdict("teacher") or "none", edge.verdict("executed") or "none"
        both = frozenset(edge.pair)
        if told != shown and both not in unanswered:
            reason = reasons.get(both, "")
            out.append(
                Disagreement(edge.server, *edge.pair, told, shown, evidence.get(edge.pair, edge.evidence), reason)
            )
    return out


def foremost(found: Sequence[Disagreement], per_server: int) -> list[Disagreement]:
    """The first few of each server, taking its kinds of disagreement in turn, the rarest kind first."""
    out: list[Disagreement] = []
    for server in dict.fromkeys(item.server for item in found):
        groups: dict[str, list[Disagreement]] = {}
        for item in found:
            if item.server == server:
                groups.setdefault(item.kind, []).append(item)
        ranked = sorted(groups.values(), key=len)
        longest = max(map(len, ranked))
        out += [group[n] for n in range(longest) for group in ranked if n < len(group)][:per_server]
    return out
