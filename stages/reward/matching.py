"""Which executed call stands for which ground-truth call.

A call can stand for a truth call of the same name if it gives all of its argument keys. Among the maximum
matchings the best one keeps most dependency orders, then has most equal values, then the earliest calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from stages.records import ExecutedCall, TruthCall
from stages.reward.equality import equal_keys
from stages.reward.rules import Matching

Assignment: TypeAlias = tuple[int | None, ...]

# Real ground truth needs a few dozen nodes; this bounds what an adversarial episode can cost (about 0.2 s).
_NODE_LIMIT = 20_000


class _Worth(NamedTuple):
    """What a matching is judged by, most important first."""

    ordered: int
    equal: int
    share: Fraction


@dataclass(frozen=True, slots=True)
class _Candidate:
    call: int
    position: int
    equal: int
    share: Fraction


def match(truth: Sequence[TruthCall], calls: Sequence[ExecutedCall], *, mode: Matching, strict: bool) -> Assignment:
    """Per ground-truth call the index of the executed call that stands for it, or None.

    With `reuse` one executed call may stand for several. Raises ValueError if a truth call depends on
    itself, on a later call, or on one that does not exist.
    """
    for index, step in enumerate(truth):
        if any(not 0 <= d < index for d in step.depends_on):
            raise ValueError(f"truth call {index} ({step.name}) depends on {step.depends_on}: need earlier calls")
    options = [_candidates(step, calls, strict) for step in truth]
    matched = sum(map(bool, options)) if mode == "reuse" else _maximum(options, len(calls))
    return _Search(truth, options, len(truth) - matched, exclusive=mode == "one_to_one").run()


def _candidates(step: TruthCall, calls: Sequence[ExecutedCall], strict: bool) -> list[_Candidate]:
    found = []
    for index, call in enumerate(calls):
        if call.name != step.name or call.arguments is None:
            continue
        if all(key in call.arguments for key in step.arguments):
            equal = len(equal_keys(call.arguments, step.arguments, strict=strict))
            share = Fraction(equal, len(step.arguments)) if step.arguments else Fraction(1)
            found.append(_Candidate(index, call.position, equal, share))
    return found


def _maximum(options: Sequence[Sequence[_Candidate]], calls: int) -> int:
    """Size of a maximum one-to-one matching (Kuhn's augmenting paths)."""
    owner: list[int | None] = [None] * calls

    def augment(step: int, seen: set[int]) -> bool:
        for option in options[step]:
            if option.call in seen:
                continue
            seen.add(option.call)
            holder = owner[option.call]
            if holder is None or augment(holder, seen):
                owner[option.call] = step
                return True
        return False

    return sum(augment(step, set()) for step in range(len(options)))


class _Search:
    """Depth-first branch and bound over the maximum matchings, in truth order.

    Dependencies point backwards, so whether a step keeps its order is known when it is assigned.
    """

    def __init__(
        self, truth: Sequence[TruthCall], options: Sequence[list[_Candidate]], skips: int, *, exclusive: bool
    ) -> None:
        self._truth, self._options, self._exclusive = truth, options, exclusive
        self._skips = skips
        self._nodes = 0
        self._chosen: list[_Candidate | None] = []
        self._used: set[int] = set()
        self._best: tuple[_Worth, list[_Candidate | None]] | None = None
        # what the steps from i on can add at most
        self._rest = [_Worth(0, 0, Fraction(0))]
        for step in reversed(options):
            after = self._rest[-1]
            best = max(((o.equal, o.share) for o in step), default=(0, Fraction(0)))
            self._rest.append(_Worth(after.ordered + bool(step), after.equal + best[0], after.share + best[1]))
        self._rest.reverse()

    def run(self) -> Assignment:
        self._visit(_Worth(0, 0, Fraction(0)), self._skips)
        assert self._best is not None  # the first descent always completes: see _feasible
        return tuple(c.call if c else None for c in self._best[1])

    def _visit(self, worth: _Worth, skips: int) -> None:
        step = len(self._chosen)
        if step == len(self._truth):
            if self._best is None or self._better(worth, exact=True):
                self._best = (worth, list(self._chosen))
            return
        self._nodes += 1
        if self._best is not None and (self._nodes > _NODE_LIMIT or not self._better(worth, exact=False)):
            return
        for option in self._ranked(step):
            ordered = self._in_order(step, option)
            gained = _Worth(worth.ordered + ordered, worth.equal + option.equal, worth.share + option.share)
            self._chosen.append(option)
            if self._exclusive:
                self._used.add(option.call)
            if self._feasible(step + 1, skips):
                self._visit(gained, skips)
            self._chosen.pop()
            self._used.discard(option.call)
        if skips:
            self._chosen.append(None)
            if self._feasible(step + 1, skips - 1):
                self._visit(worth, skips - 1)
            self._chosen.pop()

    def _feasible(self, step: int, skips: int) -> bool:
        """Whether the steps from `step` on can still be matched with no more than `skips` left out."""
        if not self._exclusive:
            return sum(not o for o in self._options[step:]) <= skips
        left = [[o for o in options if o.call not in self._used] for options in self._options[step:]]
        calls = 1 + max((o.call for options in left for o in options), default=-1)
        return len(left) - _maximum(left, calls) <= skips

    def _ranked(self, step: int) -> list[_Candidate]:
        free = [o for o in self._options[step] if not (self._exclusive and o.call in self._used)]
        return sorted(free, key=lambda o: (-self._in_order(step, o), -o.equal, o.call))

    def _in_order(self, step: int, option: _Candidate) -> bool:
        """Whether every dependency is matched by a call of an earlier message."""
        before = [self._chosen[d] for d in self._truth[step].depends_on]
        return all(b is not None and b.position < option.position for b in before)

    def _better(self, worth: _Worth, *, exact: bool) -> bool:
        assert self._best is not None
        worst, best = len(self._truth) + 10**9, self._best
        rest = _Worth(0, 0, Fraction(0)) if exact else self._rest[len(self._chosen)]
        limit = _Worth(worth.ordered + rest.ordered, worth.equal + rest.equal, worth.share + rest.share)
        if limit != best[0]:
            return limit > best[0]
        mine = [c.call if c else worst for c in self._chosen]
        return mine <= [c.call if c else worst for c in best[1][: len(mine)]]
