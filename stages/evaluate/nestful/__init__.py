"""NESTFUL: sequences of calls in which one call's result is the next one's argument.

The 300 sequences of the benchmark's first version (Basu et al. 2024, arXiv 2409.03797v1; Apache-2.0) come
as the package `nestful-wrapper` 0.1.7, data inside: 85 over web APIs, 169 from Glaive and 46 from SGD.
The agent answers once with the whole sequence, and writes a result that it needs as a variable. None of
it runs: the functions are remote services or have no implementation at all, so there is no win rate.

    data.py      tasks and tools from the package's files
    scoring.py   calls as text, their alignment, partial and full sequence accuracy
    metrics.py   the figures of the paper over a whole run, the two macro F1 among them
    adapter.py   the benchmark: playing, scoring, controls
"""

from __future__ import annotations

from stages.evaluate.nestful.adapter import Nestful
from stages.evaluate.nestful.metrics import figures

__all__ = ["Nestful", "figures"]
