"""One phase of GRPO on verl, as the stage hands it to the trainer's process: a file of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from stages.stage import StageContext
from stages.train.journal import Journal
from stages.train.params import TrainParams

FILE = "phase.json"


class Phase(BaseModel):
    """The GRPO steps after `first` up to `last` of a run.

    `root` is the directory that the stage runs in, `work` that of its journals, `directory` the phase's own, with
    verl's files. `document` is `params.yaml` as the stage read it, `seed` and `params` what it made of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Path
    work: Path
    directory: Path
    first: Annotated[int, Field(ge=0)]
    last: Annotated[int, Field(ge=1)]
    seed: int
    params: TrainParams
    document: dict[str, Any]

    @property
    def checkpoints(self) -> Path:
        """Where verl keeps its checkpoints, which count from the phase's first step."""
        return self.directory / "checkpoints"

    def unvalidated(self, done: int) -> bool:
        """Whether a validation is due after the phase's `done` steps and was not written, by a kill or not yet."""
        validation, step = self.params.validation, self.first + done
        due = done % max(1, validation.every) == 0 or step == self.last if done else validation.before and not step
        return validation.every > 0 and due and step not in Journal(self.work / "validation_log.jsonl").steps()

    def context(self) -> StageContext[TrainParams]:
        """The stage's context, in a process whose working directory is `root`; nothing is tracked there."""
        return StageContext("train", self.params, self.seed, self.document)
