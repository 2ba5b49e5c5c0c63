"""People for the worlds: varied names, and the one user whom every server serves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from servers.kernel.dice import Dice

FIRST_NAMES = (
    "Amara", "Bjorn", "Chiara", "Dmitri", "Elif", "Farah", "Goran", "Hana", "Ines", "Jomo", "Keiko", "Lars",
    "Mei", "Nadia", "Omar", "Priya", "Quentin", "Rosa", "Samir", "Tomas", "Uma", "Viktor", "Wanjiru", "Xavier",
    "Yusuf", "Zofia", "Anouk", "Benito", "Carmen", "Desmond", "Eszter", "Fintan", "Greta", "Hassan", "Ilse",
    "Jorge", "Kavya", "Linnea", "Malik", "Noor", "Oksana", "Paolo", "Rania", "Sven", "Thandi", "Ulrich", "Vera",
    "Wei", "Ximena", "Yara",
)  # fmt: skip
LAST_NAMES = (
    "Abara", "Bergstrom", "Castelli", "Dimitrov", "Eriksen", "Fontaine", "Gupta", "Haddad", "Ibrahim", "Jansen",
    "Kowalski", "Lindqvist", "Moreau", "Nakamura", "Okafor", "Petrov", "Quiroga", "Rossi", "Sato", "Tanaka",
    "Ueda", "Varga", "Weiss", "Xu", "Yilmaz", "Zamora", "Achebe", "Bianchi", "Costa", "Duarte", "Engel",
    "Farouk", "Garcia", "Horvat", "Iqbal", "Juarez", "Kimani", "Larsen", "Mbeki", "Novak", "Oyelaran", "Patel",
    "Rahman", "Silva", "Torres", "Urbanek", "Vargas", "Wójcik", "Yamada", "Zheng",
)  # fmt: skip
_PLAIN = str.maketrans("óåäöéüçñ", "oaaoeucn")


@dataclass(frozen=True, slots=True)
class Person:
    """A name with the addresses that go with it."""

    first: str
    last: str
    email: str
    username: str
    phone: str

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}"


def make_person(dice: Dice, first: str, last: str) -> Person:
    """A person with derived addresses; the phone number lies in a range kept for fiction."""
    handle = f"{first}.{last}".lower().translate(_PLAIN)
    phone = f"+1-{dice.integer(201, 989)}-555-{dice.integer(100, 199):04d}"
    return Person(first, last, f"{handle}@example.com", handle.replace(".", "_"), phone)


def people(seed: int, count: int) -> list[Person]:
    """`count` different people (at most 2,500), the same for every server of one seed.

    The first one is the user whom the agent serves.
    """
    dice = Dice(seed, "people")
    firsts, lasts = dice.shuffled(FIRST_NAMES), dice.shuffled(LAST_NAMES)
    return [
        make_person(dice, firsts[n % len(firsts)], lasts[(n + n // len(firsts)) % len(lasts)]) for n in range(count)
    ]


@lru_cache(maxsize=64)
def user(seed: int) -> Person:
    """The person whom the agent serves in the world of this seed."""
    return people(seed, 1)[0]
