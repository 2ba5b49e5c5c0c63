"""The signal that `train.supervision` names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from stages.dataset import RlRow
from stages.teacher.client import Teacher
from stages.train.supervision.demonstrations import Demonstrations
from stages.train.supervision.ets import Ets
from stages.train.supervision.hint import Hint
from stages.train.supervision.hinter import ProgrammaticHinter, TeacherHinter
from stages.train.supervision.ops import Ops
from stages.train.supervision.prs import Prs
from stages.train.supervision.reflector import ProgrammaticReflector, TeacherReflector
from stages.train.supervision.settings import SignalConfig, SignalName
from stages.train.supervision.sft_then_rl import SftThenRl
from stages.train.supervision.signal import Signal

ASKS_THE_TEACHER: frozenset[SignalName] = frozenset({"hint", "prs"})


def signal_for(
    name: SignalName,
    config: SignalConfig,
    rows: Sequence[RlRow],
    right: Demonstrations,
    teacher: Callable[[], Teacher],
) -> Signal:
    """The signal of that name over the training rows.

    `teacher` gives the one that plays the reflector; a scripted one leaves hints and reflections to a program.
    """
    match name:
        case "none":
            return Signal()
        case "sft_then_rl":
            return SftThenRl(rows, right)
        case "ops":
            return Ops(right, config.demonstrations)
        case "hint":
            asked = teacher()
            hinter = ProgrammaticHinter() if asked.is_scripted else TeacherHinter(asked, config.hint_words)
            return Hint(hinter, config.hinted, config.hint_words)
        case "ets":
            return _errors(config, rows, right)
        case "prs":
            asked = teacher()
            reflector = ProgrammaticReflector() if asked.is_scripted else TeacherReflector(asked)
            return Prs(rows, _errors(config, rows, right), reflector, config.scenarios)
    assert_never(name)


def _errors(config: SignalConfig, rows: Sequence[RlRow], right: Demonstrations) -> Ets:
    return Ets(rows, right, config.schedule, config.window, config.failing)
