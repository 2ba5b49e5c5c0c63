"""One user turn as the judge sees it: the conversation up to its end, and the calls that the turn made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stages.conversations import Conversation
from stages.episodes import ScoredEpisode
from stages.records import EpisodeRecord, ExecutedCall, Message, ToolSpec


@dataclass(frozen=True, slots=True)
class Trajectory:
    """A turn that was played.

    Attributes:
        id: the conversation's or the row's, for references.
        tools: the tools that the agent saw.
        messages: everything that was said, the turns before included.
        start: the index of the user's message that begins the turn.
        calls: the turn's calls; their `position` is the index of the message that made them.
    """

    id: str
    tools: tuple[ToolSpec, ...]
    messages: tuple[Message, ...]
    start: int
    calls: tuple[ExecutedCall, ...]


def turns_of(conversation: Conversation) -> list[Trajectory]:
    """Every turn of a conversation."""
    ends = [turn.start for turn in conversation.turns[1:]] + [len(conversation.messages)]
    return [
        Trajectory(conversation.id, conversation.tools, conversation.messages[:end], turn.start, turn.calls)
        for turn, end in zip(conversation.turns, ends, strict=True)
    ]


def played(id: str, tools: Sequence[ToolSpec], record: EpisodeRecord) -> Trajectory:
    """The last turn of an episode."""
    messages = record.messages
    start = max((n for n, message in enumerate(messages) if message.role == "user"), default=0)
    return Trajectory(id, tuple(tools), messages, start, tuple(c for c in record.calls if c.position >= start))


def episode_turn(episode: ScoredEpisode) -> Trajectory:
    """The turn that a stored episode played."""
    return played(episode.row, episode.tools, episode.record)
