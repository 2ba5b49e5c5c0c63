"""What GRPO asks the monitor: how the replies look, and how far the policy is from its reference."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from stages.chat import ChatFormat
from stages.train.batched_rollout import Trajectory
from stages.train.monitor.alarm import MonitorConfig
from stages.train.monitor.control import ControlTokens
from stages.train.monitor.measure import divergence_metrics, form_metrics
from stages.train.packing import Pack, Row


class Monitor:
    """Measures one policy; only what the policy itself sampled counts. `seconds` is how long that took in all."""

    def __init__(self, chat: ChatFormat, tokenizer: Any, config: MonitorConfig) -> None:
        self._chat, self._share = chat, config.share
        self._control = ControlTokens(chat, tokenizer)
        self.seconds = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Counts the seconds of the block as the monitor's own."""
        started = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started

    @property
    def needs_reference(self) -> bool:
        """Whether the distance to the reference is measured."""
        return self._share > 0

    def forms(self, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        """The figures of `form_metrics` over the sampled trajectories; none without any."""
        sampled = [t for t in trajectories if t.origin == "sampled"]
        with self.timed():
            return form_metrics(sampled, self._control, self._chat) if sampled else {}

    def some(self, trajectories: Sequence[Trajectory]) -> Sequence[Trajectory]:
        """Those few, evenly spread, whose distance is measured where the loss itself needs no reference."""
        count = max(1, round(self._share * len(trajectories)))
        return [trajectories[place * len(trajectories) // count] for place in range(min(count, len(trajectories)))]

    def divergence(self, packs: Sequence[Pack], reference: Sequence[Tensor]) -> dict[str, float]:
        """The figures of `divergence_metrics`; `reference` holds log-probabilities [N] for each pack."""
        return self.distance([pack.sequences for pack in packs], [pack.sampled_logprobs() for pack in packs], reference)

    def distance(
        self, rows: Sequence[Sequence[Row]], own: Sequence[Tensor], reference: Sequence[Tensor]
    ) -> dict[str, float]:
        """The figures of `divergence_metrics`."""
        return divergence_metrics(rows, own, reference, self._control)
