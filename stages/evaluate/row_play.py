"""One agent on a set of held-out rows; finished batches survive a kill.

A local policy goes through the training engine's own lock-step rollout, batch by batch; other agents through the
benchmarks' run loops.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from servers.kernel.catalog import Catalog
from stages.artifacts import dump
from stages.dataset import RlRow, row_to_plain
from stages.episodes import ScoredEpisode, Scorer, episode_from_row, episode_to_row
from stages.evaluate.benchmark import TaskResult
from stages.evaluate.journal import Journal, journal_path
from stages.evaluate.loop import run_tasks
from stages.evaluate.row_benchmark import RowBenchmark, gold_turns
from stages.evaluate.scripted_agents import SCRIPTED, ByTask
from stages.evaluate.streaming import run_streaming
from stages.params import EvaluateParams, HostedParams
from stages.progress import Bar
from stages.train.config import SamplingConfig


class RowPlayer:
    """The rows of one set, ready for any agent; `took` holds what each of them cost.

    Args:
        name: the set.
        catalog: the servers.
        rows: what is played.
        scorer: the reward.
        sampling: how a local policy replies; its `max_rounds` holds for every agent.
        params: batch size and limits.
        seed: of the run.
    """

    def __init__(
        self,
        name: str,
        catalog: Catalog,
        rows: Sequence[RlRow],
        scorer: Scorer,
        sampling: SamplingConfig,
        params: EvaluateParams,
        seed: int,
    ) -> None:
        self._name, self._catalog, self.rows, self._scorer = name, catalog, rows, scorer
        self._sampling, self._params, self._seed = sampling, params, seed
        self.took: dict[str, Mapping[str, float]] = {}
        self._benchmark = RowBenchmark(name, catalog, rows, scorer, sampling.max_rounds)

    def local(self, agent: str, policy: Any, digest: str, bar: Bar) -> list[ScoredEpisode]:
        """A local policy, greedily."""
        from stages.train.play import play

        journal = self._journal(agent, (digest, self._sampling.model_dump_json()))
        for first in range(0, len(self.rows), self._params.batch):
            part = self.rows[first : first + self._params.batch]
            if not all(row.id in journal for row in part):
                start = time.monotonic()
                made = play(self._catalog, policy, agent, part, self._scorer, self._sampling)
                seconds = (time.monotonic() - start) / len(part)
                for episode in made:
                    journal.add(episode_to_row(episode), {"seconds": seconds})
            bar.advance(len(part))
        return self._in_order(agent, journal)

    def hosted(self, agent: str, hosted: HostedParams, bar: Bar) -> list[ScoredEpisode]:
        """An agent behind an API; rows that were masked before are tried again."""
        from stages.evaluate.hosted_agent import HostedAgent

        journal = self._journal(agent, (hosted.model_dump_json(), str(self._sampling.max_rounds)))
        tasks = {task.id: task for task in self._benchmark.tasks()}
        missing = [t for t in tasks.values() if t.id not in journal or _masked(journal.rows[t.id])]
        bar.advance(len(tasks) - len(missing))
        last = time.monotonic()

        def keep(result: TaskResult) -> None:
            nonlocal last
            now = time.monotonic()
            used = asdict(client.usage[result.task_id]) if result.task_id in client.usage else {}
            episode = self._benchmark.scored(agent, tasks[result.task_id], result)
            journal.add(episode_to_row(episode), {"seconds": now - last, **used})
            last = now
            bar.advance(1, failed=int(result.status != "scored"))

        client = HostedAgent(hosted, self._seed)
        try:
            run_streaming(
                self._benchmark,
                missing,
                client,
                width=client.width,
                seconds=self._params.task_seconds,
                on_result=keep,
            )
        finally:
            client.close()
        return self._in_order(agent, journal)

    def scripted(self, agent: str) -> list[ScoredEpisode]:
        """An agent made from the reference calls."""
        tasks = self._benchmark.tasks()
        by_task = ByTask({task.id: SCRIPTED[agent](gold_turns(task)) for task in tasks})
        results = run_tasks(self._benchmark, tasks, by_task)
        return [self._benchmark.scored(agent, task, result) for task, result in zip(tasks, results, strict=True)]

    def _journal(self, agent: str, made_from: Sequence[str]) -> Journal:
        rows = dump([row_to_plain(row) for row in self.rows])
        parts = (self._catalog.fingerprint, rows, str(self._seed), self._scorer.rules.model_dump_json(), *made_from)
        return Journal(journal_path(f"rows_{self._name}", agent, parts), "row")

    def _in_order(self, agent: str, journal: Journal) -> list[ScoredEpisode]:
        self.took[agent] = journal.took
        return [episode_from_row(journal.rows[row.id]) for row in self.rows]


def _masked(plain: dict[str, Any]) -> bool:
    return episode_from_row(plain).reward.masked
