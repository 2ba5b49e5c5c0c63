"""Attention that never copies the shared key and value heads while decoding.

With a mask, the stock implementation repeats every key head for each query head of its group, on every
token. Decoding is bound by memory traffic, so here the queries of a group are stacked instead.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

NAME = "grouped_sdpa"


def grouped_attention(
    module: torch.nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention of query [B, Hq, T, D] over key and value [B, Hk, S, D]; a bool mask is [B|1, 1, T, S]."""
    batch, heads, length, width = query.shape
    groups = heads // key.shape[1]
    if length == 1 and attention_mask is not None:
        stacked = query.reshape(batch, key.shape[1], groups, width)
        out = F.scaled_dot_product_attention(stacked, key, value, attn_mask=attention_mask, scale=scaling)
        return out.reshape(batch, 1, heads, width), None
    if groups > 1:
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    causal = attention_mask is None and length > 1
    out = F.scaled_dot_product_attention(
        query, key, value, attn_mask=attention_mask, dropout_p=dropout, is_causal=causal, scale=scaling
    )
    return out.transpose(1, 2).contiguous(), None


def register() -> str:
    """Make the implementation known to transformers; returns its name."""
    AttentionInterface.register(NAME, grouped_attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    return NAME
