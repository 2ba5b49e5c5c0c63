"""The markers of every chat format, in characters that tokens share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from stages.chat import ChatFormat, PlainChatML
from stages.records import Message, ToolCall
from stages.train.monitor.control import ControlTokens, Tags
from tests.stages.train.monitor.formats import NAMES, chat_of, packaged_tokenizer

CALL = Message("assistant", "", (ToolCall("c", "send_money", {"payee": "Zoë <b>", "name": "x"}),))


def marked(control: ControlTokens, tokenizer: Any, ids: Sequence[int], marker: str | None) -> list[str]:
    """The tokens under a marker, as text."""
    return [tokenizer.decode([i]) for i, m in zip(ids, control.labels(ids), strict=True) if m == marker]


@pytest.mark.parametrize("name", NAMES)
def test_a_call_has_the_markers_of_its_format(name: str) -> None:
    chat, tokenizer = chat_of(name)
    control, ids = ControlTokens(chat, tokenizer), chat.reply(CALL)
    llama = name.startswith("llama")
    assert control.tags == (Tags('{"name":', "") if llama else Tags("<tool_call>", "</tool_call>"))
    shared = "{" if name == "plain" else ""  # of the token that ends the tag
    assert "".join(marked(control, tokenizer, ids, "open")) == control.tags.open + shared
    assert "".join(marked(control, tokenizer, ids, "close")) == control.tags.close
    assert len(marked(control, tokenizer, ids, "stop")) == 1 and control.labels(ids)[-1] == "stop"
    assert "send_money" in "".join(marked(control, tokenizer, ids, None))


@pytest.mark.parametrize("name", NAMES)
def test_prose_has_a_stop_and_no_other_marker(name: str) -> None:
    chat, tokenizer = chat_of(name)
    control, ids = ControlTokens(chat, tokenizer), chat.reply(Message("assistant", 'Zoë said "name": tool_call.'))
    assert control.labels(ids) == (*[None] * (len(ids) - 1), "stop")
    assert control.stopped(ids) and not control.stopped(ids[:-1]) and not control.stopped([])
    assert control.labels([]) == ()


def encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"])


def pairs(control: ControlTokens, tokenizer: Any, text: str) -> list[tuple[str, str | None]]:
    ids = encoded(tokenizer, text)
    return [(tokenizer.decode([i]), m) for i, m in zip(ids, control.labels(ids), strict=True)]


def test_a_token_that_joins_two_markers_belongs_to_the_larger_part() -> None:
    chat, tokenizer = chat_of("plain")
    control = ControlTokens(chat, tokenizer)
    found = pairs(control, tokenizer, "<tool_call></tool_call>")
    assert ("></", "close") in found
    assert {m for _, m in found} == {"open", "close"}
    assert ("><", "open") in pairs(control, tokenizer, "<tool_call><tool_call>")
    assert ("><", "close") in pairs(control, tokenizer, "</tool_call><tool_call>")


def test_a_token_that_joins_a_marker_and_json_belongs_to_the_marker() -> None:
    chat, tokenizer = chat_of("plain")
    found = pairs(ControlTokens(chat, tokenizer), tokenizer, "é<tool_call>{}")
    assert found[-2:] == [(">{", "open"), ("}", None)]
    assert [m for _, m in found][:2] == [None, None]  # two bytes of one character


def test_bare_json_opens_a_call_at_the_beginning_alone() -> None:
    tags = Tags('{"name":', "")
    assert list(tags.found('\n{"name": "a"}')) == [(1, 9, "open")]
    assert list(tags.found('Sure. {"name": "a"}')) == []


def test_the_packaged_vocabulary() -> None:
    tokenizer = packaged_tokenizer()
    chat: ChatFormat = PlainChatML(tokenizer)
    control, ids = ControlTokens(chat, tokenizer), chat.reply(CALL)
    assert marked(control, tokenizer, ids, "open") == ["<", "tool", "_", "call", ">"]
    assert marked(control, tokenizer, ids, "close") == ["</", "tool", "_", "call", ">"]
    assert marked(control, tokenizer, ids, "stop") == ["<|im_end|>"]
    assert ("></", "close") in pairs(control, tokenizer, "<tool_call></tool_call>")


def test_a_format_without_json_is_refused() -> None:
    class Python:
        stop_ids = frozenset({0})

        def reply(self, message: Message) -> list[int]:
            text = "".join(f"{c.name}()" for c in message.tool_calls) or message.content
            return [*map(ord, text), 0]

    class Characters:
        def decode(self, ids: list[int], **_: Any) -> str:
            return "".join(map(chr, ids))

    chat: Any = Python()
    with pytest.raises(ValueError, match=r"'probe_name\(\)', which holds no JSON object"):
        ControlTokens(chat, Characters())
