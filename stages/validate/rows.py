"""From accepted conversations to training rows: splits by chain, RL rows by user turn, SFT rows whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from servers.kernel.dice import Dice
from stages.conversations import Conversation
from stages.dataset import ReplayStep, RlRow, SftRow, Split
from stages.params import ValidateParams


def split_of(conversation: Conversation, params: ValidateParams, seed: int) -> Split:
    """The split of a conversation: all conversations of one chain share it, held-out servers are test."""
    if conversation.server in params.held_out_servers:
        return "test"
    point = Dice(seed, f"split/{conversation.server}/{'>'.join(conversation.chain)}").unit()
    if point < params.split.test:
        return "test"
    return "val" if point < params.split.test + params.split.val else "train"


def rl_rows(conversation: Conversation) -> Iterator[RlRow]:
    """One row for each user turn, with the earlier turns to be replayed."""
    replay: list[ReplayStep] = []
    for number, turn in enumerate(conversation.turns):
        replay.append(ReplayStep("", {}))
        yield RlRow(
            id=f"{conversation.id}/{number}",
            conversation=conversation.id,
            turn=number,
            kind=conversation.kind,
            server=conversation.server,
            world=conversation.world,
            tools=conversation.tools,
            messages=conversation.messages[: turn.start + 1],
            replay=tuple(replay),
            truth=turn.truth,
            state_hash=turn.state_hash,
        )
        replay += [ReplayStep(call.name, call.arguments) for call in turn.truth]


def sft_rows(conversations: Iterable[Conversation]) -> Iterator[SftRow]:
    """Whole conversations; assistant messages with a failed call are shown but not learnt."""
    for conversation in conversations:
        failed = {c.position for turn in conversation.turns for c in turn.calls if not c.ok}
        learn = tuple(
            message.role == "assistant" and index not in failed for index, message in enumerate(conversation.messages)
        )
        yield SftRow(
            conversation.id, conversation.kind, conversation.server, conversation.tools,
            conversation.messages, learn,
        )  # fmt: skip
