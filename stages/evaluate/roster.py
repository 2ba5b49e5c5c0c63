"""Who is scored: the three local policies, agents behind an API, and scripted ones, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from stages.artifacts import DATA
from stages.evaluate.scripted_agents import SCRIPTED
from stages.params import EvaluateParams, HostedParams, ParamsError

LOCAL = {"base": DATA / "policy_base", "sft": DATA / "policy" / "sft", "policy": DATA / "policy" / "final"}
"""The untrained weights, the warm start, and the trained policy."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """One agent: `weights` if it is a local policy, `hosted` if it is behind an API, else it is scripted."""

    name: str
    weights: Path | None = None
    hosted: HostedParams | None = None


def entrants(params: EvaluateParams, also: Sequence[str] = ()) -> list[Entrant]:
    """The agents of `evaluate.agents`, then those that only benchmarks name.

    Raises:
        ParamsError: a name is that of no agent, or a hosted agent takes one of ours.
    """
    for name in params.hosted:
        if name in LOCAL or name in SCRIPTED:
            raise ParamsError(f"evaluate.hosted.{name}: this name is taken; choose another")
    return [_entrant(name, params) for name in dict.fromkeys([*params.agents, *also])]


def _entrant(name: str, params: EvaluateParams) -> Entrant:
    if name in LOCAL:
        return Entrant(name, weights=LOCAL[name])
    if name in params.hosted:
        return Entrant(name, hosted=params.hosted[name])
    if name in SCRIPTED:
        return Entrant(name)
    known = [*LOCAL, *SCRIPTED, *params.hosted]
    near = get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}; describe it in evaluate.hosted"
    raise ParamsError(f"evaluate.agents: unknown agent {name!r}; {advice}")
