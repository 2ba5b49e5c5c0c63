"""Records and error codes of the file system."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from servers.kernel.store import Record
from servers.kernel.types import Entity, Hidden, Sensitive

PathId: TypeAlias = Annotated[str, Entity("path", natural=True)]
"""An absolute path, as results show it."""

Path: TypeAlias = Annotated[str, Entity("path", natural=True), Field(min_length=1, max_length=4096)]
"""A path as a caller gives it: absolute, relative to the working directory, or from the home with `~/`."""

UserName: TypeAlias = Annotated[str, Entity("system_user", natural=True)]
GroupName: TypeAlias = Annotated[str, Entity("file_group", natural=True)]
TrashId: TypeAlias = Annotated[str, Entity("trash_item")]

Kind: TypeAlias = Literal["file", "directory", "link"]
Content: TypeAlias = Annotated[str, Field(max_length=4000)]
Pattern: TypeAlias = Annotated[str, Field(min_length=1, max_length=80)]
Password: TypeAlias = Annotated[str, Sensitive(), Field(min_length=1, max_length=64)]


class Fault(StrEnum):
    """What the file system refuses, beyond bad arguments and missing paths."""

    PERMISSION_DENIED = "permission_denied"
    NOT_OWNER = "not_owner"
    NOT_GROUP_MEMBER = "not_group_member"
    PATH_EXISTS = "path_exists"
    IS_A_DIRECTORY = "is_a_directory"
    NOT_A_DIRECTORY = "not_a_directory"
    DIRECTORY_NOT_EMPTY = "directory_not_empty"
    DIRECTORY_IN_USE = "directory_in_use"
    INTO_ITSELF = "into_itself"
    SAME_PATH = "same_path"
    OUTSIDE_ROOT = "outside_root"
    INVALID_PATH = "invalid_path"
    NAME_TOO_LONG = "name_too_long"
    LINK_LOOP = "link_loop"
    BROKEN_LINK = "broken_link"
    READ_ONLY_VOLUME = "read_only_volume"
    VOLUME_FULL = "volume_full"
    QUOTA_EXCEEDED = "quota_exceeded"
    FILE_LOCKED = "file_locked"
    FILE_TOO_LARGE = "file_too_large"
    BINARY_FILE = "binary_file"
    TEXT_NOT_FOUND = "text_not_found"
    NOTHING_MATCHED = "nothing_matched"
    UNSUPPORTED_ARCHIVE = "unsupported_archive"
    NOT_AN_ARCHIVE = "not_an_archive"
    TRASH_EXPIRED = "trash_expired"
    TRASH_EMPTY = "trash_empty"
    WRONG_PASSWORD = "wrong_password"
    ACCOUNT_EXPIRED = "account_expired"


@dataclass(frozen=True, slots=True)
class Node(Record):
    """A file, directory or symbolic link; its id is its absolute path.

    `parent` is the path of the directory that holds it ("" for the root). `mode` holds the permission
    bits, with 0o1000 for a sticky directory. Files are `text`, or opaque bytes whose `content` only
    stands for them. `bundle` names the entries of an archive. `locked_by` holds the file open until
    `locked_until`. What lies in the trash has paths that start with `trash:`.
    """

    id: PathId
    parent: str
    kind: Kind
    owner: str
    group: str
    mode: int
    modified_at: datetime
    content: str = ""
    size: int = 0
    text: bool = True
    target: str = ""
    bundle: str = ""
    locked_by: str = ""
    locked_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class User(Record):
    """An account of the machine; `quota` limits the bytes of all files that it owns."""

    id: UserName
    full_name: str
    home: str
    groups: tuple[GroupName, ...]
    quota: int
    password: Annotated[str, Hidden]
    expires: date | None = None


@dataclass(frozen=True, slots=True)
class Volume(Record):
    """A mounted disk; its id is the directory where it is mounted."""

    id: PathId
    label: str
    read_only: bool
    capacity: int


@dataclass(frozen=True, slots=True)
class TrashItem(Record):
    """A path thrown away; its nodes wait under `trash:<id>` until it expires."""

    id: TrashId
    original: str
    deleted_by: str
    deleted_at: datetime


@dataclass(frozen=True, slots=True)
class ArchiveEntry(Record):
    """One file or directory inside an archive, by its path relative to the archive's top.

    `inner_bundle` names the entries of an archive that lies in the archive.
    """

    id: str
    bundle: str
    path: str
    kind: Kind
    mode: int
    content: str
    size: int
    text: bool
    target: str
    inner_bundle: str = ""


@dataclass(frozen=True, slots=True)
class Shell(Record):
    """The one shell of the session: who is logged in and where."""

    id: str
    user: str
    cwd: str
