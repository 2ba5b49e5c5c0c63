"""What must hold for every episode, whatever its calls."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from stages.records import ExecutedCall, Json, ToolSpec, TruthCall
from stages.reward.combine import score
from stages.reward.rules import RewardRules

NAMES = ["a", "b", "c", "read"]
TOOLS = [ToolSpec(n, "", {"properties": {"id": {"type": "string"}, "n": {"type": "integer"}}}) for n in NAMES]
arguments: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {}, optional={"id": st.sampled_from(["x", "y", "z"]), "n": st.integers(0, 2)}
)


@st.composite
def truths(draw: st.DrawFn, min_size: int = 0) -> list[TruthCall]:
    size = draw(st.integers(min_size, 4))
    return [
        TruthCall(
            draw(st.sampled_from(NAMES[:3])),
            draw(arguments),
            tuple(sorted(draw(st.sets(st.integers(0, i - 1))))) if i else (),
        )
        for i in range(size)
    ]


@st.composite
def episodes(draw: st.DrawFn) -> list[ExecutedCall]:
    position, calls = 0, []
    for _ in range(draw(st.integers(0, 7))):
        position += draw(st.integers(0, 1))
        executed = draw(st.booleans())
        name = draw(st.sampled_from([*NAMES, "unknown"]))
        given_ = draw(st.one_of(st.none(), arguments))
        calls.append(ExecutedCall(name, given_, position, executed, executed and draw(st.booleans())))
    return calls


@given(truths(), episodes(), st.sampled_from(["one_to_one", "reuse"]))
def test_bounds(truth: list[TruthCall], calls: list[ExecutedCall], matching: str) -> None:
    record = score(TOOLS, truth, calls, RewardRules.model_validate({"matching": matching}))
    for part in (record.validity, record.coverage, record.name, record.arguments):
        assert 0 <= part <= 1
    assert record.efficiency <= 0
    assert record.total <= 1.3 + 1e-12
    matched = [m for m in record.matching if m is not None]
    assert matching == "reuse" or len(matched) == len(set(matched))
    assert record.coverage <= len(matched) / max(1, len(truth))


def perfect(truth: list[TruthCall]) -> list[ExecutedCall]:
    return [ExecutedCall(g.name, g.arguments, i, True, True) for i, g in enumerate(truth)]


@given(truths(min_size=1), st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_an_extra_valid_read_only_moves_names_and_efficiency(truth: list[TruthCall], places: list[int]) -> None:
    calls = perfect(truth)
    before = score(TOOLS, truth, calls)
    for place in places:
        at = min(place, len(calls))
        later = [replace(c, position=c.position + 1) for c in calls[at:]]
        calls = [*calls[:at], ExecutedCall("read", {}, at, True, True), *later]
    after = score(TOOLS, truth, calls)
    assert (after.coverage, after.arguments, after.validity) == (before.coverage, before.arguments, 1)
    assert after.coverage == 1
    assert after.name < before.name


@given(truths(min_size=1), st.data())
def test_order_violations_lose_exactly_their_steps(truth: list[TruthCall], data: st.DataObject) -> None:
    distinct = [replace(g, name=f"t{i}") for i, g in enumerate(truth)]
    order = data.draw(st.permutations(range(len(truth))))
    calls = [ExecutedCall(f"t{g}", distinct[g].arguments, i, True, True) for i, g in enumerate(order)]
    place = {g: i for i, g in enumerate(order)}
    kept = tuple(all(place[d] < place[g] for d in truth[g].depends_on) for g in range(len(truth)))
    record = score([ToolSpec(g.name, "", TOOLS[0].parameters) for g in distinct], distinct, calls)
    assert record.in_order == kept
    assert record.coverage == sum(kept) / len(kept)


@given(truths(), episodes(), st.data())
def test_permuting_parallel_calls_changes_nothing(
    truth: list[TruthCall], calls: list[ExecutedCall], data: st.DataObject
) -> None:
    shuffled = sorted(data.draw(st.permutations(calls)), key=lambda c: c.position)
    one, two = score(TOOLS, truth, calls), score(TOOLS, truth, shuffled)
    names = ("total", "validity", "coverage", "efficiency", "name", "arguments", "masked", "budget")
    assert [getattr(one, n) for n in names] == [getattr(two, n) for n in names]


@given(truths(), episodes(), st.permutations(["x", "y", "z"]))
def test_renaming_values_consistently_changes_nothing(
    truth: list[TruthCall], calls: list[ExecutedCall], names: list[str]
) -> None:
    fresh = dict(zip(["x", "y", "z"], (f"entity-{n}" for n in names), strict=True))

    def rename(arguments: object) -> dict[str, Json] | None:
        if not isinstance(arguments, dict):
            return None
        return {k: fresh.get(v, v) if isinstance(v, str) else v for k, v in arguments.items()}

    renamed_truth = [replace(g, arguments=rename(g.arguments) or {}) for g in truth]
    renamed_calls = [replace(c, arguments=rename(c.arguments)) for c in calls]
    assert score(TOOLS, renamed_truth, renamed_calls) == score(TOOLS, truth, calls)


@given(truths(min_size=1), episodes())
def test_the_search_finds_the_best_matching(truth: list[TruthCall], calls: list[ExecutedCall]) -> None:
    record = score(TOOLS, truth, calls)
    best = max(_all_matchings(truth, calls), default=(0, 0.0, 0))
    matched = [(g, m) for g, m in enumerate(record.matching) if m is not None]
    ordered = sum(record.in_order[g] for g, _ in matched)
    equal = sum(_equal(truth[g], calls[m]) for g, m in matched)
    if calls:
        assert (len(matched), ordered, equal) == best


def _equal(step: TruthCall, call: ExecutedCall) -> int:
    return sum(call.arguments is not None and call.arguments[k] == v for k, v in step.arguments.items())


def _all_matchings(truth: list[TruthCall], calls: list[ExecutedCall]) -> list[tuple[int, int, int]]:
    """Every one-to-one matching, judged by size, order and equal values; brute force."""
    found: list[tuple[int, int, int]] = []

    def visit(g: int, chosen: list[int | None]) -> None:
        if g == len(truth):
            matched = [(i, m) for i, m in enumerate(chosen) if m is not None]
            ordered = 0
            for i, m in matched:
                before = [chosen[d] for d in truth[i].depends_on]
                ordered += all(b is not None and calls[b].position < calls[m].position for b in before)
            found.append((len(matched), ordered, sum(_equal(truth[i], calls[m]) for i, m in matched)))
            return
        visit(g + 1, [*chosen, None])
        for m, c in enumerate(calls):
            fits = c.arguments is not None and truth[g].arguments.keys() <= c.arguments.keys()
            if c.name == truth[g].name and m not in chosen and fits:
                visit(g + 1, [*chosen, m])

    visit(0, [])
    return found
