"""Batched sampling that keeps its key-value cache across the rounds of an episode.

Identical prompts (a GRPO group) are computed once. Between rounds only new tokens go through the model.
Each row draws from its own random stream, so what it samples does not depend on its neighbours' lengths.
Log-probabilities are recorded under temperature 1, whatever temperature the tokens were drawn at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from stages.train.kv_cache import SlabCache, columns
from stages.train.order import mixed_seed


class Sampled(NamedTuple):
    """One reply: token ids (its stop token included), their log-probabilities, and whether it stopped itself."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stopped: bool


class Sampler:
    """Live rows of token sequences: `start`, then `sample`, then `extend` and `sample` again.

    Rows are numbered by their place in `start`. Inside, the rows that take part are kept in front.
    """

    def __init__(self, model: Any, stop_ids: frozenset[int], *, temperature: float = 1.0, seed: int = 0) -> None:
        self._model, self._stops = model, stop_ids
        self._temperature, self._seed = temperature, seed
        self._device = next(model.parameters()).device
        self._round = 0

    def start(self, prompts: Sequence[Sequence[int]]) -> None:
        """Compute each distinct prompt once and give every row its copy of the cache."""
        distinct = list(dict.fromkeys(tuple(p) for p in prompts))
        if not distinct or not all(distinct):
            raise ValueError("sampling needs at least one prompt, and no empty ones")
        caches, logits = [], []
        for prompt in distinct:
            cache = SlabCache(self._model.config.num_hidden_layers)
            ids = torch.tensor([prompt], device=self._device)
            with torch.no_grad():
                out = self._model(ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
            caches.append(cache)
            logits.append(out.logits[0, -1].float())
        index = {prompt: i for i, prompt in enumerate(distinct)}
        source = [index[tuple(p)] for p in prompts]
        self._cache = SlabCache.gather(caches, source)
        lengths = [len(p) for p in prompts]
        self._filled = torch.stack([columns(n, max(lengths), self._device) for n in lengths])
        self._lengths = torch.tensor(lengths, device=self._device)
        self._logits = torch.stack([logits[s] for s in source])
        self._pending: list[int | None] = [None] * len(prompts)
        self._order = list(range(len(prompts)))  # physical row -> caller's row

    def extend(self, chunks: dict[int, Sequence[int]]) -> None:
        """Append tokens to some rows, each after its last sampled token; the others retire for good."""
        for row in [r for r in self._order if r not in chunks]:
            self._retire(row)
        rows = [[*self._take_pending(r), *chunks[r]] for r in self._order]
        width = max(map(len, rows))
        ids = torch.tensor([[0] * (width - len(r)) + r for r in rows], device=self._device)
        fresh = torch.stack([columns(len(r), width, self._device).flip(0) for r in rows])
        self._logits = self._forward(ids, fresh)

    def sample(self, limits: dict[int, int]) -> dict[int, Sampled]:
        """Draw a reply for every live row, of at most `limits[row]` tokens (at least 1)."""
        ids: dict[int, list[int]] = {r: [] for r in self._order}
        scores: dict[int, list[float]] = {r: [] for r in self._order}
        draws = {r: self._stream(r, limits[r]) for r in self._order}
        live = len(self._order)
        logits = self._logits
        self._round += 1
        while True:
            rows = self._order[:live]
            chosen, logprobs = self._draw(logits, [draws[r][len(ids[r])] for r in rows])
            for row, token, score in zip(rows, chosen.tolist(), logprobs.tolist(), strict=True):
                ids[row].append(token)
                scores[row].append(score)
                self._pending[row] = token
            for row in rows:
                if ids[row][-1] in self._stops or len(ids[row]) >= limits[row]:
                    live -= 1
                    self._swap(self._order.index(row), live)
            if not live:
                break
            step = torch.tensor([self._take_pending(r) for r in self._order[:live]], device=self._device)
            logits = self._forward(step, torch.ones_like(step, dtype=torch.bool))
        return {r: Sampled(tuple(t), tuple(scores[r]), t[-1] in self._stops) for r, t in ids.items()}

    def _forward(self, ids: Tensor, fresh: Tensor) -> Tensor:
        """Run [rows, width] new tokens of the first rows, padded on the left; returns their last logits."""
        rows, width = ids.shape
        before = self._filled[:rows]
        others = torch.zeros(len(self._filled) - rows, width, dtype=torch.bool, device=self._device)
        self._filled = torch.cat([self._filled, torch.cat([fresh, others])], 1)
        causal = torch.ones(width, width, dtype=torch.bool, device=self._device).tril()
        # a padded query sees itself, so that no row of the mask is empty
        inner = (fresh[:, None, :] & causal) | torch.eye(width, dtype=torch.bool, device=self._device)
        mask = torch.cat([before[:, None, :].expand(-1, width, -1), inner], 2)[:, None]
        positions = self._lengths[:rows, None] + (fresh.cumsum(1) - 1).clamp_min(0)
        self._lengths[:rows] += fresh.sum(1)
        self._cache.activate(rows)
        with torch.no_grad():
            out = self._model(
                ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        logits: Tensor = out.logits[:, -1].float()
        return logits

    def _draw(self, logits: Tensor, uniforms: list[float]) -> tuple[Tensor, Tensor]:
        """Inverse-CDF draw per row, and the log-probability of what was drawn."""
        logprobs = torch.log_softmax(logits, -1)
        if self._temperature == 0:
            chosen = logprobs.argmax(-1)
        else:
            scaled = logits if self._temperature == 1 else logits / self._temperature
            cumulative = torch.softmax(scaled, -1).double().cumsum(-1)
            point = torch.tensor(uniforms, dtype=torch.float64, device=self._device)[:, None]
            chosen = torch.searchsorted(cumulative, point * cumulative[:, -1:], right=True)[:, 0]
            chosen = chosen.clamp_max(logits.shape[-1] - 1)
        return chosen, logprobs.gather(-1, chosen[:, None])[:, 0]

    def _stream(self, row: int, count: int) -> list[float]:
        generator = torch.Generator().manual_seed(mixed_seed(self._seed, row, self._round))
        drawn: list[float] = torch.rand(count, generator=generator, dtype=torch.float64).tolist()
        return drawn

    def _take_pending(self, row: int) -> list[int]:
        """The row's last sampled token, which the cache does not hold yet."""
        token = self._pending[row]
        self._pending[row] = None
        return [] if token is None else [token]

    def _retire(self, row: int) -> None:
        last = len(self._order) - 1
        self._swap(self._order.index(row), last)
        self._order.pop()
        self._filled, self._lengths = self._filled[:last], self._lengths[:last]

    def _swap(self, a: int, b: int) -> None:
        if a == b:
            return
        self._order[a], self._order[b] = self._order[b], self._order[a]
        self._cache.swap(a, b)
        for tensor in (self._filled, self._lengths):
            tensor[[a, b]] = tensor[[b, a]]
