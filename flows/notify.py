"""Word of a finished run through any notification block that is stored in Prefect.

A block is named `TYPE/NAME`, such as `slack-webhook/team` or `custom-webhook/nightly`. Nobody is told if none is
named. A notification that fails is logged and changes nothing else.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Sequence
from typing import Any

from flows.artefacts import Result
from stages.progress import human_time

_BLOCK = re.compile(r"[a-z0-9][a-z0-9-]*/[a-z0-9][a-z0-9-]*")


class BlockNameError(ValueError):
    """The name of a block is not of the form TYPE/NAME."""


def checked(block: str) -> str:
    """The name of a block, or "" for none.

    Raises:
        BlockNameError: it cannot be one.
    """
    if block and not _BLOCK.fullmatch(block):
        raise BlockNameError(f"a block is named TYPE/NAME, such as custom-webhook/nightly; found {block[:80]!r}")
    return block


def notify(block: str, subject: str, body: str) -> None:
    """Send a message through a stored block.

    Raises:
        Exception: whatever the block or the service behind it throws.
    """
    import prefect.blocks.notifications  # noqa: F401  # its blocks are known by name from here on
    from prefect.blocks.abstract import NotificationBlock
    from prefect.blocks.core import Block

    stored = Block.load(checked(block))
    if not isinstance(stored, NotificationBlock):
        raise BlockNameError(f"{block} is no notification block")
    told: Any = stored.notify(body=body, subject=subject)
    if inspect.iscoroutine(told):  # blocks differ in whether they wait by themselves
        asyncio.run(told)


def subject_of(results: Sequence[Result], profile: str) -> str:
    """One line: whether the run is good, and if not, where it failed."""
    what = f"PROVE pipeline, profile {profile}" if profile else "PROVE pipeline"
    failed = [result.stage for result in results if result.code]
    return f"{what}: {failed[0]} failed" if failed else f"{what}: up to date"


def body_of(results: Sequence[Result]) -> str:
    """A line for each stage."""
    lines = []
    for result in results:
        spent = f", {human_time(result.seconds)}" if result.seconds else ""
        lines.append(f"{result.stage}: {result.outcome}{spent}" + (f" ({result.why})" if result.why else ""))
    return "\n".join(lines)
