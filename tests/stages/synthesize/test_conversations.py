"""What the scripted teacher writes: grounded, solvable, perturbed at the asked rates."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from servers.kernel.dice import Dice
from servers.kernel.session import Session
from stages.conversations import CONVERSATIONS, Conversation, from_row, to_row
from stages.discover.edges import Chain, Label
from stages.rollout import replayed_session
from stages.sampling import LiveState, strings
from stages.synthesize.agenda import asked_tools
from stages.synthesize.knowledge import Knowledge
from stages.synthesize.machine import Event
from stages.synthesize.mix import make_jobs
from stages.synthesize.perturb import strip_enums, visible_tools
from stages.synthesize.plan import Planner
from stages.teacher import scripted
from stages.validate.dead_state import check_dead_state
from stages.validate.rows import rl_rows
from tests.stages.synthesize.writing import SEED, catalog, chains, conversations, drafts, params, write

OPAQUE = re.compile(r"\b[A-Z]{3,5}-\d{5,}\b")


def user_texts(conversation: Conversation) -> list[str]:
    return [m.content for m in conversation.messages if m.role == "user"]


def test_enough_of_everything_was_written() -> None:
    made = conversations()
    assert len(made) >= 65
    assert {c.kind for c in made} == {"multi_turn", "clarification", "abstention"}
    assert {c.information for c in made if c.kind == "multi_turn"} == {"complete", "missing", "minimal"}
    assert {p for c in made for p in c.perturbations} == {
        "distractors", "enum_stripped", "irrelevance", "missing_function",
    }  # fmt: skip


def test_no_user_text_holds_an_opaque_identifier_or_an_unfilled_placeholder() -> None:
    for made in conversations():
        for text in user_texts(made):
            assert not OPAQUE.search(text) and "{" not in text, (made.id, text)


def test_every_value_of_a_call_was_said_or_shown_before_it() -> None:
    for made in conversations():
        seen = ""
        for number, turn in enumerate(made.turns):
            for message in made.turn_messages(number):
                for call in message.tool_calls:
                    failed = any(c.arguments == call.arguments and not c.ok for c in turn.calls)
                    for name, value in (call.arguments or {}).items():
                        if name != "limit" and not failed:
                            assert str(value).casefold() in seen, (made.id, call, value)
                seen += message.content.casefold() if message.role in ("user", "tool") else ""


def test_what_a_turn_is_about_is_placed_unless_it_is_known() -> None:
    """A booking or a standing payment is only found through its account, so the account is said or shown."""
    bank = catalog().servers["banking"]
    live = LiveState(catalog(), bank, Session(catalog().world(SEED)))
    things = {t.id: t for kind in ("transaction", "scheduled_payment") for t in live.things(kind)}
    checked = 0
    for made in conversations():
        for number, turn in enumerate(made.turns):
            said = " ".join(user_texts(made)[: number + 1])
            earlier = " ".join(m.content for m in made.messages[: turn.start])
            for call in turn.truth:
                for value in strings(call.arguments):
                    if value in things and value not in earlier:
                        checked += 1
                        assert things[value].parents[0].label in said, (made.id, said)
    assert checked > 10


def test_a_withheld_value_is_said_only_after_the_question() -> None:
    checked = 0
    for job, draft in drafts():
        if job.kind != "multi_turn" or job.information == "complete":
            continue
        ask, reply = draft.turns[:2]
        asked, replied = (str(scripted.write(turn.user, [{}])["content"]) for turn in (ask, reply))
        assert ask.assistant["close"] == "question" and reply.clarifies
        values = reply.user["values"]
        assert len(values) == 1 or job.information == "minimal"
        for value in values.values():
            checked += 1
            assert not re.search(rf"(?<![\w.]){re.escape(value)}(?![\w.])", asked), (job.id, asked, value)
            assert value in replied
        listed = [call for batch in ask.assistant["batches"] for call in batch]
        assert all(catalog().entry(call["name"]).tool.read_only and not call["arguments"] for call in listed)
    assert checked > 40


def test_a_question_names_the_few_things_that_a_lookup_has_shown() -> None:
    named = 0
    for made in conversations():
        first = made.turns[0]
        if made.kind == "multi_turn" and made.information != "complete" and first.calls:
            question = made.turn_messages(0)[-1].content
            items = json.loads(first.calls[0].result)["items"]
            labels = [item.get("name") or item.get("label") for item in items]
            named += 1
            assert 1 < len(items) <= 8 and all(label in question for label in labels), (question, labels)
            assert not any(call.name == first.calls[0].name for call in made.turns[1].truth)
    assert named >= 1


def test_a_hidden_tool_is_not_visible_and_the_row_calls_only_what_is() -> None:
    hidden = 0
    for made in conversations():
        names = [tool.name for tool in made.tools]
        assert len(set(names)) == len(names)
        assert {call.name for turn in made.turns for call in turn.calls} <= set(names)
        if "missing_function" in made.perturbations:
            hidden += 1
            wanted = asked_tools(catalog().servers["banking"], Chain("", "banking", made.chain, labels_of(made)))
            assert wanted[-1] not in names
    assert hidden >= 5


def labels_of(made: Conversation) -> tuple[Label, ...]:
    return next(chain.labels for chain in chains() if chain.tools == made.chain)


def test_abstentions_and_irrelevant_questions_call_nothing() -> None:
    for made in conversations():
        if made.kind == "abstention" or "irrelevance" in made.perturbations:
            assert not any(turn.calls or turn.truth for turn in made.turns)
            assert len(made.turns) == 1 and made.messages[-1].role == "assistant"
        if "irrelevance" in made.perturbations:
            assert not {tool.name for tool in made.tools} & set(catalog().servers["budget"].tools)


def test_distractors_come_from_other_servers_in_the_asked_number() -> None:
    bank = catalog().servers["banking"]
    for _, draft in drafts():
        foreign = [tool.name for tool in draft.tools if tool.name not in bank.tools]
        assert bool(foreign) == ("distractors" in draft.perturbations)
        assert not foreign or 3 <= len(foreign) <= 8


def test_stripped_enums_are_gone_and_nothing_else_is() -> None:
    def has_enum(value: object) -> bool:
        if isinstance(value, dict):
            return "enum" in value or any(has_enum(v) for v in value.values())
        return isinstance(value, list) and any(has_enum(v) for v in value)

    for _, draft in drafts():
        for tool in draft.tools:
            full = catalog().entry(tool.name).tool.input_schema
            if "enum_stripped" in draft.perturbations:
                assert not has_enum(tool.parameters) and tool.parameters == strip_enums(full)
            else:
                assert tool.parameters == full
    schema = catalog().entry("list_accounts").tool.input_schema
    assert has_enum(schema) and strip_enums(schema)["properties"].keys() == schema["properties"].keys()
    assert strip_enums(schema)["properties"]["kind"]["type"] == "string"


def test_as_many_tools_of_the_server_are_shown_as_asked() -> None:
    bank = catalog().servers["banking"]
    chosen = params(server_tools=5, distractor_rate=0.0)
    needed = ["list_cards", "freeze_card"]
    specs, applied = visible_tools(catalog(), bank, needed, {"list_payees"}, chosen, Dice(1, "tools"))
    names = {spec.name for spec in specs}
    assert len(specs) == 5 and set(needed) <= names and "list_payees" not in names
    assert "missing_function" in applied


def gave_up(made: Conversation) -> bool:
    return any(step.event == Event.GIVE_UP for step in made.transitions)


def test_a_mistake_fails_and_is_made_good() -> None:
    codes: Counter[str] = Counter()
    for made in conversations():
        for number, turn in enumerate(made.turns):
            if number == 0 and gave_up(made):
                continue
            for index, call in enumerate(turn.calls):
                if call.ok:
                    continue
                codes[call.error_code] += 1
                assert json.loads(call.result)["error"]["code"] == call.error_code
                assert any(later.name == call.name and later.ok for later in turn.calls[index + 1 :])
                assert call.arguments not in [truth.arguments for truth in turn.truth if truth.name == call.name]
    assert codes["not_found"] >= 2 and codes["invalid_arguments"] >= 5


def test_a_setback_is_told_and_answered_by_the_users_next_words() -> None:
    remedied = 0
    setbacks = [made for made in conversations() if gave_up(made)]
    for made in setbacks:
        first, second = made.turns[0], made.turns[1]
        (refused,) = [call for call in first.calls if not call.ok]
        assert refused.executed and refused.error_code not in ("invalid_arguments", "not_found")
        message = json.loads(refused.result)["error"]["message"]
        assert message in made.turn_messages(0)[-1].content
        assert first.truth and all(call.name != "" for call in first.truth)
        again = [call for call in second.truth if call.name == refused.name]
        remedied += bool(again)
        for call in again:
            changed = {k for k, v in (refused.arguments or {}).items() if call.arguments.get(k) != v}
            assert len(changed) <= 1, (made.id, refused, call)
            assert changed or len(second.truth) > 1  # the same call works only after another one
    assert len(setbacks) >= 5 and remedied >= 4


def test_failed_calls_stay_under_the_share_that_validation_allows() -> None:
    for made in conversations():
        calls = [call for turn in made.turns for call in turn.calls]
        assert sum(not call.ok for call in calls) <= 0.3 * len(calls), made.id


def test_a_turn_that_is_to_change_something_does() -> None:
    for made in conversations():
        assert check_dead_state(catalog(), made) is None, made.id


def test_multi_turn_conversations_have_two_or_three_user_turns() -> None:
    made = [len(c.turns) for c in conversations() if c.kind == "multi_turn"]
    assert set(made) == {2, 3}
    assert sum(n == 2 for n in made) / len(made) == pytest.approx(0.7, abs=0.15)


def test_independent_lookups_share_a_message_and_dependent_calls_do_not() -> None:
    parallel = 0
    for made in conversations():
        for turn in made.turns:
            places = Counter(call.position for call in turn.calls)
            parallel += any(count > 1 for count in places.values())
            done = [call for call in turn.calls if call.ok]
            assert len(done) == len(turn.truth)
            for call, truth in zip(done, turn.truth, strict=True):
                assert all(done[source].position < call.position for source in truth.depends_on)
    assert parallel >= 3


def test_accounts_are_looked_up_once() -> None:
    """All accounts stand on one page, so a second look is only right when the user asks to see them."""
    looked = 0
    for made in conversations():
        places = [n for n, turn in enumerate(made.turns) for call in turn.truth if call.name == "list_accounts"]
        looked += len(places)
        for number in places[1:]:
            done = made.turns[number].truth
            assert done[-1].name == "list_accounts" or made.turns[number].calls[0].arguments, made.id
    assert looked > 10


def test_the_context_holds_real_things_of_the_kinds_in_play() -> None:
    bank = catalog().servers["banking"]
    live = LiveState(catalog(), bank, Session(catalog().world(SEED)))
    for _, draft in drafts():
        for kind, shown in draft.context.items():
            if kind == "asked_server":  # of a request that no visible tool can meet
                assert shown in catalog().servers
                continue
            real = {thing.id: thing.label for thing in live.things(kind)}
            assert isinstance(shown, list) and len(shown) <= 8
            for item in shown:
                assert isinstance(item, dict) and real[str(item["id"])] == item["label"]


def test_each_turn_replays_to_its_recorded_state() -> None:
    for made in conversations():
        for row in rl_rows(catalog(), made):
            session = replayed_session(catalog(), row.world, row.replay)
            for call in row.truth:
                assert catalog().call(session, call.name, call.arguments).ok
            assert session.state_hash == row.state_hash


@pytest.mark.parametrize("name", ["complete", "missing", "minimal"])
def test_rates_of_information(name: str) -> None:
    chosen = params(conversations=3000)
    jobs = [job for job in make_jobs(chains(), chosen, SEED) if not job.missing_function]
    share = sum(job.information == name for job in jobs) / len(jobs)
    assert share == pytest.approx({"complete": 0.6, "missing": 0.2, "minimal": 0.2}[name], abs=0.03)


def test_rates_of_kinds_and_hidden_tools() -> None:
    jobs = make_jobs(chains(), params(conversations=3000), SEED)
    kinds = Counter(job.kind for job in jobs)
    assert kinds["clarification"] / 3000 == pytest.approx(0.111, abs=0.02)
    assert kinds["abstention"] / 3000 == pytest.approx(0.083, abs=0.02)
    assert sum(job.irrelevant for job in jobs) / 3000 == pytest.approx(0.05, abs=0.015)
    assert sum(job.missing_function for job in jobs) / 3000 == pytest.approx(0.12, abs=0.02)
    assert sum(job.turns == 2 for job in jobs) / 3000 == pytest.approx(0.7, abs=0.03)
    assert all(not (job.irrelevant and job.missing_function) for job in jobs)
    assert all(job.kind != "multi_turn" for job in jobs if job.irrelevant or job.missing_function)


def test_every_tool_seeds_as_many_conversations_as_any_other() -> None:
    """Chains are drawn by the rarity of their tools, so a server with many chains does not crowd out the others."""
    many = [Chain(f"a{n}", "a", ("hub", f"leaf{n}"), ("explicit",)) for n in range(9)]
    one = Chain("b", "b", ("x", "y"), ("explicit",))
    jobs = make_jobs([*many, one], params(conversations=3000), SEED)
    share = sum(job.chain is one for job in jobs) / len(jobs)
    assert share == pytest.approx(2 / 12, abs=0.03), "two of twelve tools"


def test_rates_of_perturbations_over_300_drafts() -> None:
    made = drafts()
    assert len(made) >= 230
    applied = Counter(name for _, draft in made for name in draft.perturbations)
    assert applied["distractors"] / len(made) == pytest.approx(0.4, abs=0.08)
    assert applied["enum_stripped"] / len(made) == pytest.approx(0.3, abs=0.08)


def test_rates_of_zero_and_one_hold() -> None:
    chosen = params(
        conversations=20,
        distractor_rate=1.0,
        enum_strip_rate=0.0,
        mistake_rate=0.0,
        missing_function_rate=0.0,
        setback_rate=0.0,
    )
    for row in write(chosen):
        made = from_row(row)
        assert {"distractors", "irrelevance"} & set(made.perturbations) and "enum_stripped" not in made.perturbations
        assert all(call.ok for turn in made.turns for call in turn.calls)


def test_job_n_depends_only_on_the_seed_and_on_n() -> None:
    few, many = make_jobs(chains(), params(conversations=5), 3), make_jobs(chains(), params(conversations=50), 3)
    assert few == many[:5] != make_jobs(chains(), params(conversations=5), 4)


def test_the_same_run_writes_the_same_rows_in_any_order() -> None:
    chosen = params(conversations=12)
    assert write(chosen) == write(chosen)


def test_rows_survive_the_table_form() -> None:
    for made in conversations()[:10]:
        row = to_row(made)
        assert set(row) == set(CONVERSATIONS.names)
        assert from_row(row) == made


def test_the_planner_takes_what_was_made_for_one_parameter_only() -> None:
    """After a payment the account is known; a transfer must still find a second one."""
    bank = catalog().servers["banking"]
    session = Session(catalog().world(SEED))
    planner = Planner(catalog(), bank, session, Knowledge(), Dice(4, "two"))
    assert planner.plan(["send_payment"]) is not None and "account" in planner.known.outputs
    after = Planner(catalog(), bank, planner.session, planner.known, Dice(5, "two"))
    assert after.plan(["transfer_between_accounts"]) is not None


def test_a_plan_leaves_the_session_alone() -> None:
    session = Session(catalog().world(SEED))
    before = session.state_hash
    for name in catalog().servers["banking"].tools:
        Planner(catalog(), catalog().servers["banking"], session, Knowledge(), Dice(1, name)).plan([name])
    assert session.state_hash == before and not session.log
