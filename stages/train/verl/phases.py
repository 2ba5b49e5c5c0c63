"""The phases of GRPO on verl: each is a run of verl's trainer in a process of its own, and its weights are merged.

An alarm ends the trainer's process; then it is started again from its last healthy checkpoint at half the rate, or
the run stops there, as `train.on_collapse` says.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from stages.artifacts import ArtifactError
from stages.progress import Bar
from stages.stage import StageContext
from stages.train.journal import Journal
from stages.train.params import TrainParams
from stages.train.phases import Phases, guard_for
from stages.train.policy import replacing
from stages.train.verl.merge import last_step, merged
from stages.train.verl.phase import Phase
from stages.train.verl.prepare import phase_of, prepare
from stages.train.verl.supervise import ClusterError, supervise


class ClusterPhases(Phases):
    """The cluster engine's phases."""

    _reached = 0

    def phase(self, weights: Path, first: int, last: int, bar: Bar) -> None:
        """GRPO steps after `first` up to `last`."""
        phase = phase_of(self._ctx, self._work, self._work / "verl" / f"{first:06d}", first, last)
        log = phase.directory / "merge.log"
        if self._train(phase, weights, bar):
            merged(_actor(phase, last), weights, self._work / f"grpo-{last:06d}", log)
            return
        reached, target = phase.first + last_step(phase.checkpoints), self._work / f"stopped-{last:06d}"
        if reached > first:
            merged(_actor(phase, reached), weights, target, log)
        else:
            with replacing(target) as scratch:
                shutil.copytree(weights, scratch, dirs_exist_ok=True)

    def _train(self, phase: Phase, weights: Path, bar: Bar) -> bool:
        """Run verl to the end of the phase; returns False where an alarm ended the run."""
        log, begun = phase.directory / "verl.log", phase.first

        def reached(step: int) -> None:
            bar.advance(max(0, step - self._reached))
            self._reached = max(step, self._reached)

        while True:
            alarms = self._alarms(phase)
            restarts = sum(line["action"] == "rollback" for line in alarms)
            if alarms and alarms[-1]["action"] == "stop":
                return False
            done = last_step(phase.checkpoints)
            kept = phase.first + done
            if kept >= phase.last and not phase.unvalidated(done):
                break
            anew = restarts > 0 and alarms[-1]["restored"] in (kept, None)
            prepared = prepare(self._ctx, weights, phase, restarts, anew=anew)
            watch = Watch(self._ctx, self._work, begun, reached)
            try:
                supervise(prepared.command, prepared.variables, log, watch, self._ctx.params.verl.step_seconds)
            except ClusterError:
                if len(self._alarms(phase)) == len(alarms):
                    raise
            begun = phase.first + last_step(phase.checkpoints)
            if begun == kept == phase.last and phase.unvalidated(done):
                raise ArtifactError(f"verl did not validate step {kept}: see {log}")
        if phase.last not in Journal(self._work / "grpo_log.jsonl").steps():
            cure = f"see {log}, remove {phase.directory}, run again"
            raise ArtifactError(f"step {phase.last} has a checkpoint and no figures: {cure}")
        return True

    def _alarms(self, phase: Phase) -> list[dict[str, object]]:
        """The phase's alarms that ended its trainer, in order."""
        guard = guard_for(self._ctx.params, self._work, phase.first, phase.last, lambda: None)
        lines = [line for step, rows in guard.log.steps().items() if step in guard.steps for line in rows]
        return [line for line in lines if line["action"] != "log"]


def _actor(phase: Phase, step: int) -> Path:
    """Where verl keeps the policy of a step of the run."""
    return phase.checkpoints / f"global_step_{step - phase.first}" / "actor"


class Watch:
    """Reads the journals that the trainer writes: tracks each new line once, and says how far the run is.

    Steps up to `first` were told before, and its validation if there is one; `reached` hears the last finished one.
    """

    def __init__(self, ctx: StageContext[TrainParams], work: Path, first: int, reached: Callable[[int], None]) -> None:
        self._ctx, self._reached = ctx, reached
        self._logs = {"grpo": work / "grpo_log.jsonl", "validation": work / "validation_log.jsonl"}
        validated = first > 0 and first in Journal(self._logs["validation"]).steps()
        self._seen = {"grpo": first, "validation": first if validated else first - 1}
        self._sizes = dict.fromkeys(self._logs, -1)

    def __call__(self) -> int:
        """The last finished step."""
        for name, path in self._logs.items():
            size = path.stat().st_size if path.exists() else -1
            if size != self._sizes[name]:
                self._sizes[name] = size
                self._read(name, path)
        return self._seen["grpo"]

    def _read(self, name: str, path: Path) -> None:
        for step, lines in sorted(Journal(path).steps().items()):
            if step <= self._seen[name]:
                continue
            numbers = {key: value for key, value in lines[-1].items() if isinstance(value, int | float)}
            self._ctx.log_metrics({f"{name}/{key}": value for key, value in numbers.items()}, step)
            if name == "grpo":
                self._reached(step)
            self._seen[name] = step
