"""Readers of what a model wrote: replies with calls, answers over the wire, and the notations of benchmarks."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from stages.artifacts import dump
from stages.chat import parse_reply
from stages.chat.one_call import one_call_each
from stages.evaluate.acebench.calls import UnreadableError, read_calls
from stages.evaluate.tau2.arithmetic import calculate
from stages.evaluate.teval.reading import read_choice, read_literal, read_object, read_template
from stages.play.line import LineError, arguments_of, command_of
from stages.records import Message
from stages.skills.teacher_judge import read_scores
from stages.teacher.wire import SaidCall, assistant_message, to_openai
from tests.fuzz.target import Target, require, text_of

CALL = b'<tool_call>{"name": "a", "arguments": {"x": 1}}</tool_call>'
TEMPLATE = {"thought_start": "Thought:", "thought_end": "\n", "action_start": "Action:", "action_end": "\n"}


def reply(data: bytes) -> None:
    """A policy's reply: never an exception; what was read can be kept, and broken calls say how to repair them."""
    message = parse_reply(data.decode("utf-8", "replace"), turn=3)
    _can_be_kept(message)
    require(len({call.id for call in message.tool_calls}) == len(message.tool_calls), "two calls share an id")
    results = [Message("tool", "{}", tool_call_id=call.id) for call in message.tool_calls]
    spread = [each for _, each in one_call_each([message, *results])]
    require([c for m in spread for c in m.tool_calls] == list(message.tool_calls), "calls are lost one by one")
    require(sum(m.role == "tool" for m in spread) == len(results), "results are lost one by one")


def wire(data: bytes) -> None:
    """A teacher's answer: the parts before, between and after NUL are its content, a name, arguments, and so on."""
    content, *parts = text_of(data).split("\0")
    said = [SaidCall(f"c{n}", name, text) for n, (name, text) in enumerate(zip(parts[::2], parts[1::2], strict=False))]
    message = assistant_message(content, said)
    _can_be_kept(message)
    json.dumps(to_openai(message), allow_nan=False)


def _can_be_kept(message: Message) -> None:
    """Whether a message can stand in a table: finite numbers, text that is UTF-8."""
    for call in message.tool_calls:
        require((call.arguments is None) == bool(call.error), "a broken call says nothing, or a good one complains")
    dump(asdict(message)).encode()


def notation(data: bytes) -> None:
    """Notations of benchmarks, and lines that a person types."""
    text = text_of(data)
    _either(lambda: [dump(dict(call.arguments)).encode() for call in read_calls(text)], UnreadableError)
    _either(lambda: calculate(text), ValueError, SyntaxError, ArithmeticError, TypeError)
    _either(lambda: arguments_of(command_of(text).rest), LineError)
    read_object(text, dict)
    read_object(text, list)
    read_literal(text)
    read_template(text, TEMPLATE)
    require(read_choice(text) in {*"ABCDE", None}, "a choice that is none of the letters")
    for key, score in read_scores(text).items():
        require(type(key) is int and type(score) is int, "a score that is no number")


def _either(read: Callable[[], Any], *documented: type[Exception]) -> None:
    """Read, and let pass what the reader says that it may raise."""
    with contextlib.suppress(*documented):
        read()


REPLY = Target(
    "reply",
    (
        CALL,
        b"First. " + CALL + CALL + b" Last.",
        b"<think>" + CALL + b"</think>Done.",
        b'<|python_tag|>{"name": "a", "parameters": {"x": [1, 2.5e1, null]}}',
        b'<tool_call>{"name": "a", "arguments": {"x": NaN}}</tool_call>',
        b'<tool_call>{"name": "a", "arguments": {"x": 1e999}}',
        b'<tool_call>{"name": "a", "arguments": {"x": "\\ud800"}}',
        b'<tool_call>{"name": "\\ud800", "arguments": {}}',
        b'<tool_call>{"name": "", "arguments": []}</tool_call><tool_call>',
        b'<tool_call>{"name": "a", "arguments": {"x": ' + b"[" * 2_000,
        b'<tool_call>{"name": "a", "arguments": {"x": ' + b"9" * 4_400 + b"}}",
        b"<tool_call>" * 200,
        b'{"name": "a", "arguments": {}}{"name": "b"}',
    ),
    reply,
)
WIRE = Target(
    "wire",
    (
        b"Hello.",
        b"<think>hm</think> Yes.",
        b'\0send\0{"amount": 12.5, "to": "x"}\0list\0',
        b'\0send\0{"amount": NaN}',
        b'\0send\0{"amount": 1e999}',
        b'\0send\0{"note": "\\ud83d"}',
        b"\0send\0[1]",
        b"\0send\0" + b'{"a":' * 300,
        b"\0send\0" + b"[" * 2_000,
        b'\0send\0{"n": ' + b"9" * 4_400 + b"}",
        b"\xed\xa0\x80\0\xff\0{}",
    ),
    wire,
)
NOTATION = Target(
    "notation",
    (
        b"[Send(to='x', amount=-1.5, tags=['a', true], deep={'k': null}), api.List()]",
        b"[F(a=1e999)]",
        b"[F(a='\\ud800')]",
        b"[F(**{}), G(1), lambda: 0]",
        b"[F(a=" + b"(" * 120 + b"1" + b")" * 120 + b")]",
        b"(1 + 2) * 3 / 0 - 9 ** 9 ** 9",
        b"8 ** -0.5 // 3",
        b'send {"limit": 3}',
        b"send " + b"[" * 2_000,
        b'```json\n{"name": "a", "args": {"x": 1}}\n```',
        b"{'a': (1, 2), 'b': None}",
        b"Thought: so\nAction: go\n{}",
        b"The answer is: **B**.",
        b'[{"subgoal": 0, "score": 2}, {"subgoal": "x"}, 3]',
    ),
    notation,
)
