"""What the checks look at: a trajectory with all that can be asked of it, worked out once and when needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from servers.kernel.errors import KernelFault
from stages.artifacts import dump
from stages.records import ExecutedCall, Message
from stages.skills.decompose import Subgoal, is_unknown
from stages.skills.facts import Facts, ToolFacts
from stages.skills.grounding import Invention, Knowledge, inventions, knowledge_of
from stages.skills.trajectories import Trajectory

OWN_FAULTS = frozenset({KernelFault.INVALID_ARGUMENTS, KernelFault.NOT_FOUND, "too_many_calls", "invalid_call"})
"""Error codes that blame the call; a server's own codes say that the state refuses it."""


def is_empty(call: ExecutedCall) -> bool:
    """Whether a result is a list of nothing."""
    return '"items":[]' in call.result


def _key(call: ExecutedCall, index: int) -> str:
    try:
        return f"{call.name} {dump(call.arguments)}"
    except (ValueError, RecursionError):
        return f"{call.name} #{index}"


class Scene:
    """A trajectory under the judge's eyes."""

    def __init__(self, trajectory: Trajectory, facts: Facts) -> None:
        self.trajectory, self.facts = trajectory, facts
        self.calls: Sequence[ExecutedCall] = trajectory.calls
        self._inventions: dict[int, set[Invention]] = {}

    @cached_property
    def knowledge(self) -> Knowledge:
        """What the user said and results showed."""
        return knowledge_of(self.trajectory)

    @cached_property
    def keys(self) -> list[str]:
        """Each call as text, equal for equal calls; one that is no JSON equals no other."""
        return [_key(call, index) for index, call in enumerate(self.calls)]

    @cached_property
    def answer(self) -> Message | None:
        """The message that ends the turn; None if the turn was stopped before."""
        last = self.trajectory.messages[-1] if self.trajectory.messages else None
        return last if last is not None and last.role == "assistant" and not last.tool_calls else None

    @cached_property
    def asked(self) -> str:
        """All that the user said, this turn's message last."""
        return "\n".join(message.content for message in self.trajectory.messages if message.role == "user")

    @cached_property
    def request(self) -> str:
        """The user's message that begins the turn."""
        messages, start = self.trajectory.messages, self.trajectory.start
        return messages[start].content if messages else ""

    @cached_property
    def visible(self) -> list[ToolFacts]:
        """The tools that the agent saw."""
        return [self.facts[tool.name] for tool in self.trajectory.tools if tool.name in self.facts]

    @cached_property
    def unresolved(self) -> list[int]:
        """Failed calls that nothing made good.

        A success of the same tool does; for a read or a call of nothing, so does any later success.
        """
        found = []
        for index, call in enumerate(self.calls):
            if call.ok:
                continue
            tool = self.facts.get(call.name)
            any_will_do = tool is None or tool.read_only or is_unknown(call, self.facts)
            later = self.calls[index + 1 :]
            if not any(after.ok and (any_will_do or after.name == call.name) for after in later):
                found.append(index)
        return found

    @cached_property
    def has_changed(self) -> bool:
        """Whether a call of the turn changed something."""
        return any(call.ok and self.is_change(index) for index, call in enumerate(self.calls))

    @cached_property
    def has_shown(self) -> bool:
        """Whether a read of the turn showed something."""
        return any(call.ok and not self.is_change(n) and not is_empty(call) for n, call in enumerate(self.calls))

    def tool(self, index: int) -> ToolFacts | None:
        """The tool of a call; None if there is no such tool or the call can't be read."""
        call = self.calls[index]
        return None if is_unknown(call, self.facts) else self.facts[call.name]

    def is_change(self, index: int) -> bool:
        """Whether a call is to a tool that changes the state."""
        tool = self.tool(index)
        return tool is not None and not tool.read_only

    def invented(self, subgoal: Subgoal, kind: Invention) -> bool | None:
        """Whether a call of the subgoal invents something of a kind; None if no call can be read."""
        known = [index for index in subgoal.calls if self.tool(index) is not None]
        return any(kind in self._inventions_of(index) for index in known) if known else None

    def changed_between(self, first: int, last: int) -> bool:
        """Whether a successful change lies between two calls."""
        return any(self.calls[n].ok and self.is_change(n) for n in range(first + 1, last))

    def _inventions_of(self, index: int) -> set[Invention]:
        if index not in self._inventions:
            tool, call = self.tool(index), self.calls[index]
            known = self.knowledge.before(call.position)
            self._inventions[index] = inventions(tool, call, known) if tool else set()
        return self._inventions[index]
