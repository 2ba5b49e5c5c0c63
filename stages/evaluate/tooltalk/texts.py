"""How ToolTalk's free texts (names, subjects, bodies) are compared.

Officially two texts match if the cosine of their DistilBERT vectors reaches a tool's threshold, 0.8 or
0.9. The weights (`distilbert-base-uncased`) are in no package: give their directory to compare that way.
Without it texts must be equal but for case and spacing. That is stricter, so scores are a lower bound,
and the two kinds don't compare; a result names the kind it stands on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stages.evaluate.benchmark import BenchmarkUnavailableError

_BYTES = 256


class TextVectors(Protocol):
    """Turns texts into vectors whose cosines the official comparisons judge."""

    @property
    def name(self) -> str:
        """What a result calls this kind of comparison."""

    def __call__(self, text: str) -> NDArray[np.floating]:
        """The vector of a text, shape (any,)."""


class EqualTexts:
    """Equal texts get the same vector, any other two get unrelated ones, by hashing."""

    name = "equal but for case and spacing"

    def __call__(self, text: str) -> NDArray[np.floating]:
        """Shape (256,); the cosine of unrelated ones is 0, with a standard deviation of 1/16."""
        plain = " ".join(text.casefold().split()).encode("utf-8", "surrogatepass")
        return np.frombuffer(hashlib.shake_256(plain).digest(_BYTES), dtype=np.uint8).astype(np.float64) - 127.5


class DistilBertTexts:
    """The official vectors, by the package's own vectoriser.

    Raises:
        BenchmarkUnavailableError: the directory holds no usable model.
    """

    def __init__(self, directory: Path) -> None:
        if not (directory / "config.json").is_file():
            raise BenchmarkUnavailableError(
                f"{directory} holds no model (no config.json): give the directory of distilbert-base-uncased, "
                "or none to compare texts as equal"
            )
        self.name = f"by the model in {directory.name}"
        utils: Any = import_module("tooltalk.apis.utils")
        try:
            self._vectors = utils.HFVectorizer(str(directory))
        except (OSError, ValueError) as problem:
            raise BenchmarkUnavailableError(f"{directory} holds no usable DistilBERT model: {problem}") from problem

    def __call__(self, text: str) -> NDArray[np.floating]:
        """Shape (768,): the first token's last hidden state."""
        vector: NDArray[np.floating] = self._vectors(text)
        return vector


@contextmanager
def compared_by(vectors: TextVectors) -> Iterator[None]:
    """Let the official comparisons use these vectors, and put back what they used before."""
    utils: Any = import_module("tooltalk.apis.utils")
    before = utils._vectorize_text
    utils._vectorize_text = vectors
    try:
        yield
    finally:
        utils._vectorize_text = before
