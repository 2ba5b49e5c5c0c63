"""How varied texts are: distinct-n, and self-BLEU, as pure functions over any texts.

Distinct-n is the share of different n-grams among all (Li et al. 2016, "A Diversity-Promoting Objective Function
for Neural Conversation Models"); it falls with the number of texts, so compare samples of one size. Self-BLEU is
the mean BLEU-4 of each text against the others of its sample (Zhu et al. 2018, "Texygen"): lower is more varied.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from servers.kernel.dice import Dice

Gram: TypeAlias = tuple[str, ...]

ORDERS = (1, 2, 3)
BLEU_ORDER = 4
SAMPLE = 300
"""Texts that are compared, at most."""

_WORD = re.compile(r"\w+|[^\w\s]")


def text_diversity(texts: Sequence[str], seed: int, sample: int = SAMPLE) -> dict[str, float]:
    """Measures of a seeded sample of texts.

    Args:
        texts: what is measured; two samples are comparable only if they are of one size.
        seed: of the sample.
        sample: most texts that are taken.

    Returns:
        `texts` (how many were measured), `words` (mean number in a text, punctuation marks counted), `distinct_1`
        to `distinct_3` and `self_bleu`, all 0 where there is nothing to measure.
    """
    chosen = [words(text) for text in Dice(seed, "diversity").sample(texts, sample)]
    mean = sum(map(len, chosen)) / len(chosen) if chosen else 0.0
    figures = {f"distinct_{n}": round(distinct(chosen, n), 4) for n in ORDERS}
    return {"texts": len(chosen), "words": round(mean, 2), **figures, "self_bleu": round(self_bleu(chosen), 4)}


def words(text: str) -> list[str]:
    """Casefolded words and punctuation marks."""
    return _WORD.findall(text.casefold())


def distinct(texts: Sequence[Sequence[str]], n: int) -> float:
    """Different n-grams over all n-grams."""
    found = [gram for text in texts for gram in _grams(text, n)]
    return len(set(found)) / len(found) if found else 0.0


def self_bleu(texts: Sequence[Sequence[str]]) -> float:
    """Mean BLEU-4 of each text against all others, with one added to the counts of higher orders.

    The smoothing is that of Lin and Och 2004; the brevity penalty takes the reference of the nearest length.
    """
    whole = [text for text in texts if text]
    if len(whole) < 2:
        return 0.0
    most = [_two_highest(whole, n) for n in range(1, BLEU_ORDER + 1)]
    lengths = Counter(map(len, whole))
    return sum(_bleu(text, most, lengths) for text in whole) / len(whole)


def _grams(text: Sequence[str], n: int) -> list[Gram]:
    return [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]


def _two_highest(texts: Sequence[Sequence[str]], n: int) -> dict[Gram, tuple[int, int]]:
    """For each n-gram, its highest count in a text and the highest in another one."""
    found: dict[Gram, tuple[int, int]] = {}
    for text in texts:
        for gram, count in Counter(_grams(text, n)).items():
            first, second = found.get(gram, (0, 0))
            found[gram] = (max(first, count), max(second, min(first, count)))
    return found


def _bleu(text: Sequence[str], most: Sequence[dict[Gram, tuple[int, int]]], lengths: Counter[int]) -> float:
    logs = 0.0
    for n, highest in enumerate(most, start=1):
        own = Counter(_grams(text, n))
        clipped = sum(min(count, highest[gram][count == highest[gram][0]]) for gram, count in own.items())
        added = int(n > 1)
        precision = (clipped + added) / (sum(own.values()) + added) if own or added else 0.0
        if not precision:
            return 0.0
        logs += math.log(precision) / BLEU_ORDER
    others = lengths - Counter([len(text)])
    nearest = min(others, key=lambda length: (abs(length - len(text)), length))
    return math.exp(logs + min(0.0, 1 - nearest / len(text)))
