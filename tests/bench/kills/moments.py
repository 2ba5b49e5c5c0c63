"""Kills at an exact moment: before or after a certain call of a function, in the process of a stage."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal


def kill_at(place: str, call: int, when: Literal["before", "after"]) -> Callable[[], None]:
    """What makes a new process kill itself.

    Args:
        place: a function or method, `module:name` or `module:Class.name`.
        call: which call of it, from 1.
        when: on which side of the call.
    """

    def arm() -> None:
        module, _, path = place.partition(":")
        owner: Any = import_module(module)
        *outer, name = path.split(".")
        for part in outer:
            owner = getattr(owner, part)
        original, seen = getattr(owner, name), 0

        def watched(*arguments: Any, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            if (seen, when) == (call, "before"):
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*arguments, **named)
            if (seen, when) == (call, "after"):
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(owner, name, watched)

    return arm
