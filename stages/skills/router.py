"""From a subgoal's description to a prototype: the nearest by cosine, or a classifier's choice; below .5 none.

What is like no prototype is judged by the generic rubric. Routes are kept by description, of which there are few, so
that routing costs nothing inside the reward.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from stages.skills.checks import GENERIC
from stages.skills.decompose import SEPARATOR, SKILLS
from stages.skills.embed import centroid, embedder_for
from stages.skills.library import Library

LEAST_COSINE = 0.5
"""Below it the generic rubric judges [D]."""


class Route(NamedTuple):
    """The prototype ("" for none) and the items to check."""

    prototype: str
    checklist: tuple[str, ...]


NOWHERE = Route("", GENERIC)


class Router:
    """Routes descriptions to the prototypes of `library`, each among those of its skill."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._prototypes = library.prototypes
        self._phrases = [SKILLS[prototype.skill] for prototype in library.prototypes]
        self._embed = embedder_for(library.settings.embedder, library.corpus)
        parts = [self._embed(prototype.members) for prototype in library.prototypes]
        self._centroids = np.stack([centroid(part) for part in parts])
        self._classifier: Any = None
        if library.settings.router == "classifier" and len(parts) > 1:
            linear: Any = import_module("sklearn.linear_model")
            labels = [index for index, part in enumerate(parts) for _ in part]
            self._classifier = linear.LogisticRegression(max_iter=1000).fit(np.concatenate(parts), labels)
        self._routes: dict[str, Route] = {}

    def __call__(self, text: str) -> Route:
        """The route of a description."""
        if text not in self._routes:
            self._routes[text] = self._route(text)
        return self._routes[text]

    def _route(self, text: str) -> Route:
        skill = text.partition(SEPARATOR)[0]
        own = [index for index, phrase in enumerate(self._phrases) if phrase == skill]
        if not own:
            return NOWHERE
        vector = self._embed([text])
        cosines = np.round(self._centroids @ vector[0], 6)
        liking = self._classifier.predict_proba(vector)[0] if self._classifier else cosines
        best = max(own, key=lambda index: (liking[index], -index))
        if cosines[best] < LEAST_COSINE:
            return NOWHERE
        return Route(self._prototypes[best].id, self._prototypes[best].checklist)
