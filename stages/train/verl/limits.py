"""What one episode may use: tokens, replies and seconds. Written into the agent loop's settings as JSON."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from stages.reward.rules import RewardRules

Tokens = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0)]


class Limits(BaseModel):
    """Budgets of an episode.

    `prompt`, `response` and `context` are tokens of the prompt, of all that follows it, and of both; `reply` those of
    one reply, `tool_response` those of one tool's result. `rounds` are replies. The calls of one reply get
    `call_seconds` each, together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: Tokens
    response: Tokens
    context: Tokens
    reply: Tokens
    tool_response: Tokens
    rounds: Tokens
    call_seconds: Seconds
    episode_seconds: Seconds


class LoopSettings(BaseModel):
    """All that an agent-loop worker knows of the run: servers by name (none names all), reward, limits.

    `described` is the policy's `tool_summaries`; `threads` work on sessions at once, in one worker; `first` is the
    step of the run that the phase begins after.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    servers: tuple[str, ...]
    rules: RewardRules
    described: bool
    limits: Limits
    threads: Annotated[int, Field(ge=1)] = 4
    first: Annotated[int, Field(ge=0)] = 0
