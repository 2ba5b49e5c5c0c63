"""The library of prototypes: kinds of subgoal, each with when it applies, what success looks like, and pitfalls.

A prototype is a cluster of descriptions of one skill. It holds no reference answer: its checklist names questions to a
trace, its pitfalls what went wrong in the data, its examples conversations by their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from stages.artifacts import ArtifactError, Stamp, read_json, write_json
from stages.skills.checks import CHECKLISTS, CHECKS, RIGOROUS
from stages.skills.cluster import Method, clusters_of
from stages.skills.decompose import SEPARATOR, SKILLS, Skill, decompose
from stages.skills.embed import EmbedderName, embedder_for
from stages.skills.facts import Facts
from stages.skills.scene import Scene
from stages.skills.scoring import judge_subgoal
from stages.skills.tally import MOST_EXAMPLES, Tally, added, tally_from
from stages.skills.trajectories import Trajectory

LIBRARY = Path("skills") / "library.json"
"""The library's place under `data/`."""

MOST_PITFALLS = 6
"""Pitfalls of a prototype that are kept, the most frequent ones."""

SHOWN_MEMBERS = 3
"""Descriptions that tell when a prototype applies."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a library is made and read."""

    embedder: EmbedderName = "tfidf"
    min_cluster_size: int = 15
    router: str = "nearest"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Prototype:
    """One kind of subgoal.

    `checklist` names items of `stages.skills.checks`; `pitfalls` are (what, how often); `members` the descriptions
    that it was made from; `size` and `mean_score` count subgoals of the data.
    """

    id: str
    skill: Skill
    when: str
    checklist: tuple[str, ...]
    pitfalls: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]
    size: int
    mean_score: float
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """All prototypes, by id.

    `base` tallies the descriptions of the dataset, `seen` those of trajectories that a refresh added; `next_id` is the
    number of the next new prototype; `methods` how each skill's descriptions were clustered.
    """

    settings: Settings
    methods: Mapping[str, Method]
    next_id: int
    prototypes: tuple[Prototype, ...]
    base: Mapping[str, Tally]
    seen: Mapping[str, Tally]

    @property
    def corpus(self) -> list[str]:
        """Every description that it knows, in order."""
        return sorted({*self.base, *self.seen})


def tallied(trajectories: Iterable[Trajectory], facts: Facts) -> dict[str, Tally]:
    """The descriptions of trajectories, each judged by its skill's whole checklist."""
    found: dict[str, Tally] = {}
    for trajectory in trajectories:
        scene = Scene(trajectory, facts)
        for subgoal in decompose(trajectory, facts):
            score, failed = judge_subgoal(scene, subgoal, CHECKLISTS[subgoal.skill])
            errors = [scene.calls[n].error_code for n in subgoal.calls if not scene.calls[n].ok]
            tally = found.setdefault(subgoal.text, Tally(subgoal.text, subgoal.skill))
            tally.add(score, errors, failed, trajectory.id)
    return found


def built(base: Mapping[str, Tally], settings: Settings) -> Library:
    """A new library; its prototypes are numbered from the largest.

    Raises:
        ArtifactError: there is no description.
    """
    if not base:
        raise ArtifactError("there is no trajectory to make a skill library from: run `python -m stages.validate`")
    methods, prototypes = fitted(added(base, {}), settings)
    named = tuple(replace(prototype, id=prototype_id(n)) for n, prototype in enumerate(prototypes, start=1))
    return Library(settings, methods, len(named) + 1, named, base, {})


def fitted(tallies: Mapping[str, Tally], settings: Settings) -> tuple[Mapping[str, Method], list[Prototype]]:
    """How each skill was clustered, and the prototypes without ids, the largest first."""
    embed = embedder_for(settings.embedder, sorted(tallies))
    methods: dict[str, Method] = {}
    prototypes: list[Prototype] = []
    for skill in SKILLS:
        texts = sorted(text for text, tally in tallies.items() if tally.skill == skill)
        if not texts:
            continue
        found = clusters_of(embed(texts), settings.min_cluster_size, settings.seed)
        methods[skill] = found.method
        for label in sorted({label for label in found.labels if label >= 0}):
            members = [tallies[t] for t, own in zip(texts, found.labels, strict=True) if own == label]
            prototypes.append(_prototype(skill, members))
    return methods, sorted(prototypes, key=lambda p: (-p.size, p.members))


