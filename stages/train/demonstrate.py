"""A trajectory that nobody sampled: given replies, played in a live episode and kept as tokens."""

from __future__ import annotations

import time
from collections.abc import Sequence

from stages.chat import ChatFormat
from stages.chat.one_call import one_call_each
from stages.records import Message
from stages.train.batched_rollout import Episode, Trajectory


def demonstrate(chat: ChatFormat, episode: Episode, replies: Sequence[Message], max_context: int) -> Trajectory | None:
    """Play the replies until the episode is over; None if that takes more than `max_context` tokens.

    The environment answers as it would answer a policy. The trajectory has no log-probabilities: they are those
    of the policy that will learn from it.
    """
    if chat.one_call:
        replies = [reply for _, reply in one_call_each(replies)]
    prompt = tuple(chat.opening(episode.tools, episode.messages))
    ids: list[int] = []
    mask: list[bool] = []
    seconds = 0.0
    for number, reply in enumerate(replies):
        own = chat.reply(reply)
        ids += own
        mask += [True] * len(own)
        known = len(episode.messages)
        asked = time.perf_counter()
        episode.respond(reply)
        seconds += time.perf_counter() - asked
        if episode.done or number + 1 == len(replies):
            break
        between = chat.continuation(episode.messages[known + 1 :])
        ids += between
        mask += [False] * len(between)
    if len(prompt) + len(ids) > max_context:
        return None
    return Trajectory(prompt, tuple(ids), tuple(mask), (), episode.finish(), seconds, "demonstrated")
