"""T-Eval: tool use taken apart into six abilities, each asked for in two formats.

Instruct, plan, reason, retrieve, understand and review (Chen et al. 2024, "T-Eval: Evaluating the Tool
Utilization Capability of Large Language Models Step by Step"; Apache-2.0). The test data is in no package:
its directory is a parameter. Each task is one prompt and one answer as plain text, JSON or prose; no tool
is ever called.

    data.py         tasks from the directory's files
    reading.py      what an answer says, however it is written: objects, templates, choices
    similarity.py   sentence vectors, for plans and thoughts
    plan.py         the F1 of a plan's matched steps
    scoring.py      one rule for each ability
    gold.py         the reference answers as text, for the controls
    abilities.py    from categories to the six abilities and the overall score
    adapter.py      the benchmark: playing, scoring, controls
"""

from __future__ import annotations

from stages.evaluate.teval.abilities import abilities
from stages.evaluate.teval.adapter import Teval

__all__ = ["Teval", "abilities"]
