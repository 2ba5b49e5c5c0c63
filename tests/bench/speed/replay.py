"""Trajectories run again a second on one core: the scripted conversations of all servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from servers.kernel.session import Session
from stages.conversations import Conversation
from stages.validate.replay import check_replay
from tests.bench.speed.figures import Figure, at_least, at_most
from tests.bench.speed.material import catalog, conversations
from tests.bench.speed.timing import Load, Scale, growth, in_turn, rate

_ERRORS = 1.0
"""The rate of failed calls from which validation would reject; none is to be rejected here."""


def measure(scale: Scale) -> list[Figure]:
    """The figures of the family."""
    made = conversations()
    loads = {"once": Load(lambda: replay(made), len(made)), "check": Load(lambda: check(made), len(made))}
    sizes = {factor: max(2, len(made) * factor // scale.factors[-1]) for factor in scale.factors}
    for factor, count in sizes.items():
        loads[f"grown {factor}"] = Load(_of(made[:: max(1, len(made) // count)][:count]))
    seconds = in_turn(loads, scale.repeats)
    calls = sum(len(turn.calls) for item in made for turn in item.turns) / len(made)
    figures = []
    for name, title in (
        ("once", "trajectories replayed once, each result and state compared"),
        ("check", "trajectories checked by validation: replayed, and their ground truth on a session of its own"),
    ):
        value, spread = rate(seconds[name])
        grown = growth("trajectories", {count: seconds[f"grown {f}"] for f, count in sizes.items()})
        figures.append(
            Figure(
                name=f"replay {name}",
                family="replay",
                title=title,
                value=value,
                unit="trajectories/s",
                spread=spread,
                targets=(at_least(1000), at_most(1.1, "exponent")) if name == "once" else (at_least(1000),),
                growth=grown if name == "once" else None,
                note=f"{len(made)} trajectories of {calls:.1f} calls on all servers",
            )
        )
    return figures


def replay(made: Sequence[Conversation]) -> None:
    """Run the calls of each conversation on a fresh session.

    Raises:
        ValueError: a result or a state differs.
    """
    servers = catalog()
    for item in made:
        session = Session(servers.world(item.world))
        for turn in item.turns:
            session.user_turn()
            for call in turn.calls:
                if call.executed and servers.call(session, call.name, call.arguments or {}).text != call.result:
                    raise ValueError(f"{item.id}: {call.name} answers otherwise than on record")
            if session.state_hash != turn.state_hash:
                raise ValueError(f"{item.id} ends in another state than on record")


def check(made: Sequence[Conversation]) -> None:
    """Validation's check of each conversation.

    Raises:
        ValueError: one does not hold.
    """
    for item in made:
        found = check_replay(catalog(), item, _ERRORS)
        if found:
            raise ValueError(f"{item.id}: {found.reason}: {found.detail}")


def _of(made: Sequence[Conversation]) -> Callable[[], None]:
    return lambda: replay(made)
