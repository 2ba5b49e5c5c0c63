"""The state machine: its table, and what it refuses."""

from __future__ import annotations

import itertools

import pytest

from stages.synthesize.machine import TABLE, Event, Machine, State
from tests.stages.synthesize.writing import conversations, told


def test_every_state_is_reached_and_all_but_the_end_are_left() -> None:
    assert {state for state, _ in TABLE} == set(State) - {State.END}
    assert set(TABLE.values()) == set(State)
    assert {event for _, event in TABLE} == set(Event)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_a_step_follows_the_table_or_is_refused(state: State, event: Event) -> None:
    machine = Machine()
    machine.state = state
    if (state, event) in TABLE:
        machine.fire(event)
        assert machine.state is TABLE[state, event]
        ((step),) = machine.transitions
        assert (step.state, step.event, step.target) == (state, event, machine.state)
    else:
        with pytest.raises(ValueError, match=f"{event} is not possible in {state}"):
            machine.fire(event)
        assert machine.state is state and not machine.transitions


def test_transitions_run_from_query_to_end_and_agree_with_the_messages() -> None:
    for made in conversations():
        steps = made.transitions
        assert steps[0].state == State.QUERY and steps[-1].target == State.END
        assert all(a.target == b.state for a, b in itertools.pairwise(steps))
        assert all(TABLE[State(s.state), Event(s.event)] == s.target for s in steps)
        assert [step.event for step in steps] == told(made), made.id
