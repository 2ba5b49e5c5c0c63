from __future__ import annotations

import pytest

from stages.evaluate.statistics import bootstrap_mean, paired_difference, wilson, wilson_mean


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_gives_the_published_values(successes: int, total: int, low: float, high: float) -> None:
    # 81 of 263 is the worked example of Newcombe (1998), method 3
    assert wilson(successes, total) == pytest.approx((low, high), abs=5e-5)


def test_wilson_narrows_with_less_confidence() -> None:
    wide, narrow = wilson(30, 100, 0.99), wilson(30, 100, 0.8)
    assert wide.low < narrow.low < 0.3 < narrow.high < wide.high


@pytest.mark.parametrize(("successes", "total"), [(0, 0), (3, 2), (-1, 4)])
def test_wilson_refuses_what_is_no_rate(successes: int, total: int) -> None:
    with pytest.raises(ValueError, match="not a rate"):
        wilson(successes, total)


def test_the_mean_of_one_rate_is_that_rate() -> None:
    assert wilson_mean([(7, 40)]) == pytest.approx(wilson(7, 40))


def test_the_mean_of_four_rates_is_tighter_than_one_and_stays_within_bounds() -> None:
    one, four = wilson(20, 200), wilson_mean([(20, 200)] * 4)
    assert one.low < four.low < 0.1 < four.high < one.high
    floor = wilson_mean([(0, 200)] * 4)
    assert floor.low == 0.0
    assert 0.0 < floor.high < wilson(0, 200).high


def test_wilson_mean_refuses_an_empty_rate() -> None:
    with pytest.raises(ValueError, match="not a rate"):
        wilson_mean([(1, 2), (0, 0)])
    with pytest.raises(ValueError, match="no rates"):
        wilson_mean([])


def test_bootstrap_is_the_same_everywhere() -> None:
    values = [0.0] * 60 + [1.0] * 40
    assert bootstrap_mean(values, seed=7) == bootstrap_mean(values, seed=7) == (0.31, 0.5)


def test_bootstrap_of_a_constant_is_a_point() -> None:
    assert bootstrap_mean([0.25] * 9, seed=1) == (0.25, 0.25)


def test_bootstrap_comes_near_the_normal_interval() -> None:
    values = [float(index % 10) for index in range(1000)]
    low, high = bootstrap_mean(values, seed=3)
    half = 1.96 * 2.8723 / 1000**0.5
    assert (low, high) == pytest.approx((4.5 - half, 4.5 + half), abs=0.02)


@pytest.mark.parametrize("values", [[], [float("nan")], [1.0, float("inf")]])
def test_bootstrap_refuses_what_has_no_mean(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean(values, seed=0)


def test_pairing_sees_a_small_steady_gain_that_spread_would_hide() -> None:
    first = {f"t{index}": index + 0.1 for index in range(50)}
    second = {f"t{index}": float(index) for index in reversed(range(50))}
    difference = paired_difference(first, second, seed=5)
    assert difference.tasks == 50
    assert difference.mean == pytest.approx(0.1)
    assert (difference.low, difference.high) == pytest.approx((0.1, 0.1))


def test_pairing_names_the_tasks_that_stand_alone() -> None:
    with pytest.raises(ValueError, match=r"2 stand on one side only, such as \['a', 'c'\]"):
        paired_difference({"a": 1.0, "b": 1.0}, {"b": 1.0, "c": 0.0}, seed=0)
