"""What the turns of a conversation are about: the chain's actions first, then those of other chains.

Follow-ups come from other chains of the server and from any of its tools, so that two conversations along one
chain still differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from servers.kernel.dice import Dice
from servers.kernel.server import ToolServer
from stages.discover.edges import Chain
from stages.synthesize.mix import ChainDraw, Job

ACTIONS_PER_TURN = 2
"""Most things that one user turn asks for."""

ANY_TOOL = 0.35
"""Share of follow-ups about any tool of the server rather than another chain's."""

TWICE = 0.12
"""Share of turns that ask for one thing twice, on two things."""


class Agenda:
    """Draws what turns are about.

    Args:
        chains: all chains; follow-ups take those of the conversation's server.
    """

    def __init__(self, chains: Sequence[Chain]) -> None:
        servers = dict.fromkeys(chain.server for chain in chains)
        self._draws = {name: ChainDraw([chain for chain in chains if chain.server == name]) for name in servers}

    def of(self, job: Job, server: ToolServer, dice: Dice) -> Iterator[list[str]]:
        """Tools to ask for, turn after turn, without end; the chain's own come first."""
        left = job.turns - (job.information != "complete")  # a question and its answer take a turn
        actions = asked_tools(server, job.chain)[-ACTIONS_PER_TURN * max(1, left) :]
        used = set(actions)
        while actions:
            fewest = ACTIONS_PER_TURN if len(actions) > left else 1
            size = min(len(actions), dice.integer(fewest, ACTIONS_PER_TURN))
            yield _perhaps_twice(actions[:size], dice)
            actions, left = actions[size:], left - 1
        while True:
            if dice.chance(ANY_TOOL):
                found = [dice.choice(list(server.tools))]
            else:
                found = asked_tools(server, self._draws[server.name].draw(dice))
            fresh = [name for name in found if name not in used] or [dice.choice(list(server.tools))]
            place = dice.integer(0, len(fresh) - 1)
            chosen = fresh[place : place + dice.integer(1, ACTIONS_PER_TURN)]
            used.update(chosen)
            yield _perhaps_twice(chosen, dice)


def _perhaps_twice(actions: list[str], dice: Dice) -> list[str]:
    return actions * 2 if len(actions) == 1 and dice.chance(TWICE) else actions


def asked_tools(server: ToolServer, chain: Chain) -> list[str]:
    """The tools of a chain that a person asks for: not the lookups that only feed the next call."""
    asked = []
    for position, name in enumerate(chain.tools):
        feeds = position < len(chain.labels) and chain.labels[position] == "explicit"
        if not (feeds and server.tools[name].read_only):
            asked.append(name)
    return asked
