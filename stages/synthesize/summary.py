"""What a run wrote, in figures: counts, wanted against achieved rates, steps of the machine, diversity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from servers.kernel.catalog import Catalog
from stages.conversations import Conversation, Turn
from stages.params import SynthesizeParams
from stages.sampling import strings
from stages.synthesize.diversity import text_diversity
from stages.synthesize.machine import TABLE, Event


def summary(
    catalog: Catalog,
    params: SynthesizeParams,
    seed: int,
    written: Sequence[Conversation],
    unwritten: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Everything that the report shows of a run."""
    calls = [call for c in written for turn in c.turns for call in turn.calls]
    steps = Counter((t.state, t.event) for c in written for t in c.transitions)
    return {
        "conversations": len(written),
        "unwritten": _counts(str(row["unwritten"]) for row in unwritten),
        "kinds": _counts(c.kind for c in written),
        "information": _counts(c.information for c in written if c.kind == "multi_turn"),
        "perturbations": _counts(p for c in written for p in c.perturbations),
        "personas": _counts(c.persona for c in written),
        "servers": _counts(c.server for c in written),
        "user_turns": sum(len(c.turns) for c in written),
        "calls": len(calls),
        "failed_calls": sum(not call.ok for call in calls),
        "error_codes": _counts(call.error_code for call in calls if not call.ok),
        "tools_called": len({call.name for call in calls}),
        "transitions": {
            f"{state} --{event}--> {target}": steps[state, event] for (state, event), target in TABLE.items()
        },
        "rates": rates(params, written),
        "diversity": diversity(catalog, written, seed),
        "cost": round(sum(c.cost for c in written), 6),
    }


def rates(params: SynthesizeParams, written: Sequence[Conversation]) -> dict[str, dict[str, float]]:
    """Each share that the params ask for (`wanted`) beside the one that came out (`achieved`)."""
    multi = [c for c in written if c.kind == "multi_turn"]
    told = [c for c in multi if c.information == "complete"]
    acting = [turn for c in multi for turn in c.turns if turn.calls]
    wanted = {
        "kind multi_turn": 1 - params.mix.clarification - params.mix.abstention,
        "kind clarification": params.mix.clarification,
        "kind abstention": params.mix.abstention,
        **{f"information {name}": share for name, share in params.information.model_dump().items()},
        "distractors": params.distractor_rate,
        "enums stripped": params.enum_strip_rate,
        "irrelevance": params.irrelevance_rate,
        "missing function": params.missing_function_rate,
        "turns with a mistake": params.mistake_rate,
        "setbacks": params.setback_rate,
        "ended after two turns": params.stop_after_two if params.max_turns > 2 else 1.0,
    }
    achieved = {
        **{f"kind {kind}": _share(c.kind == kind for c in written) for kind in _KINDS},
        **{f"information {level}": _share(c.information == level for c in multi) for level in _LEVELS},
        "distractors": _share("distractors" in c.perturbations for c in written),
        "enums stripped": _share("enum_stripped" in c.perturbations for c in written),
        "irrelevance": _share("irrelevance" in c.perturbations for c in written),
        "missing function": _share("missing_function" in c.perturbations for c in written),
        "turns with a mistake": _share(map(_is_repaired, acting)),
        "setbacks": _share(any(t.event == Event.GIVE_UP for t in c.transitions) for c in told),
        "ended after two turns": _share(len(c.turns) <= 2 for c in multi),
    }
    return {name: {"wanted": round(share, 4), "achieved": achieved[name]} for name, share in wanted.items()}


def diversity(catalog: Catalog, written: Sequence[Conversation], seed: int) -> dict[str, Any]:
    """How varied the requests, the chains and the things in them are."""
    asked = [c.messages[turn.start].content for c in written for turn in c.turns]
    truth = [call for c in written for turn in c.turns for call in turn.truth]
    entities = {
        value
        for call in truth
        for parameter in catalog.entry(call.name).tool.parameters
        if parameter.entity is not None
        for value in strings(call.arguments.get(parameter.name))
    }
    return {
        "requests": text_diversity(asked, seed),
        "turns": _counts(str(len(c.turns)) for c in written),
        "calls_per_conversation": _counts(f"{sum(len(turn.truth) for turn in c.turns):02d}" for c in written),
        "chain_lengths": _counts(str(len(c.chain)) for c in written),
        "chains": len({c.chain for c in written}),
        "tools": len({call.name for call in truth}),
        "tools_shown": len({tool.name for c in written for tool in c.tools}),
        "entities": len(entities),
    }


_KINDS = ("multi_turn", "clarification", "abstention")
_LEVELS = ("complete", "missing", "minimal")


def _is_repaired(turn: Turn) -> bool:
    """Whether a failed call was made good before the turn ended."""
    failed = [index for index, call in enumerate(turn.calls) if not call.ok]
    return bool(failed) and any(call.ok for call in turn.calls[failed[-1] + 1 :])


def _share(flags: Iterable[bool]) -> float:
    found = list(flags)
    return round(sum(found) / len(found), 4) if found else 0.0


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))
