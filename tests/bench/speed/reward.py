"""Episodes scored a second on one core: under the dense reward, and with SCRIBE's judge of the process.

The episodes are the user turns of the scripted conversations, each as it was played, without its last call, and with
its first call made twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from servers.kernel.catalog import Catalog
from stages.conversations import Conversation
from stages.dataset import RlRow
from stages.episodes import Scorer
from stages.records import EpisodeRecord, ExecutedCall
from stages.reward.rules import RewardRules, Weights
from stages.skills.facts import facts_of
from stages.skills.judge import ProgramJudge
from stages.skills.library import Settings, built, tallied
from stages.skills.router import Router
from stages.skills.trajectories import turns_of
from stages.validate.rows import rl_rows
from tests.bench.speed.figures import Figure, at_least, at_most
from tests.bench.speed.material import SEED, catalog, conversations
from tests.bench.speed.timing import Load, Scale, growth, in_turn, rate

_JUDGED = RewardRules(weights=Weights(process=0.3))


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    plays = list(episodes(catalog(), conversations()))
    plain = Scorer(RewardRules())
    judged = Scorer(_JUDGED, _judge(catalog(), conversations()))
    some = plays[::8]
    loads = {
        "dense": Load(lambda: _score(plain, plays), len(plays)),
        "judged": Load(lambda: _score(judged, some), len(some)),
    }
    sizes = {factor: max(2, len(plays) * factor // scale.factors[-1]) for factor in scale.factors}
    parts = {factor: plays[:: max(1, len(plays) // count)][:count] for factor, count in sizes.items()}
    loads |= {f"grown {f}": Load(partial(_score, plain, part)) for f, part in parts.items()}
    seconds = in_turn(loads, scale.repeats)
    calls = sum(len(record.calls) for _, record in plays) / len(plays)
    about = f"{len(plays)} episodes of {calls:.1f} calls"
    figures = []
    for name, title in (
        ("dense", "episodes scored, dense reward"),
        ("judged", "episodes scored, with the process judge"),
    ):
        value, spread = rate(seconds[name])
        dense = name == "dense"
        figures.append(
            Figure(
                name=f"reward {name}",
                family="reward",
                title=title,
                value=value,
                unit="episodes/s",
                spread=spread,
                targets=(at_least(5000), at_most(1.1, "exponent")) if dense else (),
                growth=growth("episodes", {len(parts[f]): seconds[f"grown {f}"] for f in parts}) if dense else None,
                note=about,
            )
        )
    return figures


def episodes(servers: Catalog, made: Sequence[Conversation]) -> Iterator[tuple[RlRow, EpisodeRecord]]:
    """Three episodes of each user turn."""
    for item in made:
        for row, turn in zip(rl_rows(servers, item), item.turns, strict=True):
            for calls in variants(turn.calls):
                yield row, EpisodeRecord(row.messages, calls, turn.state_hash, "answered")


def variants(calls: Sequence[ExecutedCall]) -> list[tuple[ExecutedCall, ...]]:
    """The calls as they were made, one too few, and one too many."""
    whole = tuple(calls)
    again = tuple(replace(call, position=call.position + 1) for call in whole)
    return [whole, whole[:-1], (*whole[:1], *again)]


def _score(scorer: Scorer, plays: Sequence[tuple[RlRow, EpisodeRecord]]) -> None:
    for row, record in plays:
        scorer.score("bench", row, 0, record)


def _judge(servers: Catalog, made: Sequence[Conversation]) -> ProgramJudge:
    facts = facts_of(servers)
    turns = [turn for item in made for turn in turns_of(item)]
    return ProgramJudge(facts, Router(built(tallied(turns, facts), Settings("tfidf", 15, "nearest", SEED))))
