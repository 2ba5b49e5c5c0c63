"""Episodes scored per second on one core.

    python tests/bench/reward_speed.py data/rollouts/train.parquet
    python tests/bench/reward_speed.py data/rollouts/train.parquet --process    # with SCRIBE's judge, data/skills

Scores every stored episode of a table under the present rules, several times over, and prints the rate with
the mean numbers of calls. Reading the table does not count.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import pyarrow.parquet as pq

from servers.kernel.catalog import load_catalog
from stages.episodes import episode_from_row
from stages.reward.rules import RewardRules, Weights
from stages.skills import scorer_under


def main() -> None:
    """Time the scoring of a table of episodes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--process", action="store_true", help="judge the process too")
    arguments = parser.parse_args()
    episodes = [episode_from_row(row) for row in pq.read_table(arguments.table).to_pylist()]
    rules = RewardRules(weights=Weights(process=0.3 if arguments.process else 0.0))
    scorer = scorer_under(rules, lambda: load_catalog(tuple(sorted({e.server for e in episodes}))))
    rates = []
    for _ in range(arguments.repeats):
        begin = time.process_time()
        for episode in episodes:
            scorer.again(episode)
        rates.append(len(episodes) / (time.process_time() - begin))
    calls = statistics.mean(len(e.record.calls) for e in episodes)
    truth = statistics.mean(len(e.truth) for e in episodes)
    print(f"{len(episodes)} episodes with {calls:.2f} calls on {truth:.2f} of the ground truth")
    print(f"{statistics.median(rates):,.0f} episodes a second (median of {arguments.repeats})")


if __name__ == "__main__":
    main()
