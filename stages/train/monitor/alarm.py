"""When a run is in trouble: malformed replies, tokens far from the reference, or calls that vanish.

A collapse shows as a divergence on control tokens before the reward falls (arXiv 2606.26027). The thresholds are our
defaults, and so are the rules on other text, which a small model loses first, and on vanishing calls: a policy that
never calls writes well-formed prose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from pydantic import BaseModel, ConfigDict, Field

DIVERGENCES = {"control_kl": "control tokens", "text_kl": "text"}
CALLS = "control/open"

KL_FLOOR = 0.01
"""Nats: the least median that is reckoned with. A policy that begins as its own reference has a median of 0."""


class MonitorConfig(BaseModel):
    """What counts as an unhealthy step, and how many of them are an alarm."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    malformed: float = Field(0.05, ge=0, le=1, description="share of polluted and collapsed replies that is too large")
    kl_factor: float = Field(
        10.0, gt=1, description="KL on control tokens, or on text, over its running median that is too large"
    )
    patience: int = Field(3, ge=1, description="unhealthy steps in a row that are an alarm")
    vanished: float = Field(
        0.1, ge=0, lt=1, description="calls per reply as a share of the running median that is too small"
    )
    window: int = Field(50, ge=1, description="healthy steps of the running medians")
    share: float = Field(
        1 / 16,
        ge=0,
        le=1,
        description="episodes, at least one, whose KL is measured where the loss needs no reference; 0 measures none",
    )


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm: at which step, for what reason, and the first unhealthy step of the row."""

    step: int
    reason: str
    since: int


class Detector:
    """Judges the steps of a run in their order.

    Its state is made of the metrics it has observed alone: to resume a run, observe the logged metrics of the earlier
    steps again. A step with none of its figures leaves everything as it was.
    """

    def __init__(self, config: MonitorConfig) -> None:
        self._config = config
        self._healthy: dict[str, deque[float]] = {key: deque(maxlen=config.window) for key in (*DIVERGENCES, CALLS)}
        self._row = 0
        self._since = 0
        self.unhealthy = False

    def observe(self, step: int, metrics: Mapping[str, float]) -> Alarm | None:
        """Judge a step by `forms/polluted`, `forms/collapsed` and, where they are there, the other figures.

        An alarm is raised at the `patience`-th unhealthy step in a row, and again after as many more.
        """
        known = {key: metrics[key] for key in self._healthy if key in metrics}
        if not known and "forms/polluted" not in metrics:
            return None
        reasons = self._reasons(sum(metrics.get(key, 0.0) for key in ("forms/polluted", "forms/collapsed")), known)
        self.unhealthy = bool(reasons)
        if not reasons:
            self._row = 0
            for key, value in known.items():
                self._healthy[key].append(value)
            return None
        self._row += 1
        if self._row == 1:
            self._since = step
        if self._row % self._config.patience:
            return None
        return Alarm(step, "; ".join(reasons), self._since)

    def _reasons(self, malformed: float, known: Mapping[str, float]) -> list[str]:
        found = []
        if malformed > self._config.malformed:
            found.append(f"polluted and collapsed replies are {malformed:.3g} of all, over {self._config.malformed:g}")
        usual = {key: median(self._healthy[key]) for key in known if self._healthy[key]}
        factor = self._config.kl_factor
        for key, where in DIVERGENCES.items():
            if key in usual and known[key] > factor * max(usual[key], KL_FLOOR):
                least = max(usual[key], KL_FLOOR)
                found.append(f"KL on {where} is {known[key]:.3g} nats, over {factor:g} times its usual {least:.3g}")
        if CALLS in usual and known[CALLS] < self._config.vanished * usual[CALLS]:
            share = self._config.vanished
            found.append(f"calls per reply are {known[CALLS]:.3g}, under {share:g} of their usual {usual[CALLS]:.3g}")
        return found
