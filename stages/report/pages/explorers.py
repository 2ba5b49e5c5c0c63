"""All explorers: their data beside them, under `viewer/`, and the pages themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stages.report.inputs import Inputs
from stages.report.page import fill
from stages.report.pages.dataset import write_conversations
from stages.report.pages.graph import graph_data
from stages.report.pages.traffic import arcs, boxes
from stages.report.pages.trajectories import write_trajectories
from stages.report.viewer.shards import as_script

EXPLORERS: Mapping[str, str] = {
    "trajectories.html": "Trajectories",
    "dataset.html": "Conversations",
    "graph.html": "Tool graph",
}
"""Addresses and titles."""

TRAJECTORIES = (
    "Choose an episode on the left. Its calls stand with their arguments and where each value comes from, what the "
    "tool answered, what it changed, and how the reward came about.",
)
CONVERSATIONS = ("Choose a conversation on the left. Rejected ones say why.",)


def build_explorers(inputs: Inputs, scratch: Path, name: str, subtitle: str, home: str) -> dict[str, str]:
    """Write the data of all explorers into a directory and return the pages by their address.

    Args:
        inputs: the artefacts at hand.
        scratch: the directory, which the pages will know as `name`.
        name: its name beside the pages.
        subtitle: what the run is.
        home: the title of the report, which the pages link to.

    Raises:
        ArtifactError: an input is missing, damaged or of another shape.
    """
    played = write_trajectories(inputs, scratch / "trajectories")
    talked, traffic = write_conversations(inputs, scratch / "conversations")
    common = {"subtitle": subtitle}

    def links(page: str) -> Sequence[tuple[str, str]]:
        others = [(address, title) for address, title in EXPLORERS.items() if address != page]
        return [("index.html", home), *others]

    return {
        "trajectories.html": fill(
            "viewer.html",
            **common,
            title=EXPLORERS["trajectories.html"],
            links=links("trajectories.html"),
            header=as_script({"root": f"{name}/trajectories", **played}),
            notes=TRAJECTORIES if played["count"] else ("No episode is on record.",),
            arcs=(),
            boxes=(),
        ),
        "dataset.html": fill(
            "viewer.html",
            **common,
            title=EXPLORERS["dataset.html"],
            links=links("dataset.html"),
            header=as_script({"root": f"{name}/conversations", **talked}),
            notes=CONVERSATIONS,
            arcs=arcs(traffic),
            boxes=boxes(),
        ),
        "graph.html": fill(
            "graph.html",
            **common,
            title=EXPLORERS["graph.html"],
            links=links("graph.html"),
            header=as_script(graph_data(inputs)),
        ),
    }
