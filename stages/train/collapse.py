"""What becomes of a run on an alarm: it goes on, ends, or goes back to its last healthy checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stages.train.journal import Journal
from stages.train.monitor.alarm import Alarm, Detector
from stages.train.params import OnCollapse

MAX_ROLLBACKS = 3
"""Rollbacks of one phase; at the next alarm it ends with its last healthy checkpoint."""


class CollapseError(Exception):
    """The policy collapsed and the run shall not go on from here."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Watches one phase, whose `steps` these are; `log` keeps every alarm and what was done about it.

    `checkpoint` tells the step of the last checkpoint, None before the first.

    Each alarm is a line: its step and reason, the first unhealthy step (`since`), the action, the step that was
    gone back to (`restored`, null if none was) and the learning rate from there on. A rollback halves the rate.
    """

    action: OnCollapse
    log: Journal
    detector: Detector
    checkpoint: Callable[[], int | None]
    steps: range
    lr: float

    def rollbacks(self) -> int:
        """How often this phase was rolled back."""
        lines = [line for step, rows in self.log.steps().items() if step in self.steps for line in rows]
        return sum(line["action"] == "rollback" for line in lines)

    def rate(self) -> float:
        """The learning rate at present."""
        return float(self.lr / 2 ** self.rollbacks())

    def check(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Whether a checkpoint of the step may be kept: any if nothing is ever gone back to, else healthy ones.

        Raises:
            CollapseError: there was an alarm, and the run shall not go on.
        """
        alarm = self.detector.observe(step, metrics)
        if alarm is None:
            return self.action == "log" or not self.detector.unhealthy
        action: OnCollapse = self.action
        if action == "rollback" and self.rollbacks() >= MAX_ROLLBACKS:
            action = "stop"
        self._record(alarm, action)
        if action == "log":
            return True
        raise CollapseError(alarm.reason)

    def _record(self, alarm: Alarm, action: OnCollapse) -> None:
        line: dict[str, Any] = {
            "reason": alarm.reason,
            "since": alarm.since,
            "action": action,
            "restored": self.checkpoint() if action != "log" else None,
            "lr": self.rate() / 2 if action == "rollback" else self.rate(),
        }
        if line not in self.log.steps().get(alarm.step, []):  # a resumed run meets the same alarm again
            self.log.append(alarm.step, line)
