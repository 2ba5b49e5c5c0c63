"""The state machine as a drawing, each step with the number of times that the conversations took it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from stages.conversations import Transition
from stages.report.viewer.conversations import step_name
from stages.synthesize.machine import TABLE, State

PLACES: Mapping[State, tuple[int, int]] = {
    State.QUERY: (90, 60),
    State.LLM_PROCESSING: (330, 60),
    State.TOOL_EXECUTION: (590, 60),
    State.RECOVERY: (850, 60),
    State.END: (90, 270),
    State.CONTINUATION: (330, 270),
    State.RESPONSE: (590, 270),
}
"""The middle of each state's box."""

WIDTH, HEIGHT = 150, 36
BEND = 46
"""How far the two arcs between a pair of states part."""


@dataclass(frozen=True, slots=True)
class Box:
    """A state, by the corner of its box."""

    name: str
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Step:
    """One event on an arc: its name in the filter, what is written, and whether it ever happened."""

    key: str
    text: str
    y: float
    taken: bool


@dataclass(frozen=True, slots=True)
class Arc:
    """The steps from one state to another: a curve, its width by their traffic, and where their names stand."""

    path: str
    width: float
    x: float
    steps: tuple[Step, ...]


def boxes() -> list[Box]:
    """Every state."""
    return [Box(state.value, x - WIDTH // 2, y - HEIGHT // 2) for state, (x, y) in PLACES.items()]


def arcs(traffic: Mapping[Transition, int]) -> list[Arc]:
    """One arc for each pair of states that are joined; steps that were never taken count 0."""
    joined: dict[tuple[State, State], list[tuple[str, int]]] = {}
    for (state, event), target in TABLE.items():
        count = traffic.get(Transition(state.value, event.value, target.value), 0)
        joined.setdefault((state, target), []).append((event.value, count))
    most = max((sum(n for _, n in events) for events in joined.values()), default=0)
    made = []
    for (state, target), events in joined.items():
        path, x, y = _curve(PLACES[state], PLACES[target], bent=(target, state) in joined)
        whole = sum(count for _, count in events)
        top = y - 7 * (len(events) - 1) + 4
        steps = tuple(
            Step(step_name(state.value, event), f"{event} {count:,}", round(top + 14 * index, 1), count > 0)
            for index, (event, count) in enumerate(events)
        )
        made.append(Arc(path, round(1 + 4 * math.log1p(whole) / math.log1p(most), 1) if whole else 1.0, x, steps))
    return made


def _curve(start: tuple[int, int], end: tuple[int, int], *, bent: bool) -> tuple[str, float, float]:
    """A curve between the edges of two boxes, and the place of its names."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy)
    nx, ny = -dy / length, dx / length
    shift = 8 if bent else 0
    a, b = _edge(start, (dx, dy), shift), _edge(end, (-dx, -dy), -shift)
    bend = -BEND if bent else 0
    mx, my = (a[0] + b[0]) / 2 + nx * bend, (a[1] + b[1]) / 2 + ny * bend
    path = f"M{a[0]:.1f},{a[1]:.1f} Q{mx:.1f},{my:.1f} {b[0]:.1f},{b[1]:.1f}"
    lift = 0 if dy else -9 if not bent else 0
    return path, round((a[0] + b[0]) / 4 + mx / 2, 1), round((a[1] + b[1]) / 4 + my / 2 + lift, 1)


def _edge(middle: tuple[int, int], towards: tuple[float, float], shift: float) -> tuple[float, float]:
    """Where a line from the middle of a box leaves it, moved along the box's side."""
    dx, dy = towards
    if dy == 0:
        return middle[0] + math.copysign(WIDTH / 2, dx), middle[1] - shift * math.copysign(1, dx)
    scale = min((WIDTH / 2) / abs(dx) if dx else math.inf, (HEIGHT / 2) / abs(dy))
    return middle[0] + dx * scale, middle[1] + dy * scale
