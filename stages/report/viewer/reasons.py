"""A reward in words: how far each call got, what stood for which expected call, and the sums behind each part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from stages.episodes import ScoredEpisode
from stages.records import ExecutedCall, Json, ToolSpec, TruthCall
from stages.reward.combine import RewardRecord
from stages.reward.efficiency import budget
from stages.reward.equality import equal_keys
from stages.reward.rules import RewardRules
from stages.reward.validity import arguments_fit

Part: TypeAlias = dict[str, Any]
"""`name`, `value`, `weight`, `points` (their product) and `why` in words."""


def parts(episode: ScoredEpisode, rules: RewardRules) -> list[Part]:
    """The parts of an episode's reward, each with its reason; none where only the rule for abstention counts."""
    reward, truth, calls = episode.reward, episode.truth, episode.record.calls
    if reward.masked or reward.abstention:
        return []
    told = {
        "validity": _validity(reward.levels),
        "coverage": _coverage(truth, reward),
        "efficiency": _efficiency(len(calls), len(truth), rules),
        "name": _names(truth, calls),
        "arguments": _arguments(truth, calls, reward, strict=rules.strict_values),
    }
    if reward.process is not None:
        told["process"] = "mean score of the episode's subgoals, as a share of the best"
    made = []
    for name, why in told.items():
        value, weight = getattr(reward, name), getattr(rules.weights, name)
        made.append({"name": name, "value": value, "weight": weight, "points": value * weight, "why": why})
    return made


def verdict(episode: ScoredEpisode, rules: RewardRules, made: Sequence[Part]) -> list[str]:
    """What the whole comes to, in sentences."""
    reward, calls = episode.reward, episode.record.calls
    if reward.masked:
        return ["Masked: a call failed for a reason outside the model, so the episode counts for nothing."]
    if reward.abstention:
        silent = "No call was expected and none was made: 1." if not calls else _uncalled_for(len(calls))
        return [silent]
    sentences = [_outcome(episode)] if reward.outcome is not None else []
    if rules.kind == "dense" and abs(sum(part["points"] for part in made) - reward.total) > 1e-6:
        sentences.append("The total was computed under other rules than those of params.yaml; its parts are as stored.")
    if rules.kind == "outcome":
        sentences.append("The total is the outcome alone (reward.kind: outcome).")
    if rules.kind == "scribe":
        shares = f"{rules.scribe.outcome:g} · outcome + {rules.scribe.process:g} · process"
        sentences.append(f"The total is {shares} (reward.kind: scribe).")
    return sentences


def level_reason(call: ExecutedCall, level: int, visible: Mapping[str, ToolSpec]) -> str:
    """Why a call got as far as it got, and no further."""
    if level == 0:
        return "level 0 of 3: no visible tool has this name"
    if level == 1:
        return f"level 1 of 3: {_misfit(call.arguments, visible[call.name].parameters)}"
    if level == 2:
        stopped = "ran and failed" if call.executed else "was refused"
        return f"level 2 of 3: fits the schema, {stopped} with {call.error_code or 'no code'}"
    return "level 3 of 3: ran and succeeded"


def match_reason(index: int, truth: Sequence[TruthCall], reward: RewardRecord) -> str:
    """What became of one expected call; calls are counted from 1."""
    stands = reward.matching[index]
    if stands is None:
        return "missing: no call of this tool gives all of these arguments"
    if reward.in_order[index]:
        return f"met by call {stands + 1}, in order"
    before = ", ".join(_order_of(d, truth, reward) for d in truth[index].depends_on)
    return f"met by call {stands + 1}, out of order: it has to follow {before}"


def differing(call: ExecutedCall, step: TruthCall, *, strict: bool) -> list[str]:
    """The arguments of an expected call that the call does not have right."""
    equal = equal_keys(call.arguments, step.arguments, strict=strict)
    return [name for name in step.arguments if name not in equal]


def _uncalled_for(calls: int) -> str:
    return f"No call was expected and {calls} {'was' if calls == 1 else 'were'} made: 0."


