"""Sequences that share a prompt, packed so that the prompt goes through the model once.

A pack is one row of tokens: each prompt followed by all its branches. A branch sees its prompt and
itself, at the positions it would have alone, so its log-probabilities are those of the plain sequence
while a group of n costs one prompt instead of n, forward and backward.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Row:
    """Tokens to learn from: a prompt, what follows it, and which of that is the policy's own.

    `weight` is the loss weight of each own token, `advantage` and `logprobs` (one per token of `ids`) are
    for policy gradients.
    """

    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    weight: float = 1.0
    advantage: float = 0.0
    logprobs: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.prompt or len(self.ids) != len(self.mask):
            raise ValueError("a sequence needs a prompt, and a mask as long as its ids")

    @property
    def own(self) -> int:
        """Number of the policy's own tokens."""
        return sum(self.mask)

    def own_logprobs(self) -> list[float]:
        """The record of each own token; NaN where there is none."""
        if not self.logprobs:
            return [math.nan] * self.own
        return [p for p, own in zip(self.logprobs, self.mask, strict=True) if own]

    def weighted(self, weight: float) -> Row:
        """The same row with another loss weight."""
        return replace(self, weight=weight)


@dataclass(frozen=True, slots=True)
class Pack:
    """One forward pass: tokens [T], positions [T], who sees whom, and what is to be predicted from where.

    `visible` [T, T] is None where plain causal order says it all. `source`, `target` and `member` are flat
    over own tokens [N]: the index in the row that predicts, the token predicted, and its sequence's number.
    """

    ids: Tensor
    positions: Tensor
    visible: Tensor | None
    source: Tensor
    target: Tensor
    member: Tensor
    sequences: tuple[Row, ...]

    def per_token(self, values: Sequence[float]) -> Tensor:
        """One value per sequence, spread over its own tokens [N]."""
        return torch.tensor(values, dtype=torch.float32, device=self.ids.device)[self.member]

    def sampled_logprobs(self) -> Tensor:
        """The sampler's record for each own token [N]; NaN in sequences that have none."""
        flat = [p for s in self.sequences for p in s.own_logprobs()]
        return torch.tensor(flat, dtype=torch.float32, device=self.ids.device)


def pack_sequences(sequences: Sequence[Row], micro_tokens: int, device: str = "cpu") -> list[Pack]:
    """Pack sequences, those of one prompt together, longest packs first.

    A pack holds at most `micro_tokens` tokens unless a single sequence is longer. Sequences without own
    tokens are left out: there is nothing to learn from them.
    """
    families: dict[tuple[int, ...], list[Row]] = {}
    for sequence in sequences:
        if sequence.own:
            families.setdefault(sequence.prompt, []).append(sequence)
    trees: list[list[Row]] = []
    for family in families.values():
        trees += _split(sorted(family, key=lambda s: -len(s.ids)), micro_tokens)
    trees.sort(key=lambda t: -_cost(t))
    bins: list[list[list[Row]]] = []
    room: list[int] = []
    for tree in trees:
        place = next((i for i, free in enumerate(room) if free >= _cost(tree)), None)
        if place is None:
            bins.append([tree])
            room.append(micro_tokens - _cost(tree))
        else:
            bins[place].append(tree)
            room[place] -= _cost(tree)
    return [_build(trees, device) for trees in bins]


def _cost(tree: Sequence[Row]) -> int:
    return len(tree[0].prompt) + sum(_input_length(s) for s in tree)


def _input_length(sequence: Row) -> int:
    """Tokens that go in: nothing is predicted from the last own token or anything after it."""
    return max(i for i, own in enumerate(sequence.mask) if own)


def _split(family: Sequence[Row], micro_tokens: int) -> list[list[Row]]:
    trees: list[list[Row]] = []
    for sequence in family:
        if trees and _cost([*trees[-1], sequence]) <= micro_tokens:
            trees[-1].append(sequence)
        else:
            trees.append([sequence])
    return trees


def _build(trees: Sequence[Sequence[Row]], device: str) -> Pack:
    ids: list[int] = []
    positions: list[int] = []
    tree_of: list[int] = []
    branch_of: list[int] = []  # -1 in a prompt
    source: list[int] = []
    target: list[int] = []
    member: list[int] = []
    flat: list[Row] = []

    def append(tokens: Sequence[int], start: int, tree: int, branch: int) -> None:
        ids.extend(tokens)
        positions.extend(range(start, start + len(tokens)))
        tree_of.extend([tree] * len(tokens))
        branch_of.extend([branch] * len(tokens))

    for number, tree in enumerate(trees):
        prompt = tree[0].prompt
        append(prompt, 0, number, -1)
        prompt_end = len(ids) - 1
        for sequence in tree:
            begin = len(ids)
            append(sequence.ids[: _input_length(sequence)], len(prompt), number, len(flat))
            for i, own in enumerate(sequence.mask):
                if own:
                    source.append(begin + i - 1 if i else prompt_end)
                    target.append(sequence.ids[i])
                    member.append(len(flat))
            flat.append(sequence)

    def tensor(values: list[int]) -> Any:
        return torch.tensor(values, dtype=torch.long, device=device)

    visible = None
    if len(flat) > 1:
        trees_, branches = tensor(tree_of), tensor(branch_of)
        order = torch.arange(len(ids), device=device)
        same = (branches[None, :] == -1) | (branches[None, :] == branches[:, None])
        visible = (trees_[None, :] == trees_[:, None]) & same & (order[None, :] <= order[:, None])
    return Pack(tensor(ids), tensor(positions), visible, tensor(source), tensor(target), tensor(member), tuple(flat))
