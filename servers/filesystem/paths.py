"""How a path is followed: working directory, `~`, `..`, symbolic links, and the right to pass through."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from difflib import get_close_matches

from servers.filesystem.model import Fault, Node, Shell, User
from servers.kernel.errors import KernelFault, ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown

MAX_HOPS = 8
MAX_NAME = 255
MAX_PATH = 4096

_ENCODED = re.compile(r"%(2e|2f|5c|00)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BITS = {"read": 4, "write": 2, "execute": 1}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads: an absolute path, and the node there if there is one."""

    path: str
    node: Node | None

    @property
    def parent(self) -> str:
        """The directory that holds it or would hold it."""
        return parent_of(self.path)


def join(directory: str, name: str) -> str:
    """The path of a name in a directory."""
    return f"/{name}" if directory == "/" else f"{directory}/{name}"


def parent_of(path: str) -> str:
    """The directory that holds a path; the root holds itself."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2] or "/"


def within(path: str, directory: str) -> bool:
    """Whether a path is the directory or lies below it; `/home/anna` is not within `/home/an`."""
    return path == directory or path.startswith(directory if directory == "/" else f"{directory}/")


def shell_of(session: Session) -> Shell:
    """The session's shell."""
    return session.table(Shell).require("shell", "The session has one shell.")


def user_of(session: Session, name: str) -> User:
    """An account, or an error that says how to find one."""
    return session.table(User).require(name, "list_system_users shows the valid user names.")


def me(session: Session) -> User:
    """Who is logged in."""
    return user_of(session, shell_of(session).user)


def may(user: User, node: Node, right: str) -> bool:
    """Whether an account has a right (`read`, `write`, `execute`) on a node by its mode bits."""
    if user.id == "root":
        return True
    shift = 6 if user.id == node.owner else 3 if node.group in user.groups else 0
    return bool(node.mode >> shift & _BITS[right])


def mode_text(mode: int) -> str:
    """Permission bits as `rwxr-x---`."""
    return "".join(letter if mode >> 8 - n & 1 else "-" for n, letter in enumerate("rwxrwxrwx"))


def check_right(session: Session, node: Node, right: str) -> None:
    """Refuse what the mode bits don't allow the logged-in user."""
    user = me(session)
    if not may(user, node, right):
        raise ToolError(
            Fault.PERMISSION_DENIED,
            f"{user.id} may not {right} {shown(node.id)}: it belongs to {node.owner}:{node.group} with mode "
            f"{mode_text(node.mode)}. Use a path of your own, or switch_user to an account that may.",
        )


def parts_of(session: Session, text: str) -> tuple[str, deque[str]]:
    """The directory from which a path starts, and its parts."""
    if _CONTROL.search(text):
        raise ToolError(Fault.INVALID_PATH, "A path holds no NUL or control characters; write plain names.")
    if _ENCODED.search(text):
        raise ToolError(
            Fault.INVALID_PATH, "Percent-encoded dots and slashes are not decoded; write the path in plain characters."
        )
    if text == "~" or text.startswith("~/"):
        start, text = me(session).home, text[1:]
    else:
        start = "/" if text.startswith("/") else shell_of(session).cwd
    parts = deque(part for part in text.split("/") if part not in ("", "."))
    if any(len(part.encode()) > MAX_NAME for part in parts):
        raise ToolError(Fault.NAME_TOO_LONG, f"A name has at most {MAX_NAME} bytes; use a shorter one.")
    return start, parts


