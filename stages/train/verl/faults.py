"""What may keep a trajectory from being judged: a closed list. Such a one is masked and counted, never scored."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Fault: TypeAlias = Literal[
    "open", "prompt", "generation", "demonstration", "call", "call_deadline", "episode_deadline", "error"
]
"""Where it went wrong.

`open`: the session did not reach the row's turn. `prompt`: the prompt is over its budget. `generation`: the model's
server failed. `demonstration`: the given replies did not end the turn, or not in the room there is. `call`: a tool
broke. `call_deadline` and `episode_deadline`: the calls of a reply, or the whole episode, took too long. `error`:
anything else, which is a fault of ours.
"""

FAULTS: tuple[Fault, ...] = get_args(Fault)


class FaultError(Exception):
    """A trajectory can't go on for a reason outside the model."""

    def __init__(self, kind: Fault, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
