"""Sizes of a model, from its configuration or from a short list, for estimates that load no weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stages.artifacts import ArtifactError


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder with grouped attention and a gated feed-forward layer; `tied` shares input and output embeddings."""

    name: str
    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head_width: int
    vocabulary: int
    tied: bool

    @property
    def parameters(self) -> int:
        """Number of weights, norms and biases left out."""
        attention = 2 * self.width * self.head_width * (self.heads + self.kv_heads)
        layer = attention + 3 * self.width * self.inner
        return self.layers * layer + self.vocabulary * self.width * (1 if self.tied else 2)

    @property
    def linear_width(self) -> int:
        """Inputs and outputs of all adapted layers together: weights of adapters for each unit of rank."""
        attention = 2 * self.width + 2 * self.head_width * (self.heads + self.kv_heads) + 2 * self.width
        return self.layers * (attention + 3 * (self.width + self.inner))

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values for each token in bfloat16."""
        return 2 * self.layers * self.kv_heads * self.head_width * 2


KNOWN = {
    "qwen3-0.6b": Shape("Qwen3-0.6B", 28, 1024, 3072, 16, 8, 128, 151_936, True),
    "qwen3-1.7b": Shape("Qwen3-1.7B", 28, 2048, 6144, 16, 8, 128, 151_936, True),
    "qwen3-4b": Shape("Qwen3-4B", 36, 2560, 9728, 32, 8, 128, 151_936, True),
    "qwen3-8b": Shape("Qwen3-8B", 36, 4096, 12_288, 32, 8, 128, 151_936, False),
    "qwen2.5-7b": Shape("Qwen2.5-7B", 28, 3584, 18_944, 28, 4, 128, 152_064, False),
}
"""From the published configurations."""


def shape_of(*names: str) -> Shape:
    """The shape of the first of these weights that is a directory, or else whose name is known.

    Raises:
        ArtifactError: none is.
    """
    for name in names:
        if (Path(name) / "config.json").exists():
            return read_shape(name, json.loads((Path(name) / "config.json").read_text(encoding="utf-8")))
    for name in names:
        for part, shape in KNOWN.items():
            if part in name.lower():
                return shape
    told = " or ".join(filter(None, names))
    raise ArtifactError(f"the shape of {told} is not known: run `python -m stages.bootstrap`, which brings the weights")


def read_shape(name: str, config: Mapping[str, Any]) -> Shape:
    """The shape that a `config.json` describes."""
    heads = int(config["num_attention_heads"])
    return Shape(
        name=name,
        layers=int(config["num_hidden_layers"]),
        width=int(config["hidden_size"]),
        inner=int(config["intermediate_size"]),
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_width=int(config.get("head_dim") or config["hidden_size"] // heads),
        vocabulary=int(config["vocab_size"]),
        tied=bool(config.get("tie_word_embeddings", False)),
    )
