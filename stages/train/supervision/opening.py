"""The signal of a run, opened from the stage's context: its ground truth, and its teacher if it asks one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from stages.dataset import RlRow
from stages.params import TeacherParams
from stages.stage import StageContext
from stages.teacher.client import Teacher
from stages.teacher.team import open_teachers
from stages.train.supervision.choice import signal_for
from stages.train.supervision.demonstrations import Demonstrations
from stages.train.supervision.signal import Signal
from stages.train.tables import sft_table


def open_signal(ctx: StageContext[Any], rows: Sequence[RlRow], stack: ExitStack) -> Signal:
    """The signal that `train.supervision` names, over the training rows; a teacher lives as long as `stack`."""

    def reflector() -> Teacher:
        teachers = stack.enter_context(open_teachers(ctx.block(TeacherParams, "teacher"), ctx.name))
        return teachers.of("reflector")

    return signal_for(ctx.params.supervision, ctx.params.signal, rows, Demonstrations(sft_table(ctx)), reflector)
