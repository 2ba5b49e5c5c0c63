"""A small made-up bank for tests: facts of its tools, and a compact way to write a turn's trace."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypeAlias

from stages.records import ExecutedCall, Json, Message, ToolCall, ToolSpec
from stages.skills.facts import Facts, ParameterFacts, ToolFacts
from stages.skills.trajectories import Trajectory


def _parameter(name: str, kind: str = "string", **traits: object) -> ParameterFacts:
    values = {"required": True, "entity": "", "natural": False, "sensitive": False, "kind": kind}
    return ParameterFacts(name, **{**values, **traits})  # type: ignore[arg-type]


ACCOUNT = _parameter("account_id", entity="account")
SOURCE = _parameter("source_account_id", entity="account")
PAYEE = _parameter("payee_id", entity="payee")
CARD = _parameter("card_id", entity="card")
AMOUNT = _parameter("amount", "number")
LIMIT = _parameter("limit", "integer")
PIN = _parameter("pin", sensitive=True)
QUERY = _parameter("query", required=False)
KIND = _parameter("kind", required=False, options=("checking", "savings", "joint"))
MEMO = _parameter("memo", required=False)
PAGE = _parameter("limit", "integer", required=False, default=20)
EMAIL = _parameter("email", entity="contact", natural=True)
FORMAT = _parameter("format", required=False, options=("pdf", "csv"), default="pdf")


def _tool(name: str, *parameters: ParameterFacts, produces: Sequence[str] = (), read_only: bool = True) -> ToolFacts:
    return ToolFacts(name, "banking", read_only, read_only, parameters, frozenset(produces))


def _write(name: str, *parameters: ParameterFacts) -> ToolFacts:
    return _tool(name, *parameters, read_only=False)


TOOLS = (
    _tool("list_accounts", KIND, produces=["account"]),
    _tool("list_payees", QUERY, produces=["payee"]),
    _tool("list_cards", produces=["card"]),
    _tool("get_account", ACCOUNT, produces=["account"]),
    _tool("list_transactions", ACCOUNT, PAGE),
    _write("send_payment", SOURCE, PAYEE, AMOUNT, PIN, MEMO),
    _write("freeze_card", CARD),
    _write("unfreeze_card", CARD, PIN),
    _write("set_limit", CARD, LIMIT, PIN),
    _write("email_statement", ACCOUNT, EMAIL, FORMAT),
)
FACTS = Facts(TOOLS)
VISIBLE = tuple(ToolSpec(tool.name, "", {"type": "object"}) for tool in TOOLS)

Call: TypeAlias = tuple[str, dict[str, Json] | None, str]
Said: TypeAlias = "str | list[Call]"


def call(name: str, result: Json = None, **arguments: Json) -> Call:
    """A call that works and what it gives."""
    return name, arguments, json.dumps({"ok": True} if result is None else result, separators=(",", ":"))


def fails(name: str, code: str, message: str, **arguments: Json) -> Call:
    """A call that fails."""
    return name, arguments, json.dumps({"error": {"code": code, "message": message}}, separators=(",", ":"))


def broken(name: str) -> Call:
    """A call that is no JSON."""
    return name, None, '{"error":{"code":"invalid_call","message":"the call is not valid JSON"}}'


def trace(*said: Said, id: str = "t", stopped: bool = False) -> Trajectory:
    """A conversation up to the end of a turn: texts of user and assistant in turn, and lists of parallel calls.

    The last text of the user begins the turn; `stopped` says that the assistant never answered.
    """
    messages: list[Message] = []
    calls: list[ExecutedCall] = []
    start = 0
    for item in said:
        if isinstance(item, str):
            asks = not messages or (messages[-1].role == "assistant" and not messages[-1].tool_calls)
            if asks:
                start, calls = len(messages), []
            messages.append(Message("user" if asks else "assistant", item))
            continue
        position = len(messages)
        asked = tuple(ToolCall(f"c{position}-{n}", name, arguments) for n, (name, arguments, _) in enumerate(item))
        messages.append(Message("assistant", "", asked))
        for name, arguments, result in item:
            error = json.loads(result).get("error", {}).get("code", "")
            ran = error not in ("invalid_arguments", "invalid_call", "unknown_tool")
            calls.append(ExecutedCall(name, arguments, position, ran, not error, result, error))
            messages.append(Message("tool", result, tool_call_id=f"c{position}"))
    assert stopped == (messages[-1].role == "tool"), "an answer is missing, or there is one too many"
    return Trajectory(id, VISIBLE, tuple(messages), start, tuple(calls))
