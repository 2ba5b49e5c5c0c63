"""The state machine as a Mermaid diagram, drawn from the table that runs it."""

from __future__ import annotations

from pathlib import Path

from stages.artifacts import ArtifactError, write_text
from stages.synthesize.machine import TABLE, State

PAGE = Path("docs") / "state-machine.md"
BEGIN, END = "<!-- drawn by python -m stages.synthesize draw -->", "<!-- end of the drawing -->"


def mermaid() -> str:
    """The diagram, one line for each pair of states."""
    joined: dict[tuple[State, State], list[str]] = {}
    for (state, event), target in TABLE.items():
        joined.setdefault((state, target), []).append(event)
    edges = [f"    {state} --> {target}: {', '.join(events)}" for (state, target), events in joined.items()]
    return "\n".join(["stateDiagram-v2", f"    [*] --> {State.QUERY}", *edges, f"    {State.END} --> [*]"])


def drawn(page: str) -> str:
    """A page with the diagram between its markers brought up to date.

    Raises:
        ArtifactError: the page lacks the markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ArtifactError(f"{PAGE} lacks the lines {BEGIN!r} and {END!r}, between which the diagram goes")
    return f"{before}{BEGIN}\n```mermaid\n{mermaid()}\n```\n{END}{after}"


def redraw(path: Path = PAGE) -> Path:
    """Bring the page's diagram up to date.

    Raises:
        ArtifactError: the page is missing or lacks the markers.
    """
    if not path.exists():
        raise ArtifactError(f"{path} is missing: run from the repository's root")
    write_text(path, drawn(path.read_text(encoding="utf-8")))
    return path
