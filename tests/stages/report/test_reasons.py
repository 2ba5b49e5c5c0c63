"""The reward in words: the sums that are told are those that were made."""

from __future__ import annotations

from dataclasses import replace

from stages.report.viewer.reasons import parts, verdict
from stages.reward.rules import RewardRules, Weights
from tests.stages.report.made import calling, conversation, first_card, played, right, row_of

RULES = RewardRules()
ROW = row_of(conversation(0, "please"))
CARD = ("freeze_card", {"card_id": first_card()})
LIST = ("list_cards", {})


def told(*replies: tuple[tuple[str, dict[str, str]], ...]) -> dict[str, str]:
    episode = played(ROW, "p", *(calling(*reply) for reply in replies))
    return {part["name"]: part["why"] for part in parts(episode, RULES)}


def test_points_sum_to_the_reward() -> None:
    for replies in ([], [(CARD,)], [(LIST,), (CARD,)], [(LIST, CARD)], [(LIST,), (LIST,), (LIST,), (LIST,), (CARD,)]):
        episode = played(ROW, "p", *(calling(*reply) for reply in replies))
        made = parts(episode, RULES)
        assert len(made) == 5
        assert abs(sum(part["points"] for part in made) - episode.reward.total) < 1e-9


def test_each_part_gives_its_reason() -> None:
    assert told((LIST,), (CARD,)) == {
        "validity": "(3 + 3) / (3 · 2); every call ran and succeeded",
        "coverage": "2 of 2 expected calls made in order",
        "efficiency": "budget 2 + ⌈2 · 0.5⌉ = 3, made 2: within it",
        "name": "2 of 2 calls are to tools of the ground truth",
        "arguments": "call 1 has 0 of 0 right; call 2 has 1 of 1 right",
    }
    late = told((LIST, CARD))
    assert late["coverage"] == "1 of 2 expected calls made in order; freeze_card is out of order"
    busy = told((LIST,), (LIST,), (LIST,), (("unfreeze_card", {"card_id": "CRD-0", "pin": "1"}),), (LIST,))
    assert busy["efficiency"] == "budget 2 + ⌈2 · 0.5⌉ = 3, made 5: −0.5 · 2 / 3"
    assert busy["coverage"].endswith("freeze_card is missing")
    assert busy["name"] == "4 of 5 calls are to tools of the ground truth; not: unfreeze_card"
    assert busy["validity"].endswith("call 4 got to level 2")
    assert told()["validity"] == "no call was made"


def test_silence_and_masking_have_no_parts() -> None:
    quiet = played(replace(ROW, truth=(), required=()), "p")
    assert parts(quiet, RULES) == [] and verdict(quiet, RULES, []) == ["No call was expected and none was made: 1."]
    eager = played(replace(ROW, truth=(), required=()), "p", calling(LIST))
    assert verdict(eager, RULES, []) == ["No call was expected and 1 was made: 0."]
    broken = replace(eager, reward=eager.reward.model_copy(update={"masked": True}))
    assert verdict(broken, RULES, [])[0].startswith("Masked")


def test_the_verdict_says_what_was_wrong() -> None:
    done = right(ROW, "p")
    assert verdict(done, RULES, parts(done, RULES)) == ["Solved: the state at the end is the ground truth's."]
    looked = played(ROW, "p", calling(LIST))
    assert verdict(looked, RULES, parts(looked, RULES)) == [
        "Not solved: the state at the end is not the ground truth's."
    ]
    wanting = replace(done, required=("1",), reward=done.reward.model_copy(update={"outcome": False}))
    assert "not every one of 1 required results" in verdict(wanting, RULES, parts(wanting, RULES))[0]


def test_other_rules_than_those_of_the_record_are_told() -> None:
    done = right(ROW, "p")
    heavier = RewardRules(weights=Weights(name=0.9))
    assert verdict(done, heavier, parts(done, heavier))[-1].startswith("The total was computed under other rules")
