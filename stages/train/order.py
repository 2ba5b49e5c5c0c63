"""The order of training rows as a function of (seed, draw), so that a cursor is all a resume needs."""

from __future__ import annotations

from collections.abc import Iterator

import torch


def mixed_seed(*parts: int) -> int:
    """One 63-bit seed from several numbers (SplitMix64 steps), the same on every machine."""
    state = 0
    for part in parts:
        state = (state ^ (part & (2**64 - 1))) + 0x9E3779B97F4A7C15 & (2**64 - 1)
        state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB & (2**64 - 1)
        state ^= state >> 31
    return state >> 1


def row_order(rows: int, seed: int, start: int = 0) -> Iterator[int]:
    """Row indices from draw `start` on, for ever: every epoch is a permutation of its own."""
    if rows <= 0:
        raise ValueError("there are no rows to train on")
    draw = start
    while True:
        epoch, offset = divmod(draw, rows)
        generator = torch.Generator().manual_seed(mixed_seed(seed, epoch))
        for index in torch.randperm(rows, generator=generator).tolist()[offset:]:
            yield index
            draw += 1
