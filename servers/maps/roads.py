"""Routes over a city's roads: a weighted graph in which traffic incidents count while they last."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx as nx

from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.types import Money
from servers.maps.model import Fault, Incident, Place, Road, TravelMode

SPEEDS = {"walking": 5, "cycling": 16}
WALKING_LIMIT = 4000
DETOUR_PENALTY = 1.5
"""Alternative routes avoid roads of earlier ones, which count this much longer each time."""


@dataclass(frozen=True, slots=True)
class Route:
    """A way over roads: metres, seconds, the roads in order, and the toll."""

    meters: int
    seconds: int
    roads: tuple[Road, ...]
    toll: Money | None

    @property
    def via(self) -> str:
        """The street that makes up most of it."""
        lengths: dict[str, int] = {}
        for road in self.roads:
            lengths[road.street] = lengths.get(road.street, 0) + road.meters
        return max(lengths, key=lambda street: (lengths[street], street), default="the same corner")


def active_incidents(session: Session, city: str) -> list[Incident]:
    """What holds up traffic in a city at this moment."""
    return [row for row in session.table(Incident).where(city=city) if row.starts <= session.now < row.ends]


def road_graph(session: Session, city: str, mode: TravelMode, avoid_tolls: bool = False) -> Any:
    """A directed graph of junction ids; an edge holds its `road` and the `seconds` it takes."""
    incidents = {row.road_id: row for row in active_incidents(session, city)}
    graph: Any = _new_graph()
    for road in sorted(session.table(Road).where(city=city), key=lambda row: row.id):
        incident = incidents.get(road.id)
        if incident is not None and incident.kind == "closure" and mode != "walking":
            continue
        if (road.motorway and mode != "driving") or (avoid_tolls and road.toll is not None):
            continue
        seconds = _seconds(road, mode, incident)
        graph.add_edge(road.start_id, road.end_id, road=road, seconds=seconds)
        if not (road.one_way and mode == "driving"):
            graph.add_edge(road.end_id, road.start_id, road=road, seconds=seconds)
    return graph


def _new_graph() -> Any:
    make: Any = nx.DiGraph
    return make()


def _seconds(road: Road, mode: TravelMode, incident: Incident | None) -> int:
    plain = road.meters * 36 // (10 * SPEEDS.get(mode, road.kmh))
    slowed = incident is not None and mode == "driving"
    return plain * (100 + incident.slowdown) // 100 if slowed and incident is not None else plain


def _route(graph: Any, path: list[str]) -> Route:
    edges = [graph.edges[one, other] for one, other in pairwise(path)]
    roads = tuple(edge["road"] for edge in edges)
    tolls = [road.toll for road in roads if road.toll is not None]
    toll = sum(tolls[1:], tolls[0]) if tolls else None
    return Route(sum(road.meters for road in roads), sum(edge["seconds"] for edge in edges), roads, toll)


def quickest(graph: Any, origin: Place, destination: Place) -> Route | None:
    """The quickest route, or None when no road leads there."""
    try:
        path = nx.shortest_path(graph, origin.junction_id, destination.junction_id, weight="seconds")
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        return None
    return _route(graph, path)


def alternatives(graph: Any, origin: Place, destination: Place, count: int) -> Iterator[Route]:
    """Up to `count` different routes, the quickest first; each next one shuns the roads already used."""
    seen: set[tuple[str, ...]] = set()
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = float(edge["seconds"])
    for _ in range(count * 2):
        try:
            path = nx.shortest_path(graph, origin.junction_id, destination.junction_id, weight="weight")
        except (nx.NetworkXNoPath, nx.NodeNotFound):
            return
        for one, other in pairwise(path):
            graph.edges[one, other]["weight"] *= DETOUR_PENALTY
        if tuple(path) not in seen and len(seen) < count:
            seen.add(tuple(path))
            yield _route(graph, path)


def check_pair(origin: Place, destination: Place) -> None:
    """Refuse a route to the same place or into another city."""
    if origin.id == destination.id:
        raise ToolError(Fault.SAME_PLACE, f"Origin and destination are both {origin.name}; choose two places.")
    if origin.city != destination.city:
        raise ToolError(
            Fault.NO_ROUTE,
            f"{origin.name} is in {origin.city}, {destination.name} in {destination.city}; only routes within a city "
            "are known.",
        )


def find_route(
    session: Session, origin: Place, destination: Place, mode: TravelMode, avoid_tolls: bool = False
) -> Route:
    """The quickest route at this moment.

    Raises:
        ToolError: `same_place`, `no_route`, `no_toll_free_route` or `too_far_to_walk`.
    """
    check_pair(origin, destination)
    found = quickest(road_graph(session, origin.city, mode, avoid_tolls), origin, destination)
    if found is None and avoid_tolls:
        raise ToolError(Fault.NO_TOLL_FREE_ROUTE, f"Every road to {destination.name} has a toll; allow tolls.")
    if found is None:
        raise ToolError(
            Fault.NO_ROUTE, f"{destination.name} can't be reached from {origin.name} by {mode}; try another mode."
        )
    if mode == "walking" and found.meters > WALKING_LIMIT:
        raise ToolError(Fault.TOO_FAR_TO_WALK, f"That is {found.meters / 1000:.1f} km on foot; try cycling or driving.")
    return found


def minutes(route: Route) -> int:
    """Whole minutes that a route takes, rounded up, at least one."""
    return max(1, -(-route.seconds // 60))
