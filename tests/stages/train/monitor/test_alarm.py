"""The detector on made-up series."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pydantic import ValidationError

from stages.train.monitor.alarm import KL_FLOOR, Alarm, Detector, MonitorConfig


def step_of(malformed: float = 0.0, kl: float | None = None) -> dict[str, float]:
    figures = {"forms/polluted": malformed / 2, "forms/collapsed": malformed / 2, "reward": 1.0}
    return figures if kl is None else {**figures, "control_kl": kl}


def observed(series: Iterable[dict[str, float]], config: MonitorConfig | None = None) -> list[Alarm]:
    detector = Detector(config or MonitorConfig())
    return [alarm for step, figures in enumerate(series, 1) if (alarm := detector.observe(step, figures))]


GOOD, BAD = step_of(0.05), step_of(0.12)


def test_malformed_replies_need_patience() -> None:
    assert observed([GOOD, BAD, BAD, GOOD, BAD, BAD, GOOD]) == []
    (alarm,) = observed([GOOD, BAD, GOOD, BAD, BAD, BAD, GOOD])
    assert (alarm.step, alarm.since) == (6, 4)
    assert alarm.reason == "polluted and collapsed replies are 0.12 of all, over 0.05"
    assert observed([BAD], MonitorConfig(patience=1))[0].step == 1
    assert observed([step_of(0.3)] * 9, MonitorConfig(malformed=0.3)) == []


def test_it_is_raised_again_after_as_many_more() -> None:
    assert [(a.step, a.since) for a in observed([GOOD, *[BAD] * 7])] == [(4, 2), (7, 2)]


def test_a_divergence_is_judged_by_the_median_of_healthy_steps() -> None:
    usual = [step_of(kl=kl) for kl in (0.02, 0.03, 0.04)]
    spike = step_of(kl=0.31)
    assert observed([*usual, spike, spike]) == []
    (alarm,) = observed([*usual, *[spike] * 5])  # the spikes never become the usual
    assert (alarm.step, alarm.since) == (6, 4)
    assert alarm.reason == "KL on control tokens is 0.31 nats, over 10 times its usual 0.03"
    assert observed([*usual, *[step_of(kl=0.3)] * 5]) == []
    assert observed([spike] * 5) == []  # nothing to compare it with


def test_other_text_is_judged_by_a_median_of_its_own() -> None:
    usual, far = ({**step_of(kl=0.5), "text_kl": text} for text in (0.02, 0.21))
    (alarm,) = observed([usual, *[far] * 3])
    assert alarm.reason == "KL on text is 0.21 nats, over 10 times its usual 0.02"


def test_the_median_runs_with_the_window_and_skips_unhealthy_steps() -> None:
    config = MonitorConfig(window=3, patience=1)
    rising = [step_of(kl=kl) for kl in (0.02, 0.02, 0.02, 0.1, 0.1, 0.9)]
    assert observed(rising, config) == []
    assert [a.step for a in observed(rising, MonitorConfig(patience=1))] == [6]
    malformed = [step_of(0.5, kl=9.0)] * 6
    assert "KL" in observed([*rising[:3], *malformed], config)[-1].reason


def test_a_median_of_nothing_makes_no_alarm_of_anything() -> None:
    still = [step_of(kl=0.0)] * 5
    assert observed([*still, *[step_of(kl=10 * KL_FLOOR)] * 5]) == []
    assert len(observed([*still, *[step_of(kl=11 * KL_FLOOR)] * 3])) == 1


def test_calls_that_vanish_are_an_alarm_though_the_prose_is_healthy() -> None:
    usual, few, none = ({**GOOD, "control/open": calls} for calls in (0.8, 0.2, 0.0))
    assert observed([usual, usual, *[few] * 9]) == []
    (alarm,) = observed([usual, usual, *[none] * 3])
    assert (alarm.step, alarm.since) == (5, 3)
    assert alarm.reason == "calls per reply are 0, under 0.1 of their usual 0.8"
    assert observed([none] * 9) == [], "a policy that never called has lost nothing"


def test_both_reasons_are_told() -> None:
    (alarm,) = observed([*[step_of(kl=0.02)] * 3, *[step_of(1.0, kl=0.5)] * 3])
    assert alarm.reason.startswith("polluted") and "; KL on control tokens is 0.5 nats" in alarm.reason


def test_a_step_without_figures_changes_nothing() -> None:
    detector = Detector(MonitorConfig())
    for step, figures in enumerate([BAD, BAD, {"reward": 0.0}], 1):
        assert detector.observe(step, figures) is None
    assert detector.unhealthy
    assert detector.observe(4, BAD) == Alarm(4, "polluted and collapsed replies are 0.12 of all, over 0.05", 1)
    assert detector.observe(5, {"control_kl": 0.1}) is None
    assert not detector.unhealthy


def test_a_detector_is_rebuilt_from_the_log() -> None:
    series = [*[step_of(kl=0.02)] * 4, step_of(kl=0.5), BAD, BAD, GOOD, *[step_of(kl=0.4)] * 4]
    whole = Detector(MonitorConfig())
    told = [(whole.observe(step, figures), whole.unhealthy) for step, figures in enumerate(series, 1)]
    for killed in range(len(series)):
        resumed = Detector(MonitorConfig())
        for step, figures in enumerate(series[:killed], 1):
            resumed.observe(step, figures)
        again = [(resumed.observe(s, f), resumed.unhealthy) for s, f in enumerate(series[killed:], killed + 1)]
        assert again == told[killed:]
    assert [alarm.step for alarm, _ in told if alarm] == [7, 11]


BAD_SETTINGS = [
    {"patience": 0}, {"kl_factor": 1}, {"malformed": 2}, {"window": 0}, {"vanished": 1}, {"patient": 3},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD_SETTINGS)
def test_settings_that_make_no_sense_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        MonitorConfig.model_validate(bad)
