"""ToolTalk: an assistant with calendar, mail, messages, reminders, alarms, weather and accounts.

78 conversations, 28 easy and 50 hard (Farn and Shin 2023, arXiv 2311.10775; MIT), over 28 simulated APIs,
come as the package `nvidia-tooltalk` 26.3, data inside. Every turn of the assistant is played on its own:
it sees the reference conversation up to there, in a world to which exactly the reference calls were made.
The package requires much that is not used here, so it is installed without its dependencies.

    data.py      conversations, turns and tools from the package
    world.py     one turn's own instances of the official APIs, at the conversation's own time
    texts.py     how free texts are compared
    scoring.py   the official matching of calls, and success
    metrics.py   precision, recall and bad action rate of a whole run
    adapter.py   the benchmark: playing, scoring, controls
"""

from __future__ import annotations

from stages.evaluate.tooltalk.adapter import Tooltalk
from stages.evaluate.tooltalk.metrics import figures

__all__ = ["Tooltalk", "figures"]
