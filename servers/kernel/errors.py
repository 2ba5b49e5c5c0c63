"""The closed list of things that can go wrong in an environment.

A `ToolError` is the model's business: its code and message come back as the result of the call, and
the message says what would work. A `HarnessError` is the business of whoever drives the environment
and never reaches a model as a tool result.
"""

from __future__ import annotations

from enum import StrEnum


class KernelFault(StrEnum):
    """Error codes that every server shares; a server's own codes are its `Fault` enum."""

    INVALID_ARGUMENTS = "invalid_arguments"
    NOT_FOUND = "not_found"
    INTERNAL = "internal_error"
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"


class ToolError(Exception):
    """A call failed for a reason that the caller can understand and often repair.

    Args:
        code: a `KernelFault` or a member of the server's own `Fault` enum.
        message: what is wrong, and what would work.
    """

    def __init__(self, code: StrEnum, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class HarnessError(Exception):
    """A mistake in driving the environment: state the fault, the place and the cure."""


class UnknownToolError(HarnessError):
    """The name matches no tool exactly. Over MCP this is a protocol error."""


class UnknownHandleError(HarnessError):
    """No session answers to this handle: never opened here, closed, or of another principal."""


class ExpiredHandleError(HarnessError):
    """The session outlived its idle lifetime and was closed."""


class CapacityError(HarnessError):
    """The pool is full; open sessions keep their state and the new one is refused."""
