"""A conversation that really ran on the banking server, and episodes of policies on its turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from servers.kernel.catalog import load_catalog
from servers.kernel.session import Session
from stages.artifacts import Stamp, write_table
from stages.bootstrap.catalogue import TOOLS, tool_rows
from stages.conversations import CONVERSATIONS, Conversation, Transition, Turn, to_row
from stages.dataset import REJECTED, RL_ROWS, RlRow, row_to_plain
from stages.discover.edges import EDGES, Edge, edge_rows
from stages.episodes import EPISODES, ScoredEpisode, episode_to_row, score_episode
from stages.records import Json, Message, ToolCall, TruthCall
from stages.reward.rules import RewardRules
from stages.rollout import Episode, episode_for, visible_spec
from stages.validate.rows import rl_rows

CATALOG = load_catalog(("banking", "budget"))
VISIBLE = ("list_cards", "freeze_card", "unfreeze_card")


def calling(*calls: tuple[str, Mapping[str, Json]]) -> Message:
    """An assistant's message with these calls."""
    return Message("assistant", "", tuple(ToolCall(f"c{n}", name, args) for n, (name, args) in enumerate(calls)))


def first_card() -> str:
    """A card of the world that can be frozen."""
    session = Session(CATALOG.world(7))
    cards = json.loads(CATALOG.call(session, "list_cards", {}).text)["items"]
    ids = [str(card["id"]) for card in cards]
    return next(key for key in ids if CATALOG.call(session.fork(), "freeze_card", {"card_id": key}).ok)


def conversation(number: int, text: str) -> Conversation:
    """Freezing a card in two calls, on a request that says `text` too."""
    tools = tuple(visible_spec(CATALOG.entry(name).tool) for name in VISIBLE)
    episode = Episode(CATALOG, Session(CATALOG.world(7)), tools, [])
    episode.say(f"Freeze my first card. {text}")
    episode.respond(calling(("list_cards", {})))
    episode.respond(calling(("freeze_card", {"card_id": first_card()})))
    episode.respond(Message("assistant", "It is frozen."))
    truth = (TruthCall("list_cards", {}), TruthCall("freeze_card", {"card_id": first_card()}, (0,)))
    return Conversation(
        id=f"conv-{number:06d}",
        kind="multi_turn",
        server="banking",
        chain=("list_cards", "freeze_card"),
        world=7,
        persona="brief",
        information="complete",
        perturbations=("distractors",) if number % 2 else (),
        tools=tools,
        messages=tuple(episode.messages),
        turns=(Turn(0, tuple(episode.calls), truth, episode.session.state_hash),),
        context={},
        transitions=(Transition("QUERY", "query_written", "LLM_PROCESSING"),),
        teacher="scripted/grounded",
        cost=0.0,
        reference_date="Monday, 2026-03-02",
    )


def row_of(told: Conversation) -> RlRow:
    """Its only turn."""
    return next(iter(rl_rows(CATALOG, told)))


def played(row: RlRow, policy: str, *replies: Message, sample: int = 0) -> ScoredEpisode:
    """An episode on a row, its replies given."""
    episode = episode_for(CATALOG, row)
    for reply in (*replies, Message("assistant", "Done.")):
        episode.respond(reply)
    return score_episode(policy, row, sample, episode.finish(), RewardRules())


def right(row: RlRow, policy: str, sample: int = 0) -> ScoredEpisode:
    """Does what the ground truth does."""
    steps = [calling((call.name, call.arguments)) for call in row.truth]
    return played(row, policy, *steps, sample=sample)


def wrong(row: RlRow, policy: str, text: str, sample: int = 0) -> ScoredEpisode:
    """Freezes a card that it made up, leaves out an argument, and calls a tool that there is not."""
    made_up = calling(("freeze_card", {"card_id": f"CRD-{text}"}))
    return played(row, policy, made_up, calling(("freeze_card", {})), calling((text, {"x": text})), sample=sample)


def write_run(data: Path, stamp: Stamp, text: str) -> None:
    """The artefacts that the explorers read; `text` stands wherever a model, a user or a teacher writes."""
    told = [conversation(number, text) for number in range(3)]
    rows = [row_of(one) for one in told]
    edge = Edge(
        "banking", "list_cards", "freeze_card", "explicit", "card_id", True, False, True, "explicit", "not_found"
    )
    edge.evidence, edge.reason = text, text
    claimed = Edge("banking", "freeze_card", "list_cards", "implicit", teacher="implicit")
    training = [
        (right if sample else lambda r, p, sample: wrong(r, p, text, sample))(rows[step % 2], "train", sample=sample)
        for step in range(2)
        for sample in range(3)
    ]
    validation = [right(rows[0], f"step-{step}") for step in (0, 10)]
    held_out = [wrong(rows[2], "policy", text), right(rows[2], "base")]
    tables = {
        "catalog/tools": (TOOLS, tool_rows(CATALOG)),
        "graph/edges": (EDGES, edge_rows([edge, claimed], "executed", "0f")),
        "conversations/conversations": (CONVERSATIONS, [to_row(one) for one in told]),
        "dataset/train": (RL_ROWS, [row_to_plain(rows[0])]),
        "dataset/val": (RL_ROWS, []),
        "dataset/test": (RL_ROWS, [row_to_plain(rows[2])]),
        "dataset/rejected": (
            REJECTED,
            [{"id": told[1].id, "kind": "multi_turn", "server": "banking", "reason": "near_duplicate", "detail": text}],
        ),
        "rollouts/train": (EPISODES, [episode_to_row(one) for one in training]),
        "rollouts/validation": (EPISODES, [episode_to_row(one) for one in validation]),
        "scores/episodes": (EPISODES, [episode_to_row(one) for one in held_out]),
    }
    for name, (schema, table) in tables.items():
        write_table(data / f"{name}.parquet", schema, table, stamp)