def _outcome(episode: ScoredEpisode) -> str:
    record, wanted = episode.record, len(episode.required)
    if episode.reward.outcome:
        learnt = f", and {wanted} required result{'s' * (wanted != 1)} were observed" if wanted else ""
        return f"Solved: the state at the end is the ground truth's{learnt}."
    if record.state_hash != episode.truth_hash:
        return "Not solved: the state at the end is not the ground truth's."
    return f"Not solved: the state is right, but not every one of {wanted} required results was observed."


def _validity(levels: Sequence[int]) -> str:
    if not levels:
        return "no call was made"
    short = [f"call {n} got to level {level}" for n, level in enumerate(levels, start=1) if level < 3]
    whole = "; ".join(short) if short else "every call ran and succeeded"
    return f"({' + '.join(map(str, levels))}) / (3 · {len(levels)}); {whole}" if len(levels) <= 12 else whole


def _coverage(truth: Sequence[TruthCall], reward: RewardRecord) -> str:
    done = [m is not None and o for m, o in zip(reward.matching, reward.in_order, strict=True)]
    told = f"{sum(done)} of {len(truth)} expected calls made in order"
    faults = [f"{step.name} {_fault(reward, n)}" for n, step in enumerate(truth) if not done[n]]
    return "; ".join([told, *faults])


def _fault(reward: RewardRecord, index: int) -> str:
    return "is missing" if reward.matching[index] is None else "is out of order"


def _efficiency(calls: int, expected: int, rules: RewardRules) -> str:
    limit = budget(expected, rules.beta)
    arithmetic = f"budget {expected} + ⌈{expected} · {rules.beta:g}⌉ = {limit}, made {calls}"
    over = calls - limit
    return f"{arithmetic}: −{rules.alpha:g} · {over} / {limit}" if over > 0 else f"{arithmetic}: within it"


def _names(truth: Sequence[TruthCall], calls: Sequence[ExecutedCall]) -> str:
    wanted = {step.name for step in truth}
    other = list(dict.fromkeys(call.name for call in calls if call.name not in wanted))
    told = f"{sum(call.name in wanted for call in calls)} of {len(calls)} calls are to tools of the ground truth"
    return f"{told}; not: {', '.join(other)}" if other else told


def _arguments(truth: Sequence[TruthCall], calls: Sequence[ExecutedCall], reward: RewardRecord, *, strict: bool) -> str:
    told = []
    for step, index in zip(truth, reward.matching, strict=True):
        if index is not None:
            wrong = differing(calls[index], step, strict=strict)
            right = f"call {index + 1} has {len(step.arguments) - len(wrong)} of {len(step.arguments)} right"
            told.append(f"{right}, not {', '.join(wrong)}" if wrong else right)
    return "; ".join(told) if told else "no call stands for an expected one"


def _order_of(index: int, truth: Sequence[TruthCall], reward: RewardRecord) -> str:
    stands = reward.matching[index]
    place = "which is missing" if stands is None else f"which is call {stands + 1}"
    return f"{truth[index].name}, {place}"


def _misfit(arguments: Mapping[str, Json] | None, schema: Mapping[str, Json]) -> str:
    if arguments is None:
        return "its arguments are no JSON object"
    known, required = schema.get("properties"), schema.get("required")
    properties = known if isinstance(known, Mapping) else {}
    lacking = [key for key in (required if isinstance(required, list) else []) if key not in arguments]
    if lacking:
        return f"lacks {', '.join(map(str, lacking))}"
    unknown = [key for key in arguments if key not in properties]
    if unknown:
        return f"has no argument {', '.join(unknown)}"
    wrong = [key for key, value in arguments.items() if not _fits(key, value, schema, properties)]
    return f"{', '.join(wrong)} {'has' if len(wrong) == 1 else 'have'} another type than the schema's"


def _fits(key: str, value: Json, schema: Mapping[str, Json], properties: Mapping[str, Json]) -> bool:
    return arguments_fit({key: value}, {**schema, "properties": {key: properties[key]}, "required": []})
