"""What a batch of scored episodes says about a policy: the reward's parts, calls, errors and endings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stages.episodes import ScoredEpisode

PARTS = ("validity", "coverage", "efficiency", "name", "arguments")


def episode_metrics(episodes: Sequence[ScoredEpisode]) -> dict[str, float]:
    """Means over the episodes that are not masked; nothing if all are.

    `part_*` are the reward's parts, `calls` and `calls_over_budget` are per episode, `errors/CODE` failed
    calls per episode, `stops/REASON` and `solved` (the right outcome) shares.
    """
    live = [episode for episode in episodes if not episode.reward.masked]
    if not live:
        return {}
    n = len(live)
    errors = Counter(call.error_code for e in live for call in e.record.calls if not call.ok)
    stops = Counter(e.record.stop for e in live)
    return {
        **{f"part_{part}": sum(getattr(e.reward, part) for e in live) / n for part in PARTS},
        "calls": sum(len(e.record.calls) for e in live) / n,
        "calls_over_budget": sum(max(0, len(e.record.calls) - e.reward.budget) for e in live if e.truth) / n,
        "solved": sum(bool(e.reward.outcome) for e in live) / n,
        **{f"errors/{code}": count / n for code, count in sorted(errors.items())},
        **{f"stops/{stop}": count / n for stop, count in sorted(stops.items())},
    }