def prototype_id(number: int) -> str:
    """The id of the prototype with a number."""
    return f"skill-{number:03d}"


def _prototype(skill: Skill, members: Sequence[Tally]) -> Prototype:
    often = sorted(members, key=lambda tally: (-tally.count, tally.text))
    pitfalls: Counter[str] = Counter()
    scores = [sum(tally.scores[score] for tally in members) for score in range(RIGOROUS + 1)]
    for tally in members:
        pitfalls.update({f"error {code}": n for code, n in tally.errors.items()})
        pitfalls.update({CHECKS[name].mistake: n for name, n in tally.failed.items()})
    subgoals = [tally.text.partition(SEPARATOR)[2] or "in any case" for tally in often[:SHOWN_MEMBERS]]
    size = sum(scores)
    return Prototype(
        id="",
        skill=skill,
        when=f"{SKILLS[skill]}, such as: {' | '.join(subgoals)}",
        checklist=CHECKLISTS[skill],
        pitfalls=tuple(sorted(pitfalls.items(), key=lambda item: (-item[1], item[0]))[:MOST_PITFALLS]),
        examples=tuple(dict.fromkeys(example for tally in often for example in tally.examples))[:MOST_EXAMPLES],
        size=size,
        mean_score=round(sum(score * n for score, n in enumerate(scores)) / size, 6),
        members=tuple(sorted(tally.text for tally in members)),
    )


def write_library(path: Path, library: Library, stamp: Stamp) -> None:
    """Write a library atomically, byte for byte the same for the same library and stamp."""
    checks = [name for name in CHECKS if any(name in p.checklist for p in library.prototypes)]
    plain = {
        "fingerprint": stamp.fingerprint,
        "params": stamp.params,
        **asdict(library.settings),
        "methods": dict(library.methods),
        "next_id": library.next_id,
        "checks": {name: {"told": CHECKS[name].told, "score_if_failed": CHECKS[name].cap} for name in checks},
        "prototypes": [asdict(prototype) for prototype in library.prototypes],
        "descriptions": [tally.plain() for _, tally in sorted(library.base.items())],
        "refreshed": [tally.plain() for _, tally in sorted(library.seen.items())],
    }
    write_json(path, plain)


def read_library(path: Path, fingerprint: str | None) -> Library:
    """Read a library, checking the servers it was made under unless the fingerprint is None.

    Raises:
        ArtifactError: it is missing, damaged, of another shape or of other servers.
    """
    plain: Any = read_json(path)
    try:
        found, settings = plain["fingerprint"], Settings(**{k: plain[k] for k in Settings.__dataclass_fields__})
        library = Library(
            settings,
            plain["methods"],
            plain["next_id"],
            tuple(_read(item) for item in plain["prototypes"]),
            {item["text"]: tally_from(item) for item in plain["descriptions"]},
            {item["text"]: tally_from(item) for item in plain["refreshed"]},
        )
        unknown = {item for prototype in library.prototypes for item in prototype.checklist} - set(CHECKS)
    except (KeyError, TypeError) as error:
        raise ArtifactError(f"{path} has another shape ({error}): run `python -m stages.skills` again") from None
    if unknown:
        raise ArtifactError(f"{path} asks for an unknown check {min(unknown)!r}: run `python -m stages.skills` again")
    if fingerprint is not None and found != fingerprint:
        raise ArtifactError(
            f"{path} was made with servers {found}, these are {fingerprint}: run `python -m stages.bootstrap diff` for "
            "the difference, then the pipeline again"
        )
    return library


def _read(plain: Mapping[str, Any]) -> Prototype:
    sequences = ("checklist", "examples", "members")
    pitfalls = tuple((what, count) for what, count in plain["pitfalls"])
    return Prototype(**{**plain, **{name: tuple(plain[name]) for name in sequences}, "pitfalls": pitfalls})
