"""AdamW with a learning-rate schedule, and float32 master copies where the weights are coarser.

A bfloat16 weight of 0.03 moves in steps of 1e-4: smaller updates would be rounded away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from stages.train.config import OptimConfig


class Optimizer:
    """Clips, steps and counts; `state_dict` holds all that a resumed run needs."""

    def __init__(self, parameters: Iterable[Tensor], config: OptimConfig, total_steps: int) -> None:
        self._config, self._total = config, max(total_steps, 1)
        self._warmup = max(config.warmup_steps, round(config.warmup_ratio * self._total))
        self._params: list[Any] = [p for p in parameters if p.requires_grad]
        if not self._params:
            raise ValueError("nothing to train: no parameter requires a gradient")
        self._masters: list[Any] = [p if p.dtype == torch.float32 else p.detach().float().clone() for p in self._params]
        self._adam = torch.optim.AdamW(
            self._masters,
            lr=config.lr,
            betas=(config.beta1, config.beta2),
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.steps = 0

    def rate(self) -> float:
        """The learning rate of the next step."""
        config = self._config
        if self.steps < self._warmup:
            return config.lr * (self.steps + 1) / self._warmup
        done = (self.steps - self._warmup) / max(1, self._total - self._warmup)
        if config.schedule == "linear":
            return config.lr * max(0.0, 1 - done)
        if config.schedule == "cosine":
            return config.lr * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
        return config.lr

    def step(self) -> float:
        """Apply the accumulated gradients and clear them; returns their norm before clipping.

        A norm that is not finite changes nothing: the caller decides.
        """
        for master, param in zip(self._masters, self._params, strict=True):
            if master is not param:
                master.grad = None if param.grad is None else param.grad.float()
        norm = float(torch.nn.utils.clip_grad_norm_(self._masters, self._config.max_grad_norm))
        if math.isfinite(norm):
            for group in self._adam.param_groups:
                group["lr"] = self.rate()
            self._adam.step()
            self.steps += 1
            with torch.no_grad():
                for master, param in zip(self._masters, self._params, strict=True):
                    if master is not param:
                        param.copy_(master)
        for tensor in (*self._masters, *self._params):
            tensor.grad = None
        return norm

    def state_dict(self) -> dict[str, Any]:
        """Moments, master copies and the step count."""
        masters = [m for m, p in zip(self._masters, self._params, strict=True) if m is not p]
        return {"adam": self._adam.state_dict(), "masters": masters, "steps": self.steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state of the same parameters."""
        self._adam.load_state_dict(state["adam"])
        own = [m for m, p in zip(self._masters, self._params, strict=True) if m is not p]
        with torch.no_grad():
            for master, saved in zip(own, state["masters"], strict=True):
                master.copy_(saved)
        self.steps = int(state["steps"])
