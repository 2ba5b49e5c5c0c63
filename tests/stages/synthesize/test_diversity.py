"""Measures of diversity, on texts whose values are known."""

from __future__ import annotations

import pytest

from stages.synthesize.diversity import distinct, self_bleu, text_diversity, words


def test_distinct_is_the_share_of_different_n_grams() -> None:
    texts = [["a", "b", "a"], ["a", "b"]]
    assert distinct(texts, 1) == pytest.approx(2 / 5)
    assert distinct(texts, 2) == pytest.approx(2 / 3)
    assert distinct(texts, 4) == 0.0


def test_self_bleu_is_one_for_repeats_and_low_for_strangers() -> None:
    assert self_bleu([["a", "b", "c", "d", "e"]] * 3) == pytest.approx(1.0)
    assert self_bleu([["a", "b", "c", "d"], ["e", "f", "g", "h"]]) == 0.0
    assert self_bleu([["a", "b"]]) == 0.0


def test_self_bleu_of_two_texts_by_hand() -> None:
    """Unigrams 3/4, smoothed bigrams (2+1)/(3+1), trigrams (1+1)/(2+1), 4-grams (0+1)/(1+1); equal lengths."""
    value = (3 / 4 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25
    assert self_bleu([["a", "b", "c", "x"], ["a", "b", "c", "y"]]) == pytest.approx(value)


def test_a_count_that_only_one_text_has_is_clipped_by_the_others() -> None:
    repeated, once = ["a", "a", "a", "a"], ["a", "b", "c", "d"]
    assert self_bleu([repeated, once]) < self_bleu([repeated, repeated])


def test_a_sample_is_seeded_and_bounded() -> None:
    texts = [f"Move {n} to account {n % 7}." for n in range(100)]
    figures = text_diversity(texts, 3, sample=40)
    assert figures["texts"] == 40 and figures == text_diversity(texts, 3, sample=40)
    assert figures["words"] == pytest.approx(6.0)
    assert 0 < figures["distinct_1"] < figures["distinct_3"] <= 1 and 0 < figures["self_bleu"] < 1
    assert text_diversity([], 3) == {
        "texts": 0, "words": 0.0, "distinct_1": 0.0, "distinct_2": 0.0, "distinct_3": 0.0, "self_bleu": 0.0,
    }  # fmt: skip


def test_words_are_casefolded_and_punctuation_counts() -> None:
    assert words("Pay 25.5, now!") == ["pay", "25", ".", "5", ",", "now", "!"]
