"""A key-value cache for episodes in lock-step: written in place, rows retire without being copied.

Slots are columns shared by all rows. A row that has nothing for a slot leaves a hole there, which the
attention mask hides, so rows of different lengths live side by side and grow together.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import Cache, CacheLayerMixin

_GROWTH = 256  # slots


class SlabLayer(CacheLayerMixin):  # type: ignore[misc]  # transformers is untyped here
    """One layer's keys and values [rows, heads, slots, width], of which the first `active` rows take part."""

    is_sliding = False

    def __init__(self) -> None:
        super().__init__()
        self.active, self.length = 0, 0

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        """Take shape and type from the first keys."""
        rows, heads, _, width = key_states.shape
        self.active = rows
        self.keys = key_states.new_zeros(rows, heads, 0, width)
        self.values = value_states.new_zeros(rows, heads, 0, width)
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Append to the active rows; returns views of all their slots."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        self.reserve(end)
        self.keys[: self.active, :, self.length : end] = key_states
        self.values[: self.active, :, self.length : end] = value_states
        self.length = end
        return self.keys[: self.active, :, :end], self.values[: self.active, :, :end]

    def reserve(self, slots: int) -> None:
        """Make room for that many slots."""
        if slots <= self.keys.shape[2]:
            return
        rows, heads, _, width = self.keys.shape
        size = -(-slots // _GROWTH) * _GROWTH
        for name in ("keys", "values"):
            old = getattr(self, name)
            new = old.new_zeros(rows, heads, size, width)
            new[:, :, : self.length] = old[:, :, : self.length]
            setattr(self, name, new)

    def swap(self, a: int, b: int) -> None:
        """Exchange two rows."""
        for slab in (self.keys, self.values):
            slab[[a, b]] = slab[[b, a]]

    def get_seq_length(self) -> int:
        """Slots in use."""
        return self.length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Slots after appending `query_length` more, and their offset."""
        return self.length + query_length, 0

    def get_max_cache_shape(self) -> int:
        """No limit."""
        return -1


class SlabCache(Cache):  # type: ignore[misc]  # transformers is untyped here
    """All layers of a `SlabLayer` cache."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers=[SlabLayer() for _ in range(layers)])

    @classmethod
    def gather(cls, parts: list[SlabCache], source: list[int]) -> SlabCache:
        """Rows side by side: row i is a copy of the single row of `parts[source[i]]`, from slot 0 on."""
        whole = cls(len(parts[0].layers))
        longest = max(p.get_seq_length() for p in parts)
        for index, layer in enumerate(whole.layers):
            first = parts[0].layers[index]
            layer.lazy_initialization(*(s.expand(len(source), -1, -1, -1) for s in (first.keys, first.values)))
            layer.reserve(longest)
            layer.length = longest
            for row, part in enumerate(source):
                old = parts[part].layers[index]
                layer.keys[row, :, : old.length] = old.keys[0, :, : old.length]
                layer.values[row, :, : old.length] = old.values[0, :, : old.length]
        return whole

    def swap(self, a: int, b: int) -> None:
        """Exchange two rows in every layer."""
        if a != b:
            for layer in self.layers:
                layer.swap(a, b)

    def activate(self, rows: int) -> None:
        """Let only the first `rows` rows take part from now on."""
        for layer in self.layers:
            layer.active = rows


def columns(length: int, total: int, device: torch.device) -> Tensor:
    """A bool row of `total` slots whose first `length` are filled."""
    return torch.arange(total, device=device) < length
