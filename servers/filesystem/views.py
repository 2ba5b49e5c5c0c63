"""What the file system's tools show: few fields, since a model reads every token."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from servers.filesystem.model import GroupName, Kind, Node, PathId, TrashId, UserName


@dataclass(frozen=True, slots=True)
class WorkingDirectory:
    """Where the shell is, and as whom."""

    path: PathId
    user: UserName


@dataclass(frozen=True, slots=True)
class PathSummary:
    """A file, directory or link in a list."""

    path: PathId
    kind: Kind
    size: int


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A directory in a tree, with how many files and directories lie directly in it."""

    path: PathId
    files: int
    directories: int


@dataclass(frozen=True, slots=True)
class PathInfo:
    """All there is to know of one path."""

    path: PathId
    kind: Kind
    size: int
    owner: UserName
    group: GroupName
    mode: str
    modified_at: datetime
    target: str | None
    locked_until: datetime | None


@dataclass(frozen=True, slots=True)
class Match:
    """A line that holds what was searched for."""

    path: PathId
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What a directory with all below it takes up."""

    path: PathId
    bytes: int
    files: int
    directories: int
    largest_file: PathId | None


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Files with the same content."""

    size: int
    paths: list[PathId]


@dataclass(frozen=True, slots=True)
class Access:
    """What one account may do with a path."""

    path: PathId
    user: UserName
    read: bool
    write: bool
    execute: bool


@dataclass(frozen=True, slots=True)
class VolumeSummary:
    """A mounted volume and what is left on it."""

    path: PathId
    label: str
    read_only: bool
    free_bytes: int


@dataclass(frozen=True, slots=True)
class UserSummary:
    """An account in a list."""

    id: UserName
    full_name: str
    groups: tuple[GroupName, ...]
    quota_left: int


@dataclass(frozen=True, slots=True)
class Text:
    """Some or all lines of a file."""

    path: PathId
    content: str
    lines: int


@dataclass(frozen=True, slots=True)
class Counts:
    """How long a text is."""

    path: PathId
    lines: int
    words: int
    characters: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """The lines in which two texts differ: `-` only in the first, `+` only in the second."""

    identical: bool
    only_in_first: int
    only_in_second: int
    changes: list[str]


@dataclass(frozen=True, slots=True)
class DirectoryComparison:
    """The files in which two directories differ, by their path below each."""

    identical: bool
    only_in_first: list[str]
    only_in_second: list[str]
    different: list[str]


@dataclass(frozen=True, slots=True)
class Checksum:
    """A digest of a file's content."""

    path: PathId
    algorithm: str
    checksum: str


@dataclass(frozen=True, slots=True)
class Written:
    """A path that was made or changed, and its size now."""

    path: PathId
    size: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """How often a text was replaced in a file."""

    path: PathId
    replaced: int
    size: int


@dataclass(frozen=True, slots=True)
class Moved:
    """Where something lies now, and how many paths that took."""

    path: PathId
    count: int


@dataclass(frozen=True, slots=True)
class Deleted:
    """Confirms that a path is gone, with how many paths went in all."""

    path: str
    deleted: int


@dataclass(frozen=True, slots=True)
class TrashSummary:
    """Something in the trash, and the last day on which it can come back."""

    id: TrashId
    original_path: str
    kind: Kind
    size: int
    expires_on: date


@dataclass(frozen=True, slots=True)
class Emptied:
    """What emptying the trash did."""

    removed: int
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A file or directory inside an archive, by its path there."""

    name: str
    kind: Kind
    size: int


@dataclass(frozen=True, slots=True)
class Packed:
    """A new archive."""

    path: PathId
    entries: int
    size: int


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who owns a path and what its mode bits are now."""

    path: PathId
    owner: UserName
    group: GroupName
    mode: str
    changed: int


def summary(node: Node) -> PathSummary:
    """A node as a list shows it."""
    return PathSummary(node.id, node.kind, node.size)
