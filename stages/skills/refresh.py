"""A library brought up to date with newly seen trajectories, its prototypes under their old ids.

The data's descriptions are clustered anew together with those of the new trajectories; the clusters take the ids of
the old prototypes whose centroids they match best (the Hungarian method on cosines). A refresh replaces what the one
before it had added, so the library follows the policy, and the same trajectories twice change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from stages.skills.embed import Vectors, centroid, embedder_for
from stages.skills.facts import Facts
from stages.skills.library import Library, Prototype, fitted, prototype_id, tallied
from stages.skills.router import LEAST_COSINE
from stages.skills.tally import added
from stages.skills.trajectories import Trajectory


def refreshed(library: Library, trajectories: Iterable[Trajectory], facts: Facts) -> Library:
    """The library of its dataset and these trajectories; the one given is not changed."""
    seen = tallied(trajectories, facts)
    tallies = added(library.base, seen)
    methods, prototypes = fitted(tallies, library.settings)
    embed = embedder_for(library.settings.embedder, sorted(tallies))

    def centroids(of: Sequence[Prototype]) -> Vectors:
        return np.stack([centroid(embed(prototype.members)) for prototype in of])

    same_skill = np.array([[old.skill == new.skill for new in prototypes] for old in library.prototypes])
    kept = _matches(np.where(same_skill, centroids(library.prototypes) @ centroids(prototypes).T, 0))
    number, named = library.next_id, []
    for index, prototype in enumerate(prototypes):
        if index in kept:
            id = library.prototypes[kept[index]].id
        else:
            id, number = prototype_id(number), number + 1
        named.append(replace(prototype, id=id))
    named.sort(key=lambda prototype: prototype.id)
    return Library(library.settings, methods, number, tuple(named), library.base, seen)


def _matches(cosines: Vectors) -> dict[int, int]:
    """For each new centroid that has one, its old one; pairs below the router's threshold are none."""
    optimize: Any = import_module("scipy.optimize")
    old, new = optimize.linear_sum_assignment(np.round(cosines, 6), maximize=True)
    return {int(n): int(o) for o, n in zip(old, new, strict=True) if cosines[o, n] >= LEAST_COSINE}
