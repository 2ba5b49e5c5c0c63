"""The page's sections, one file each, in the order of the page. A new section is a file and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from stages.artifacts import ArtifactError
from stages.report.blocks import Block
from stages.report.inputs import Inputs
from stages.report.page import Section
from stages.report.plots import Plotter
from stages.report.sections import (
    benchmarks,
    collapse,
    dataset,
    episodes,
    graph,
    rewards,
    run,
    servers,
    synthesis,
    training,
)

Builder: TypeAlias = Callable[[Inputs, Plotter], Sequence[Block]]

SECTIONS: dict[str, tuple[str, Builder]] = {
    "run": ("The run", run.build),
    "rewards": ("Held-out rows", rewards.build),
    "training": ("Training", training.build),
    "collapse": ("Collapse", collapse.build),
    "benchmarks": ("Benchmarks", benchmarks.build),
    "servers": ("Servers and tools", servers.build),
    "graph": ("Tool graph", graph.build),
    "synthesis": ("Conversations", synthesis.build),
    "dataset": ("Dataset", dataset.build),
    "episodes": ("Sample episodes", episodes.build),
}


def build_sections(inputs: Inputs, plots: Plotter) -> list[Section]:
    """All sections.

    Raises:
        ArtifactError: an input is missing, damaged or of another shape; says which section wanted it.
    """
    sections = []
    for key, (title, build) in SECTIONS.items():
        try:
            sections.append(Section(key, title, build(inputs, plots)))
        except (KeyError, TypeError) as error:
            raise ArtifactError(
                f"section {key!r}: its input is of another shape ({type(error).__name__}: {error}): run its stage again"
            ) from error
    return sections
