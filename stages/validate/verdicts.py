"""All checks of a conversation in their order, and what became of a whole table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stages.conversations import Conversation
from stages.params import ValidateParams
from stages.stage import StageContext
from stages.validate.dead_state import check_dead_state
from stages.validate.duplicates import Deduplicator, rarity, signature
from stages.validate.held_out import hide_held_out
from stages.validate.origins import Origin
from stages.validate.overlap import Decontaminator
from stages.validate.provenance import trace
from stages.validate.quota import trim
from stages.validate.reasons import Reason, Rejection
from stages.validate.replay import check_replay
from stages.validate.structure import check_structure


@dataclass(frozen=True, slots=True)
class Accepted:
    """A conversation that holds, as it will be shown, with the origin of each literal of its ground truth."""

    conversation: Conversation
    origins: tuple[Origin, ...]


@dataclass(slots=True)
class Verdicts:
    """What became of every conversation; those over quota are good and not needed."""

    accepted: list[Accepted] = field(default_factory=list)
    rejected: list[tuple[Conversation, Rejection]] = field(default_factory=list)
    over_quota: list[tuple[Conversation, Rejection]] = field(default_factory=list)

    @property
    def conversations(self) -> list[Conversation]:
        """The accepted ones."""
        return [item.conversation for item in self.accepted]


class Checker:
    """All checks; it remembers what was accepted, to find repeats."""

    def __init__(
        self, ctx: StageContext[ValidateParams], overlap: Decontaminator, duplicates: Deduplicator | None = None
    ) -> None:
        self._ctx = ctx
        self._overlap = overlap
        self._duplicates = duplicates or Deduplicator(ctx.params.near_duplicate)

    def check(self, conversation: Conversation) -> Accepted | Rejection:
        """The conversation as it is accepted, or why it is not."""
        catalog, params = self._ctx.catalog, self._ctx.params
        ragged = check_structure(conversation)
        if ragged:
            return ragged
        shown = hide_held_out(catalog, conversation, params.held_out_servers)
        if isinstance(shown, Rejection):
            return shown
        origins = trace(catalog, shown)
        if isinstance(origins, Rejection):
            return origins
        found = (
            check_replay(catalog, shown, params.max_error_rate)
            or check_dead_state(catalog, shown)
            or self._overlap.check(shown)
        )
        if found:
            return found
        original = self._duplicates.duplicate_of(shown)
        return Rejection(Reason.NEAR_DUPLICATE, f"repeats {original}") if original else Accepted(shown, origins)


def judge(
    ctx: StageContext[ValidateParams], conversations: Sequence[Conversation], overlap: Decontaminator
) -> Verdicts:
    """Check every conversation, then keep as many as the quota says, the first ones."""
    counts = rarity(map(signature, conversations))
    checker = Checker(ctx, overlap, Deduplicator(ctx.params.near_duplicate, counts))
    verdicts = Verdicts()
    with ctx.progress("Replaying conversations", total=len(conversations)) as bar:
        for conversation in conversations:
            found = checker.check(conversation)
            if isinstance(found, Rejection):
                verdicts.rejected.append((conversation, found))
            else:
                verdicts.accepted.append(found)
            bar.advance(1, failed=int(isinstance(found, Rejection)))
    kept, verdicts.over_quota = trim(verdicts.conversations, ctx.params.quota)
    wanted = {conversation.id for conversation in kept}
    verdicts.accepted = [item for item in verdicts.accepted if item.conversation.id in wanted]
    return verdicts
