"""What an operator sees, in Prometheus' text format.

Labels are names of servers and words of closed lists. Nothing that a model wrote, no handle and no token
ever becomes a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from servers.kernel.pool import SessionPool

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """The counters of one process.

    Args:
        pool: whose sessions are counted; None for a process that has none.
    """

    def __init__(self, pool: SessionPool | None = None) -> None:
        self._registry = CollectorRegistry()
        self._refused = Counter(
            "prove_refused", "Requests refused at the gate, by reason", ["reason"], registry=self._registry
        )
        if pool is not None:
            self._registry.register(_Sessions(pool))
            self._calls = Counter(
                "prove_calls", "Tool calls, by server and outcome", ["server", "outcome"], registry=self._registry
            )
            self._seconds = Histogram(
                "prove_call_seconds",
                "Seconds from a call's arrival to its outcome",
                ["server"],
                buckets=_BUCKETS,
                registry=self._registry,
            )

    def refused(self, reason: str) -> None:
        """Count a request that was not let through."""
        self._refused.labels(reason).inc()

    def called(self, server: str, outcome: str, seconds: float) -> None:
        """Count a call."""
        self._calls.labels(server, outcome).inc()
        self._seconds.labels(server).observe(seconds)

    def text(self) -> bytes:
        """The page that Prometheus reads."""
        return generate_latest(self._registry)


def merged(own: bytes, workers: Iterable[tuple[int, str]]) -> bytes:
    """One page out of the front's and its workers' pages; each worker's samples carry its number."""
    families = {family.name: family for family in text_string_to_metric_families(own.decode())}
    for number, page in workers:
        for family in text_string_to_metric_families(page):
            target = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                target.add_sample(sample.name, {**sample.labels, "worker": str(number)}, sample.value)
    registry = CollectorRegistry()
    registry.register(_Fixed(families.values()))
    return generate_latest(registry)


class _Sessions(Collector):
    def __init__(self, pool: SessionPool) -> None:
        self._pool = pool

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("prove_sessions_open", "Sessions open now", value=len(self._pool))
        family = CounterMetricFamily("prove_sessions", "Sessions, by what became of them", labels=["event"])
        for event, count in self._pool.events.items():
            family.add_metric([event], count)
        yield family


class _Fixed(Collector):
    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterator[Metric]:
        yield from self._families
