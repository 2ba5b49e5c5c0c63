"""From accepted conversations to training rows: splits by chain, RL rows by user turn, SFT rows whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from servers.kernel.catalog import Catalog
from servers.kernel.dice import Dice
from stages.conversations import Conversation, Turn
from stages.dataset import ReplayStep, RlRow, SftRow, Split
from stages.params import ValidateParams


def split_of(conversation: Conversation, params: ValidateParams, seed: int) -> Split:
    """The split of a conversation: all conversations of one chain share it, held-out servers are test.

    A question of an outside set has no chain and is drawn by itself.
    """
    if conversation.server in params.held_out_servers:
        return "test"
    key = ">".join(conversation.chain) or conversation.id
    point = Dice(seed, f"split/{conversation.server}/{key}").unit()
    if point < params.split.test:
        return "test"
    return "val" if point < params.split.test + params.split.val else "train"


def rl_rows(catalog: Catalog, conversation: Conversation) -> Iterator[RlRow]:
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
            required=required_results(catalog, turn),
        )
        replay += [ReplayStep(call.name, call.arguments) for call in turn.truth]


def required_results(catalog: Catalog, turn: Turn) -> tuple[str, ...]:
    """Results of the turn's reads that no other call of its ground truth builds on."""
    used = {index for call in turn.truth for index in call.depends_on}
    done = [call for call in turn.calls if call.ok and call.arguments is not None]
    return tuple(
        call.result for index, call in enumerate(done) if index not in used and catalog.entry(call.name).tool.read_only
    )


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
