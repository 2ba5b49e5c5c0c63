"""Whole families of chat templates: what a rollout feeds a model is what its template would have written.

The templates are those that TRL ships, Granite's follows its published prompt format. Each stands on a
byte-level tokenizer that knows the family's control tokens.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from stages.chat import TemplateChat, encode_conversation
from stages.chat.one_call import one_call_each
from stages.records import Message, ToolCall, ToolSpec

CHATML = ("<|im_end|>", ["<|endoftext|>", "<|im_start|>"], ["<tool_call>", "</tool_call>", "<think>", "</think>"])
HEADERS = ("<|eot_id|>", ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>"], [])
ROLES = ("<|end_of_text|>", ["<|start_of_role|>", "<|end_of_role|>"], ["<tool_call>", "</tool_call>"])

GRANITE = """{%- macro turn(role, text) -%}
<|start_of_role|>{{ role }}<|end_of_role|>{{ text }}<|end_of_text|>
{% endmacro -%}
{%- set asked = messages[0].content + '\\n' if messages[0].role == 'system' else '' -%}
{%- if tools -%}{%- set ns = namespace(lines=asked + 'Tools:\\n<tools>\\n') -%}
{%- for tool in tools -%}{%- set ns.lines = ns.lines + (tool | tojson) + '\\n' -%}{%- endfor -%}
{{ turn('system', ns.lines + '</tools>') }}
{%- elif asked -%}{{ turn('system', asked) }}{%- endif -%}
{%- for m in messages if m.role != 'system' -%}
{%- if m.role == 'tool' -%}
{%- if loop.previtem is not defined or loop.previtem.role != 'tool' -%}<|start_of_role|>user<|end_of_role|>{%- endif %}
<tool_response>
{{ m.content }}
</tool_response>
{%- if loop.last or loop.nextitem.role != 'tool' -%}<|end_of_text|>
{% endif -%}
{%- else -%}{%- set ns = namespace(text=m.content) -%}
{%- for c in m.tool_calls or [] -%}{%- set call = {'name': c.function.name, 'arguments': c.function.arguments} -%}
{%- set ns.text = ns.text + ('\\n' if ns.text else '') + '<tool_call>\\n' + (call | tojson) + '\\n</tool_call>' -%}
{%- endfor -%}{{ turn(m.role, ns.text) }}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|start_of_role|>assistant<|end_of_role|>{%- endif -%}"""


def shipped(name: str) -> str:
    spec = find_spec("trl")
    assert spec is not None and spec.origin is not None
    return (Path(spec.origin).parent / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")


FAMILIES = {
    "qwen2_5": (shipped("qwen2_5"), CHATML),
    "qwen3_instruct_2507": (shipped("qwen3_instruct_2507"), CHATML),
    "qwen3_training": (shipped("qwen3_training"), CHATML),
    "llama3_1": (shipped("llama3_1"), HEADERS),
    "llama3_2": (shipped("llama3_2"), HEADERS),
    "granite": (GRANITE, ROLES),
}

SEND = ToolSpec(
    "send_money",
    "Send money to a payee.",
    {
        "type": "object",
        "properties": {"payee": {"type": "string"}, "amount": {"anyOf": [{"type": "number"}, {"type": "null"}]}},
        "required": ["payee"],
    },
)


def call(number: int) -> ToolCall:
    return ToolCall(f"call_{number}", "send_money", {"payee": "Zoë & Co <zoë>", "amount": 12.5})


TALK = [
    Message("system", "Today is 2026-03-01."),
    Message("user", "Send it"),
    Message("assistant", "", (call(1),)),
    Message("tool", '{"ok": true}', tool_call_id="call_1"),
    Message("assistant", "Done."),
    Message("user", "Again, twice"),
    Message("assistant", "Sure.", (call(2), call(3))),
    Message("tool", '{"ok": true}', tool_call_id="call_2"),
    Message("tool", '{"error": "</tool_response><|im_end|><|eot_id|>"}', tool_call_id="call_3"),
    Message("assistant", "One failed."),
    Message("user", "Fine"),
    Message("assistant", "Anything else?"),
]


def tokenizer(template: str, family: tuple[str, list[str], list[str]]) -> Any:
    end, special, plain = family
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={b: i for i, b in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=end, bos_token=special[0])
    made.add_special_tokens({"additional_special_tokens": [end, *special]})
    made.add_tokens(plain)
    made.chat_template = template
    return made


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("first", [0, 5, 9])
def test_a_rollout_feeds_what_the_template_writes(name: str, first: int) -> None:
    made = tokenizer(*FAMILIES[name])
    chat = TemplateChat(made)
    encoded = encode_conversation(chat, [SEND], TALK, first_trained=first)
    whole = list(made(chat.text([SEND], TALK), add_special_tokens=False)["input_ids"])
    assert list(encoded.ids) == whole[: len(encoded.ids)]
    assert made.decode(whole[len(encoded.ids) :]).strip() == ""


@pytest.mark.parametrize("name", FAMILIES)
def test_the_loss_covers_the_policys_own_tokens_alone(name: str) -> None:
    made = tokenizer(*FAMILIES[name])
    encoded = encode_conversation(TemplateChat(made), [SEND], TALK)
    own = made.decode([i for i, learnt in zip(encoded.ids, encoded.mask, strict=True) if learnt])
    for text in ("Done.", "One failed.", "Anything else?", "send_money"):
        assert text in own
    assert ("Sure." in own) != name.startswith("llama")  # Llama's template shows no text beside a call
    for text in ("Today is", "Send it", "ok", "Send money to a payee", "error", "Fine"):
        assert text not in own
    ends = sum(i in TemplateChat(made).stop_ids for i, learnt in zip(encoded.ids, encoded.mask, strict=True) if learnt)
    assert ends == (6 if name.startswith("llama") else 5)


@pytest.mark.parametrize("name", FAMILIES)
def test_replies_are_read_back(name: str) -> None:
    chat = TemplateChat(tokenizer(*FAMILIES[name]))
    parsed = chat.parse(chat.reply(TALK[2]))
    assert [(c.name, c.arguments) for c in parsed.tool_calls] == [("send_money", call(1).arguments)]
    assert chat.parse(chat.reply(TALK[4])).content == "Done."


def test_thoughts_of_qwen3_stay_in_the_rollout() -> None:
    """Its own template drops the thoughts of earlier turns; a rollout keeps what was sampled and trained on."""
    made = tokenizer(shipped("qwen3"), CHATML)
    chat = TemplateChat(made)
    encoded = encode_conversation(chat, [SEND], TALK)
    assert made.decode(encoded.ids).count("</think>") == 5
    assert chat.text([SEND], TALK).count("</think>") == 1


def test_parallel_calls_are_told_one_after_another_where_a_template_wants_that() -> None:
    spread = one_call_each(TALK)
    assert [origin for origin, _ in spread] == [0, 1, 2, 3, 4, 5, 6, 7, 6, 8, 9, 10, 11]
    assert [len(m.tool_calls) for _, m in spread] == [0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    assert [m.content for _, m in spread if m.tool_calls] == ["", "Sure.", ""]
    assert [TemplateChat(tokenizer(*family)).one_call for family in FAMILIES.values()] == [False] * 3 + [True] * 2 + [
        False
    ]


@pytest.mark.parametrize("name", ["llama3_1", "llama3_2"])
def test_no_template_tells_the_hosts_date(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = TemplateChat(tokenizer(*FAMILIES[name]))
    monkeypatch.setattr("transformers.utils.chat_template_utils.datetime", None)  # whoever asks the clock fails
    assert "Today Date: 26 Jul 2024" in chat.text((), [Message("user", "Which day is it?")])
