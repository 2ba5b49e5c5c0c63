"""A tokenizer, a model and rows that are small enough to train on a CPU within seconds, and real all the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from servers.kernel.catalog import Catalog
from servers.kernel.session import Session
from stages.artifacts import Stamp, write_table
from stages.dataset import RL_ROWS, SFT_ROWS, ReplayStep, RlRow, SftRow, row_to_plain
from stages.records import Message, ToolCall, TruthCall
from stages.rollout import replayed_session, visible_spec

TOOLS = ("list_accounts", "list_payees")
ASKED = ("Which accounts do I have?", "Show my accounts.", "List all accounts, please.", "What accounts are there?")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def rl_rows(catalog: Catalog, count: int) -> list[RlRow]:
    """Rows that ask for the accounts; every other one comes after an earlier turn that is replayed."""
    tools = tuple(visible_spec(catalog.entry(name).tool) for name in TOOLS)
    rows = []
    for number in range(count):
        said = Message("user", ASKED[number % len(ASKED)])
        replay, before = [], []
        if number % 2:
            replay = [ReplayStep("list_payees", {}), ReplayStep("", {})]
            before = [Message("user", "Hello."), Message("assistant", "Hello.")]
        session = replayed_session(catalog, 0, replay)
        told = catalog.call(session, "list_accounts", {})
        assert told.ok
        rows.append(
            RlRow(
                id=f"row-{number}",
                conversation=f"c-{number}",
                turn=number % 2,
                kind="multi_turn",
                server="banking",
                world=0,
                tools=tools,
                messages=(*before, said),
                replay=tuple(replay),
                truth=(TruthCall("list_accounts", {}),),
                state_hash=session.state_hash,
                required=(told.text,),
            )
        )
    return rows


def sft_rows(catalog: Catalog) -> list[SftRow]:
    """Conversations that show the one call, those of `rl_rows` one after another."""
    tools = tuple(visible_spec(catalog.entry(name).tool) for name in TOOLS)
    told = catalog.call(Session(catalog.world(0)), "list_accounts", {}).text
    rows = []
    for number, text in enumerate(ASKED):
        before = (Message("user", "Hello."), Message("assistant", "Hello.")) if number % 2 else ()
        messages = (
            *before,
            Message("user", text),
            Message("assistant", "", (ToolCall("call_0_0", "list_accounts", {}),)),
            Message("tool", told[:60], tool_call_id="call_0_0"),
            Message("assistant", "Done."),
        )
        learn = tuple(message.role == "assistant" for message in messages)
        rows.append(SftRow(f"c-{number}", "multi_turn", "banking", tools, messages, learn))
    return rows


def build_tokenizer(texts: Sequence[str], size: int = 700) -> Any:
    """A byte-level BPE of the texts, with ChatML's control tokens and a template that knows no tools."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=size, special_tokens=control, initial_alphabet=alphabet)
    )
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=control[1:],
    )
    made.chat_template = TEMPLATE
    return made


def build_qwen(vocabulary: int, seed: int = 0) -> Any:
    """A Qwen2 of two layers."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        initializer_range=0.1,
    )
    return Qwen2ForCausalLM(config)


def texts(catalog: Catalog) -> list[str]:
    """What the tokenizer is made of."""
    rows = sft_rows(catalog)
    said = [message.content for row in rows for message in row.messages]
    told = [f"{tool.name} {tool.description}" for tool in rows[0].tools]
    return [*said, *told, '<tool_call>{"name": "list_accounts", "arguments": {}}</tool_call>'] * 4


def write_workspace(root: Path, catalog: Catalog, train: int = 4, val: int = 2) -> None:
    """The inputs of the train stage under `root`: base weights and a dataset."""
    tokenizer = build_tokenizer(texts(catalog))
    base = root / "data" / "policy_base"
    base.mkdir(parents=True)
    build_qwen(len(tokenizer)).save_pretrained(base)
    tokenizer.save_pretrained(base)
    stamp, dataset = Stamp(catalog.fingerprint, "small"), root / "data" / "dataset"
    for name, count in (("train", train), ("val", val)):
        plain = [row_to_plain(row) for row in rl_rows(catalog, count)]
        write_table(dataset / f"{name}.parquet", RL_ROWS, plain, stamp)
    write_table(dataset / "sft.parquet", SFT_ROWS, [row_to_plain(row) for row in sft_rows(catalog)], stamp)