def locate(session: Session, text: str, follow: bool = True) -> Place:
    """Follow a path to its end, which need not exist; everything before it must.

    Args:
        session: the session.
        text: the path as the caller wrote it.
        follow: whether a link at the very end is followed too.
    """
    nodes = session.table(Node)
    start, pending = parts_of(session, text)
    here = nodes.require(start, "change_directory to a directory that exists, such as / first.")
    hops = 0
    while pending:
        part = pending.popleft()
        check_passable(session, here)
        if part == "..":
            if here.id == "/":
                raise ToolError(Fault.OUTSIDE_ROOT, "'..' leads above the root /; start from / or use fewer '..'.")
            here = nodes.require(parent_of(here.id), "get_working_directory shows where you are.")
            continue
        path = join(here.id, part)
        node = nodes.get(path)
        if node is None:
            if pending:
                raise missing(session, path)
            return Place(path, None)
        if node.kind != "link" or not (pending or follow):
            here = node
            continue
        hops += 1
        if hops > MAX_HOPS:
            raise ToolError(Fault.LINK_LOOP, f"{shown(path)} is a link that leads back to itself; use another path.")
        pending.extendleft(reversed([p for p in node.target.split("/") if p not in ("", ".")]))
        if node.target.startswith("/"):
            here = nodes.require("/", "The root always exists.")
    return Place(here.id, here)


def check_passable(session: Session, here: Node) -> None:
    """Refuse to look for a name in what is no directory, or in one that is closed to the user."""
    if here.kind != "directory":
        raise ToolError(Fault.NOT_A_DIRECTORY, f"{shown(here.id)} is a {here.kind}, so nothing lies below it.")
    check_right(session, here, "execute")


def missing(session: Session, path: str) -> ToolError:
    """The error for a path that does not exist, with the nearest name if there is one."""
    directory = parent_of(path)
    names = [name_of(node.id) for node in session.table(Node).where(parent=directory)]
    near = get_close_matches(name_of(path), names, n=1, cutoff=0.75)
    advice = f"Did you mean {shown(near[0])}?" if near else "find_files searches by name."
    return ToolError(
        KernelFault.NOT_FOUND, f"There is no {shown(path)}. list_directory shows {shown(directory)}. {advice}"
    )


def existing(session: Session, text: str, follow: bool = True) -> Node:
    """The node at a path, or an error that says how to find one."""
    place = locate(session, text, follow)
    if place.node is not None:
        return place.node
    link = locate(session, text, follow=False).node
    if link is not None:
        raise ToolError(
            Fault.BROKEN_LINK,
            f"{shown(link.id)} is a link to {shown(link.target)}, which does not exist; "
            "create the target or delete the link.",
        )
    raise missing(session, place.path)


def directory(session: Session, text: str) -> Node:
    """The directory at a path whose names the user may read."""
    node = existing(session, text)
    if node.kind != "directory":
        raise ToolError(
            Fault.NOT_A_DIRECTORY, f"{shown(node.id)} is a file; its directory is {shown(parent_of(node.id))}."
        )
    check_right(session, node, "read")
    return node


def file(session: Session, text: str) -> Node:
    """The file at a path, text or not, that the user may read."""
    node = existing(session, text)
    if node.kind != "file":
        raise ToolError(Fault.IS_A_DIRECTORY, f"{shown(node.id)} is a directory; list_directory shows the files in it.")
    check_right(session, node, "read")
    return node


def text_file(session: Session, text: str) -> Node:
    """The text file at a path that the user may read."""
    node = file(session, text)
    if not node.text:
        raise ToolError(
            Fault.BINARY_FILE,
            f"{shown(node.id)} holds no text; get_path_info, get_file_checksum or, for archives, list_archive work.",
        )
    return node


def children(session: Session, path: str) -> list[Node]:
    """What lies directly in a directory, by path."""
    return sorted(session.table(Node).where(parent=path), key=lambda node: node.id)


def subtree(session: Session, node: Node) -> list[Node]:
    """A node and everything below it, parents before children; links are not followed."""
    found, pending = [], [node]
    while pending:
        here = pending.pop()
        found.append(here)
        if here.kind == "directory":
            pending.extend(reversed(children(session, here.id)))
    return found


def readable_subtree(session: Session, top: Node, hidden: bool = False) -> list[Node]:
    """Everything below a directory that the user may list, without the top; closed directories are passed over."""
    user = me(session)
    found, pending = [], [top]
    while pending:
        here = pending.pop()
        if here is not top:
            found.append(here)
        if here.kind == "directory" and may(user, here, "read") and may(user, here, "execute"):
            below = children(session, here.id)
            pending.extend(node for node in reversed(below) if hidden or not name_of(node.id).startswith("."))
    return found
