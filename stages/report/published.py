"""Published figures, as their papers print them: a yardstick to read ours by, never a row among ours.

Their tasks, prompts, decoding and samples are not this run's.
"""

from __future__ import annotations

from dataclasses import dataclass

from stages.report.blocks import Cell


@dataclass(frozen=True, slots=True)
class Reference:
    """A table of a paper: where it stands, what to mind, and its rows."""

    source: str
    mind: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


PROVE = "Synthesize and Reward, arXiv 2606.03892v2"

PUBLISHED: tuple[Reference, ...] = (
    Reference(
        f"{PROVE}: main results",
        "One seed, 200 BFCL tasks a category: a difference in BFCL has a standard error near 2.1, in τ² near 4.",
        ("model", "BFCL multi-turn", "τ² mean", "T-Eval"),
        (
            ("Qwen3-4B", 18.8, 25.0, 76.7),
            ("Qwen3-4B + PROVE", 29.0, 28.6, 78.2),
            ("Qwen3-8B", 26.0, 25.8, 78.8),
            ("Qwen3-8B + PROVE", 26.9, 29.3, 80.7),
            ("Qwen2.5-7B", 13.1, 15.0, 66.9),
            ("Qwen2.5-7B + PROVE", 16.8, 21.8, 73.4),
            ("Granite-4.1-8B", 33.4, 24.9, 73.5),
            ("Granite-4.1-8B + PROVE", 33.5, 31.3, 77.9),
            ("Qwen3-8B, SFT", 22.4, 11.5, 76.3),
            ("Qwen2.5-7B, SFT", 22.5, 15.2, 72.2),
            ("Granite-4.1-8B, SFT", 29.0, 19.6, 75.2),
        ),
    ),
    Reference(
        f"{PROVE}: Qwen3-4B by category",
        "BFCL multi-turn and τ² as above.",
        ("model", "base", "miss_param", "miss_func", "long", "airline", "retail", "telecom"),
        (
            ("Qwen3-4B", 23.5, 14.5, 14.0, 23.0, 26.8, 35.1, 13.2),
            ("Qwen3-4B + PROVE", 35.5, 18.5, 29.0, 33.0, 28.0, 42.1, 15.8),
        ),
    ),
    Reference(
        f"{PROVE}: ablations on Qwen3-4B",
        "β = 0 does not remove the penalty for calls, it tightens the budget to the reference's own number.",
        ("trained with", "BFCL multi-turn", "τ² mean", "T-Eval"),
        (
            ("all of it", 29.0, 28.6, 78.2),
            ("no validity", 23.8, 30.7, 74.8),
            ("no coverage", 26.6, 29.0, 76.7),
            ("no efficiency", 25.0, 28.5, 76.5),
            ("no name", 23.0, 27.8, 75.8),
            ("no arguments", 30.6, 24.5, 77.6),
            ("β = 0", 22.4, 25.5, 78.6),
            ("SFT instead", 26.2, 19.6, 74.7),
            ("teacher Qwen3-32B", 22.6, 29.0, 76.8),
        ),
    ),
    Reference(
        "Why Multi-Step Tool-Use RL Collapses, arXiv 2606.26027: BFCL multi-turn average",
        "100 tasks a category, half of three categories was trained on; one run, a standard error near 2.",
        ("method", "Qwen2.5-1.5B", "Qwen3-1.7B"),
        (
            ("base", 3.5, 12.5),
            ("GRPO alone", 0.0, 1.5),
            ("SFT, then RL", 17.25, 0.0),
            ("OPS", 1.5, 0.0),
            ("HBG", 0.0, 0.75),
            ("ETS", 20.0, 23.25),
            ("PRS", 25.75, 19.5),
        ),
    ),
    Reference(
        "Why Multi-Step Tool-Use RL Collapses, arXiv 2606.26027: ACEBench",
        "No method beats the base model.",
        ("method", "native format", "training format"),
        (("base", 26.0, 31.6), ("PRS", 12.0, 25.8), ("ETS", 8.75, 21.6)),
    ),
    Reference(
        "SCRIBE, arXiv 2601.03555: Qwen3-4B",
        "Its BFCL column is version 4 as a whole, not the multi-turn part.",
        ("reward", "MATH500", "AIME25", "BFCL v4"),
        (("base", 89.1, 43.3, 33.0), ("PRM", 92.3, 51.7, 44.6), ("SCRIBE", 95.8, 63.3, 51.3)),
    ),
    Reference(
        "Berkeley Function Calling Leaderboard, April 2026: multi-turn",
        "Native tool calls, 800 tasks.",
        ("model", "overall", "base", "miss_func", "miss_param", "long_context"),
        (
            ("Qwen3-8B", 41.75, 50.5, 42.0, 40.0, 34.5),
            ("Qwen3-4B-2507", 22.12, None, None, None, None),
            ("Qwen3-1.7B", 11.0, None, None, None, None),
            ("Qwen3-0.6B", 3.62, None, None, None, None),
            ("Granite-4.0-350m", 2.5, None, None, None, None),
            ("Llama-3.2-1B", 0.0, None, None, None, None),
        ),
    ),
)
