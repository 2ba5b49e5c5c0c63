"""What training has seen of the test split: chains (never), entities and phrasings (told, as shares of rows).

Splits are by chain. Entities and phrasings can't be kept apart in one seeded world with a few phrasings for each
tool; how much they overlap is what a reader needs to judge a score on the test split.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from servers.kernel.catalog import Catalog
from stages.conversations import Conversation
from stages.dataset import RlRow, Split
from stages.sampling import strings
from stages.validate.overlap import ngrams

PHRASE = 8
"""Words of a phrasing that make it the same, once its values are masked."""

Chain: TypeAlias = tuple[str, tuple[str, ...]]


def chain_of(conversation: Conversation) -> Chain:
    """What decides the split: the server and its chain; a question from elsewhere stands for itself."""
    return conversation.server, conversation.chain or (conversation.id,)


def leaked_chains(conversations: Iterable[Conversation], splits: Mapping[str, Split]) -> set[str]:
    """Conversations outside training whose chain a training conversation has."""
    listed = list(conversations)
    trained = {chain_of(c) for c in listed if splits[c.id] == "train"}
    return {c.id for c in listed if splits[c.id] != "train" and chain_of(c) in trained}


def leakage(catalog: Catalog, rows: Mapping[Split, Sequence[RlRow]], leaked: Collection[str]) -> dict[str, Any]:
    """Shares of the test rows of which training has seen something.

    `chains`: its chain. `entities`: every identifier in its ground truth (of rows that have any). `phrasing`: a run of
    8 words of the user's message, or the whole of a shorter one, with numbers and argument values masked.
    """
    train, test = rows["train"], rows["test"]
    seen = {entity for row in train for entity in _entities(catalog, row)}
    said = {gram for row in train for gram in _phrases(row)}
    named = [entities for row in test if (entities := set(_entities(catalog, row)))]
    worded = [phrases for row in test if (phrases := set(_phrases(row)))]
    return {
        "test_rows": len(test),
        "chains": _share(row.conversation in leaked for row in test),
        "entities": _share(entities <= seen for entities in named),
        "phrasing": _share(bool(phrases & said) for phrases in worded),
    }


def _share(verdicts: Iterable[bool]) -> float:
    listed = list(verdicts)
    return round(sum(listed) / len(listed), 4) if listed else 0.0


def _entities(catalog: Catalog, row: RlRow) -> Iterator[tuple[str, str]]:
    for call in row.truth:
        for parameter in catalog.entry(call.name).tool.parameters:
            if parameter.entity is not None and parameter.name in call.arguments:
                for value in strings(call.arguments[parameter.name]):
                    yield parameter.entity, value


def _phrases(row: RlRow) -> Iterator[tuple[str, ...]]:
    text = row.messages[-1].content
    values = sorted({v for call in row.truth for v in strings(call.arguments) if v}, key=lambda v: (-len(v), v))
    for value in values:
        text = text.replace(value, "0")
    return ngrams(re.sub(r"\d+(?:[.,:]\d+)*", "0", text), PHRASE)
