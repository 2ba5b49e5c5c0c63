"""From the episodes of a set to its figures: outcome, reward and its parts, and the habits behind them.

solved         of rows that want calls: the final state is right and what was asked for was read
recovered      of episodes in which a call that the row wants failed: each such tool later succeeded with
               every argument that the row wants
abstention     precision: of episodes without a call, those whose row wants none;
               recall: of rows that want none, those played without a call
clarified      of rows that leave a needed value open: played without a call, with a question
over_budget    calls above the efficiency budget, per row that wants calls
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stages.episodes import ScoredEpisode
from stages.evaluate.statistics import bootstrap_mean, paired_difference, wilson

PARTS = ("validity", "coverage", "efficiency", "name", "arguments")


def summarise(episodes: Sequence[ScoredEpisode], seed: int, resamples: int) -> dict[str, Any]:
    """Means with 95 % intervals: bootstrap over rows for amounts, Wilson for shares of rows."""
    live = [episode for episode in episodes if not episode.reward.masked]
    acting = [episode for episode in live if episode.truth]
    silent = [episode for episode in live if not episode.truth]
    open_ones = [e for e in silent if e.kind != "abstention"]
    quiet = [e for e in live if not e.record.calls]
    tripped = [e for e in acting if wanted_failures(e)]

    def mean(values: Sequence[float]) -> dict[str, float]:
        return _mean(values, seed, resamples)

    return {
        "rows": len(live),
        "masked": len(episodes) - len(live),
        "reward": mean([e.reward.total for e in live]),
        "parts": {part: mean([getattr(e.reward, part) for e in acting]) for part in PARTS},
        "solved": _share(sum(bool(e.reward.outcome) for e in acting), len(acting)),
        "recovered": _share(sum(recovered(e) for e in tripped), len(tripped)),
        "abstained": _share(sum(not e.record.calls for e in silent), len(silent)),
        "abstention_precision": _share(sum(not e.truth for e in quiet), len(quiet)),
        "clarified": _share(sum(asks(e) for e in open_ones), len(open_ones)),
        "calls_over_budget": mean([max(0, len(e.record.calls) - e.reward.budget) for e in acting]),
        "stops": {stop: sum(e.record.stop == stop for e in live) for stop in sorted({e.record.stop for e in live})},
        "servers": {
            server: sum(e.reward.total for e in live if e.server == server) / sum(e.server == server for e in live)
            for server in sorted({e.server for e in live})
        },
    }


def differences(
    played: Mapping[str, Sequence[ScoredEpisode]], seed: int, resamples: int
) -> dict[str, dict[str, float]]:
    """Each agent against each one before it: the paired difference of the mean reward, where neither is masked."""
    names = list(played)
    found = {}
    for index, first in enumerate(names):
        for second in names[:index]:
            ours, theirs = _totals(played[first]), _totals(played[second])
            shared = ours.keys() & theirs.keys()
            if not shared:
                continue
            row = paired_difference(
                {task: ours[task] for task in shared},
                {task: theirs[task] for task in shared},
                seed=seed,
                resamples=resamples,
            )
            found[f"{first}-{second}"] = {"mean": row.mean, "low": row.low, "high": row.high, "rows": row.tasks}
    return found


def wanted_failures(episode: ScoredEpisode) -> set[str]:
    """The tools that the row wants and that failed at least once."""
    wanted = {call.name for call in episode.truth}
    return {call.name for call in episode.record.calls if not call.ok and call.name in wanted}


def recovered(episode: ScoredEpisode) -> bool:
    """Whether each wanted tool that failed succeeded later, with every argument that the row gives it."""
    return all(_succeeds_later(episode, name) for name in wanted_failures(episode))


def _succeeds_later(episode: ScoredEpisode, name: str) -> bool:
    calls = episode.record.calls
    first = next(index for index, call in enumerate(calls) if call.name == name and not call.ok)
    keys = [set(call.arguments) for call in episode.truth if call.name == name]
    return any(
        call.name == name and call.ok and any(wanted <= set(call.arguments or {}) for wanted in keys)
        for call in calls[first + 1 :]
    )


def asks(episode: ScoredEpisode) -> bool:
    """Whether the agent called nothing and its last words hold a question."""
    last = episode.record.messages[-1]
    return not episode.record.calls and last.role == "assistant" and "?" in last.content


def _totals(episodes: Sequence[ScoredEpisode]) -> dict[str, float]:
    return {e.row: e.reward.total for e in episodes if not e.reward.masked}


def _mean(values: Sequence[float], seed: int, resamples: int) -> dict[str, float]:
    if not values:
        return {"mean": 0.0, "low": 0.0, "high": 0.0}
    interval = bootstrap_mean(values, seed=seed, resamples=resamples)
    return {"mean": sum(values) / len(values), "low": interval.low, "high": interval.high}


def _share(count: int, total: int) -> dict[str, float]:
    if not total:
        return {"mean": 0.0, "low": 0.0, "high": 0.0, "rows": 0}
    interval = wilson(count, total)
    return {"mean": count / total, "low": interval.low, "high": interval.high, "rows": total}
