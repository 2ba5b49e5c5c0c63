"""Rows and episodes of one real server, for the signals to work on."""

from __future__ import annotations

from functools import lru_cache

from stages.conversations import Conversation
from stages.dataset import RlRow, SftRow
from stages.episodes import ScoredEpisode, score_episode
from stages.records import Message, ToolCall
from stages.reward.rules import RewardRules
from stages.rollout import episode_for
from stages.train.supervision.demonstrations import Demonstrations
from stages.validate.rows import rl_rows, sft_rows
from tests.stages.synthesize.writing import catalog, conversations

OUTCOME = RewardRules(kind="outcome")


@lru_cache(maxsize=1)
def made() -> tuple[Conversation, ...]:
    return tuple(conversations()[:40])


@lru_cache(maxsize=1)
def rows() -> tuple[RlRow, ...]:
    return tuple(row for one in made() for row in rl_rows(catalog(), one))


@lru_cache(maxsize=1)
def imitated() -> tuple[SftRow, ...]:
    return tuple(sft_rows(made()))


@lru_cache(maxsize=1)
def right() -> Demonstrations:
    return Demonstrations(imitated())


def acting() -> RlRow:
    """A row that wants more than one call."""
    return next(row for row in rows() if len(row.truth) > 1)


def played(row: RlRow, replies: tuple[Message, ...], sample: int = 0) -> ScoredEpisode:
    """The scored episode of these replies."""
    episode = episode_for(catalog(), row, 12)
    for reply in replies:
        if not episode.done:
            episode.respond(reply)
    return score_episode("sampled", row, sample, episode.finish(), OUTCOME)


def silent(row: RlRow, sample: int = 0) -> ScoredEpisode:
    """The episode of a policy that says nothing useful."""
    return played(row, (Message("assistant", "Sure."),), sample)


def perfect(row: RlRow, sample: int = 0) -> ScoredEpisode:
    """The episode of the demonstration."""
    return played(row, right().replies(row), sample)


def call(name: str, arguments: dict[str, object] | None, raw: str = "") -> Message:
    """A reply with one call."""
    return Message("assistant", "", (ToolCall("c", name, arguments, raw, "" if arguments is not None else "broken"),))  # type: ignore[arg-type]
