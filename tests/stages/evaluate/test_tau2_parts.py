"""Arithmetic, prompts and pass^k: the parts of τ²-bench that need no environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.evaluate.benchmark import Score, TaskResult
from stages.evaluate.tau2.arithmetic import calculate
from stages.evaluate.tau2.prompts import read_prompts
from stages.evaluate.tau2.trials import PassHat, pass_hat_k, score_track
from stages.records import EpisodeRecord


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 + 2", "4.0"),
        (" 10 / 4 ", "2.5"),
        ("7 // 2 - -1", "4.0"),
        ("(1 + 2) * 3.505", "10.52"),
        ("2 ** 10", "1024.0"),
        ("4 ** -1", "0.25"),
        ("+5", "5.0"),
        ("1 / 3", "0.33"),
    ],
)
def test_known_values(expression: str, value: str) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    ["", "2(3)", "()", "1.2.3", "1 2", "__import__('os')", "a", "1, 2", "1 / 0", "9**9**9", "(-8) ** .5", "(" * 300],
)
def test_what_is_no_arithmetic_is_an_error(expression: str) -> None:
    with pytest.raises(Exception) as caught:
        calculate(expression)
    assert isinstance(caught.value, ValueError | SyntaxError | ArithmeticError | TypeError | MemoryError)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@given(st.text("0123456789+-*/(). ", max_size=9).filter(lambda text: "**" not in text))
def test_every_short_text_gives_what_python_gives(text: str) -> None:
    try:
        expected = str(round(float(eval(text, {"__builtins__": None}, {})), 2))
    except Exception:  # noqa: BLE001 - any error is to be an error
        expected = None
    try:
        found = calculate(text)
    except Exception:  # noqa: BLE001
        found = None
    assert found == expected


def test_prompts_are_taken_from_source_without_running_it(tmp_path: Path) -> None:
    for folder in ("agent", "user", "orchestrator"):
        (tmp_path / folder).mkdir()
    agent = tmp_path / "agent" / "llm_agent.py"
    agent.write_text(
        'raise SystemExit("run")\n'
        'AGENT_INSTRUCTION = """\nhelp\n""".strip()\n'
        'SYSTEM_PROMPT = "<i>{agent_instruction}</i> {domain_policy}"\n'
        'AGENT_SOLO_INSTRUCTION = "call {stop_function_name}"\n'
        'SYSTEM_PROMPT_SOLO = "{agent_instruction} | {domain_policy} | {ticket}"\n'
        'class A:\n    def f(self):\n        def done():\n            """Stop."""\n'
    )
    (tmp_path / "user" / "user_simulator.py").write_text(
        'SYSTEM_PROMPT = "{global_user_sim_guidelines} {instructions}"\n'
    )
    (tmp_path / "orchestrator" / "orchestrator.py").write_text(
        'DEFAULT_FIRST_AGENT_MESSAGE = Message(role="assistant", content="Hello")\n'
    )
    prompts = read_prompts(tmp_path, "done")
    assert prompts.for_agent("be {kind}") == "<i>help</i> be {kind}"
    assert prompts.for_solo("rules", "{no} ticket") == "call done | rules | {no} ticket"
    assert prompts.for_user("guide", "story") == "guide story"
    assert (prompts.greeting, prompts.done) == ("Hello", "Stop.")
    agent.write_text("AGENT_INSTRUCTION = 1\n")
    with pytest.raises(ValueError, match="no text AGENT_SOLO_INSTRUCTION: install the version"):
        read_prompts(tmp_path, "done")


@pytest.mark.parametrize(
    ("passed", "trials", "k", "value"),
    [
        (4, 4, 4, 1.0),
        (3, 4, 1, 0.75),
        (3, 4, 2, 0.5),
        (3, 4, 3, 0.25),
        (3, 4, 4, 0.0),
        (0, 4, 1, 0.0),
        (5, 8, 3, 10 / 56),
    ],
)
def test_pass_hat_k_by_hand(passed: int, trials: int, k: int, value: float) -> None:
    assert pass_hat_k(passed, trials, k) == pytest.approx(value)


@pytest.mark.parametrize(("passed", "trials", "k"), [(1, 2, 3), (3, 2, 1), (1, 2, 0), (-1, 2, 1)])
def test_pass_hat_k_needs_its_trials(passed: int, trials: int, k: int) -> None:
    with pytest.raises(ValueError, match="make at least k trials"):
        pass_hat_k(passed, trials, k)


def row(passed: bool | None, **extra: int) -> TaskResult:
    """A trial's row; None is a masked one."""
    episode = EpisodeRecord((), (), "", "answered" if passed is not None else "infrastructure", extra)
    status = "infrastructure" if passed is None else "scored"
    return TaskResult("t", "airline", status, Score(bool(passed)), episode)  # type: ignore[arg-type]


def test_a_track_averages_over_tasks_and_counts_what_is_masked() -> None:
    rows = {
        "a": [row(True, user_requests=10), row(True), row(True), row(False)],
        "b": [row(True), row(None, user_requests=6, user_failures=3), row(None), row(False, user_format_breaks=1)],
        "c": [row(None), row(None), row(None), row(None)],
    }
    score = score_track("airline", rows, [True, False, False], seed=0)
    assert (score.tasks, score.scored, score.errors, score.masked) == (3, 6, 0, 6)
    assert score.rate == pytest.approx((0.75 + 0.5) / 2)
    assert score.pass_hat == (PassHat(1, 0.625, 2), PassHat(2, 0.25, 2), PassHat(3, 0.25, 1), PassHat(4, 0.0, 1))
    assert score.do_nothing == pytest.approx(1 / 3)
    assert score.user.error_rate == pytest.approx(4 / 16)
    assert score.interval is not None and score.interval.low <= score.rate <= score.interval.high


def test_a_track_of_failures_still_has_a_wide_interval() -> None:
    score = score_track("retail", {str(n): [row(False)] * 4 for n in range(10)}, [False] * 10, seed=0)
    assert score.rate == 0 and score.interval is not None and score.interval.high > 0.25
    assert score.user.error_rate is None


def test_a_track_that_is_all_masked_has_no_rate() -> None:
    score = score_track("retail", {"a": [row(None)]}, [False], seed=0)
    assert (score.rate, score.interval, score.pass_hat, score.masked) == (None, None, (), 1)
