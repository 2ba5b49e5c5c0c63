"""Asking again: what kind of failure an error is, and how long to wait before the next attempt.

Attempts are counted here rather than by LiteLLM, so that the accounts say how many requests there were.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from stages.teacher.errors import TRANSIENT, Failure, TeacherError

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0
"""Seconds of backoff after the first attempt, doubled after each further one, and at most."""

LONGEST_PAUSE = 300.0
"""Seconds that a provider may ask to wait; one that asks for more is not waited for."""

T = TypeVar("T")


async def with_attempts(ask: Callable[[], Awaitable[T]], attempts: int, on_retry: Callable[[], None]) -> T:
    """What `ask` returns, at the first attempt that does not fail.

    Args:
        ask: one attempt.
        attempts: how many there are at most.
        on_retry: called before each further one.

    Raises:
        TeacherError: the last attempt failed, or one in a way that asking again does not help.
    """
    for attempt in range(1, attempts):
        try:
            return await ask()
        except TeacherError as error:
            wait = pause(attempt, error.retry_after)
            if error.reason not in TRANSIENT or wait > LONGEST_PAUSE:
                raise
        await asyncio.sleep(wait)
        on_retry()
    return await ask()


def pause(attempt: int, retry_after: float | None) -> float:
    """Seconds to wait after attempt number `attempt` (from 1): as the provider says, else backoff with jitter."""
    if retry_after is not None:
        return retry_after
    return random.uniform(0.5, 1.0) * min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1))


def failure_of(error: BaseException) -> Failure:
    """The kind of an error that LiteLLM raised: by what lies under it, else by its status."""
    from openai import APITimeoutError

    if isinstance(error, APITimeoutError):
        return Failure.TIMEOUT
    for inner in _causes(error):
        if isinstance(inner, json.JSONDecodeError):
            return Failure.UNREADABLE
        if isinstance(inner, httpx.TransportError):
            return Failure.CONNECTION
    status = getattr(error, "status_code", None) or 0
    if status == 429:
        return Failure.RATE_LIMITED
    if status >= 500:
        return Failure.SERVER_ERROR
    return Failure.REFUSED if status >= 400 else Failure.UNREADABLE


def retry_after_of(error: Any) -> float | None:
    """The seconds of the provider's Retry-After header (a number or a date), or None."""
    headers = getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", {}
    )
    text = str(headers.get("retry-after", "")).strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - time.time())


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
