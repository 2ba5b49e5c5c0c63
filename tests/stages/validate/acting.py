"""Conversations of the bank, played call by call, for tests that need one of a certain shape."""

from __future__ import annotations

from dataclasses import replace

from servers.kernel.session import Session
from stages.conversations import Conversation, Turn
from stages.params import ValidateParams
from stages.records import ExecutedCall, Json, Message, ToolCall
from stages.stage import StageContext
from stages.synthesize.truth import ground_truth
from stages.validate.overlap import Decontaminator
from stages.validate.reasons import Rejection
from stages.validate.verdicts import Checker
from tests.stages.synthesize.writing import SEED, SERVERS, catalog, conversations

Step = tuple[str, dict[str, Json]]


def checker() -> Checker:
    ctx = StageContext("validate", ValidateParams(), SEED, {"bootstrap": {"servers": list(SERVERS)}})
    return Checker(ctx, Decontaminator([], 8))


def judged(conversation: Conversation) -> Rejection | None:
    found = checker().check(conversation)
    return found if isinstance(found, Rejection) else None


def played(*turns: tuple[str, list[Step]]) -> Conversation:
    """A conversation of the bank in which each turn makes its calls one by one, recorded as it runs."""
    session = Session(catalog().world(SEED))
    messages: list[Message] = []
    done: list[Turn] = []
    for text, steps in turns:
        session.user_turn()
        start, calls = len(messages), list[ExecutedCall]()
        messages.append(Message("user", text))
        for name, arguments in steps:
            outcome = catalog().call(session, name, arguments)
            call = ToolCall(f"call_{len(messages)}", name, arguments)
            calls.append(
                ExecutedCall(name, arguments, len(messages), True, outcome.ok, outcome.text, outcome.error_code)
            )
            messages += [Message("assistant", "", (call,)), Message("tool", outcome.text, tool_call_id=call.id)]
        messages.append(Message("assistant", "Done."))
        done.append(Turn(start, tuple(calls), ground_truth(catalog(), calls), session.state_hash))
    return replace(conversations()[0], chain=("list_accounts",), messages=tuple(messages), turns=tuple(done))


def ids(kind: str, **columns: str) -> str:
    rows = catalog().world(SEED).rows.tables[f"banking.{kind}"]
    return next(key for key, row in rows.items() if all(getattr(row, k) == v for k, v in columns.items()))


def column(kind: str, key: str, name: str) -> str:
    return str(getattr(catalog().world(SEED).rows.tables[f"banking.{kind}"][key], name))


CHECKING, SAVINGS = ids("Account", name="Everyday Checking"), ids("Account", name="Rainy Day Savings")
JOINT = ids("Account", name="Household Joint")
PIN = column("Account", CHECKING, "pin")
LOOKUP: Step = ("list_accounts", {})


def move(**changes: Json) -> Step:
    return (
        "transfer_between_accounts",
        {"source_account_id": CHECKING, "target_account_id": SAVINGS, "amount": 25, **changes},
    )


ASK = "Move 25 from Everyday Checking to Rainy Day Savings."
