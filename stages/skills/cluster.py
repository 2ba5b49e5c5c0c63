"""Clusters of the descriptions of one skill: HDBSCAN, or K-means where over 40 % would be noise.

The hierarchy's top level is the skill, so that a prototype has one checklist; below it HDBSCAN finds the groups. A
skill with fewer descriptions than make a cluster is one group. Each distinct description counts once: what recurs a
thousand times would be a cluster of its own at distance 0, and tell nothing of what it has in common with others.
K = √n / 2. [D] throughout: the paper names HDBSCAN alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple, TypeAlias

from stages.skills.embed import Vectors

Method: TypeAlias = Literal["hdbscan", "kmeans", "single"]

MOST_NOISE = 0.4
"""Share of noise above which K-means takes over."""


class Clusters(NamedTuple):
    """A label for each row, -1 for noise; how they were found; and the share that HDBSCAN left as noise."""

    labels: Sequence[int]
    method: Method
    noise: float


def clusters_of(vectors: Vectors, min_cluster_size: int, seed: int) -> Clusters:
    """Cluster rows of length 1, shape (n, dimensions).

    Args:
        vectors: the rows.
        min_cluster_size: rows that make a cluster.
        seed: of K-means.
    """
    count = len(vectors)
    if count < min_cluster_size:
        return Clusters([0] * count, "single", 0.0)
    cluster: Any = import_module("sklearn.cluster")
    labels = cluster.HDBSCAN(min_cluster_size=min_cluster_size, copy=True).fit_predict(vectors)
    noise = float((labels < 0).mean())
    if noise <= MOST_NOISE:
        return Clusters([int(label) for label in labels], "hdbscan", noise)
    k = max(1, round(math.sqrt(count) / 2))
    labels = cluster.KMeans(n_clusters=k, n_init=10, random_state=seed % 2**32).fit_predict(vectors)
    return Clusters([int(label) for label in labels], "kmeans", noise)
