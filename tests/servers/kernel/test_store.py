"""Tables against a plain model: what a scan yields, in which order, and which rows it is recorded to have read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from servers.kernel.dice import Dice
from servers.kernel.store import Delta, Record, Seed, Store, Table


@dataclass(frozen=True, slots=True)
class Pet(Record):
    """A row."""

    kind: str
    age: int


KINDS = ("cat", "dog", "owl")
QUERIES: tuple[dict[str, Any], ...] = ({}, {"kind": "cat"}, {"age": 2}, {"kind": "dog", "age": 1}, {"kind": "eel"})


def expected(model: dict[str, Pet], where: dict[str, Any]) -> list[Pet]:
    return [pet for pet in model.values() if all(getattr(pet, name) == value for name, value in where.items())]


@pytest.mark.parametrize("seed", range(30))
def test_scans_agree_with_a_plain_dictionary(seed: int) -> None:
    """Changed rows keep their place, removed seed rows that come back too, new ones stand at the end."""
    dice = Dice(seed, "store")
    pets = [Pet(f"p{n}", dice.choice(KINDS), dice.integer(1, 3)) for n in range(8)]
    world = Seed(pets)
    store = Store(world)
    table, order, model = Table(store, Pet), [pet.id for pet in pets], {pet.id: pet for pet in pets}
    kept, kept_order, settled = dict(model), list(order), set(order)
    for step in range(40):
        key = f"p{dice.integer(0, 11)}"
        if dice.chance(0.25):
            table.remove(key)
            model.pop(key, None)
        else:
            old = model.get(key, Pet(key, "cat", 1))
            model[key] = table.put(replace(old, kind=dice.choice(KINDS), age=dice.integer(1, 3)))
            if key not in order:
                order.append(key)
        model = {key: model[key] for key in order if key in model}
        for where in QUERIES:
            found = table.where(**where)
            assert found == expected(model, where), (step, where)
        if dice.chance(0.5):
            store.commit()
            settled |= model.keys()
            order = [key for key in order if key in settled]
            kept, kept_order = dict(model), list(order)
            assert store.digest == Seed(model.values()).digest
        elif dice.chance(0.2):
            store.rollback()
            model, order = dict(kept), list(kept_order)
        twin = Store(world)
        twin.restore(store.snapshot())
        assert Table(twin, Pet).all() == expected({key: kept[key] for key in kept_order if key in kept}, {})


@pytest.mark.parametrize("changed", [False, True])
def test_a_scan_is_recorded_as_the_table_and_the_rows_that_fit(changed: bool) -> None:
    store = Store(Seed([Pet("a", "cat", 1), Pet("b", "dog", 1), Pet("c", "cat", 2)]))
    table = Table(store, Pet)
    if changed:
        table.put(Pet("b", "cat", 1))
        store.commit()
    table.where(kind="cat")
    rows = {"a", "b", "c"} if changed else {"a", "c"}
    assert store.rollback().reads == {(Pet.table, key) for key in rows | {"*"}}
    assert not store.rollback().reads, "the next call has read nothing yet"


def test_a_look_up_considers_only_the_changed_rows_that_have_or_had_the_value() -> None:
    """So that it costs the same however much else the session has changed."""
    old = Pet("a", "cat", 1)
    delta = Delta({"a": old}, {"n1": Pet("n1", "cat", 1)})
    assert list(delta.about("kind", "cat")) == ["n1"]
    delta.change("a", replace(old, kind="dog"))
    for number in range(2, 1000):
        delta.change(f"n{number}", Pet(f"n{number}", f"kind {number}", 1))
    assert list(delta.about("kind", "cat")) == ["n1", "a"] and list(delta.about("kind", "dog")) == ["a"]
    delta.change("n1", replace(old, id="n1", kind="dog"))
    assert list(delta.about("kind", "cat")) == ["a"] and list(delta.about("kind", "dog")) == ["n1", "a"]
    delta.change("n1", None)
    delta.forget("a")
    assert not delta.about("kind", "dog") and list(delta.about("kind", "kind 500")) == ["n500"]


def test_writing_what_is_there_already_changes_nothing() -> None:
    store = Store(Seed([Pet("a", "cat", 1)]))
    table = Table(store, Pet)
    table.put(Pet("b", "dog", 1))
    store.commit()
    before = store.snapshot()
    for pet in (Pet("a", "cat", 1), Pet("b", "dog", 1)):
        table.put(replace(pet, age=2))
        table.put(pet)
    table.add(Pet("c", "owl", 1))
    table.remove("c")
    assert not store.commit().writes and store.snapshot() == before


def test_a_snapshot_holds_nothing_of_a_running_transaction() -> None:
    store = Store(Seed([Pet("a", "cat", 1)]))
    table = Table(store, Pet)
    table.put(Pet("b", "dog", 1))
    store.commit()
    before, differences = store.snapshot(), store.diff()
    table.put(Pet("a", "owl", 1))
    table.put(Pet("c", "owl", 1))
    table.remove("b")
    assert [pet.id for pet in table.where(kind="owl")] == ["a", "c"]
    assert store.snapshot() == before and store.diff() == differences
    store.rollback()
    assert [pet.id for pet in table.where(kind="dog")] == ["b"] and not table.where(kind="owl")
