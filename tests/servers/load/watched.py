"""`python -m tests.servers.load.watched FILE serve --http …`: the servers' own command, with a window on its loop.

At each SIGUSR1 the process writes to FILE how many asyncio tasks live in its main thread's loop. Nothing else differs.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from types import FrameType

from servers.__main__ import main


def write_tasks(number: int, frame: FrameType | None) -> None:
    """Put the count in place whole, so that a reader never sees half of it."""
    target = Path(sys.argv[0])
    scratch = target.with_suffix(".new")
    scratch.write_text(str(len(asyncio.all_tasks())))
    scratch.replace(target)


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    signal.signal(signal.SIGUSR1, write_tasks)
    main()
