"""Tools that read, compare and write the contents of files."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from difflib import ndiff
from typing import Annotated, Literal

from pydantic import Field

from servers.filesystem.changes import check_unlocked, check_writable, editable, make, set_text
from servers.filesystem.model import Content, Fault, Node, Path
from servers.filesystem.paths import check_right, directory, file, locate, readable_subtree, text_file
from servers.filesystem.server import server
from servers.filesystem.views import Checksum, Comparison, Counts, DirectoryComparison, Replaced, Text, Written
from servers.kernel.errors import ToolError
from servers.kernel.session import Session
from servers.kernel.store import shown

WHOLE_FILE = 1200
"""Longest file, in characters, that is shown whole."""
MOST_COMPARED = 300
"""Most lines of a file that is compared line by line."""

Lines = Annotated[int, Field(ge=1, le=30)]


@server.tool(read_only=True)
def read_file(session: Session, path: Path) -> Text:
    """Read a whole text file of moderate length.

    Args:
        path: the file.

    Raises:
        is_a_directory: the path is a directory.
        binary_file: it holds no text.
        file_too_large: it is too long to be shown whole.
        permission_denied: it may not be read.
        broken_link: it is a link to nothing.
    """
    node = text_file(session, path)
    if len(node.content) > WHOLE_FILE:
        raise ToolError(
            Fault.FILE_TOO_LARGE,
            f"{shown(node.id)} has {len(node.content)} characters in {len(node.content.splitlines())} lines; "
            "use read_first_lines, read_last_lines or search_in_files.",
        )
    return Text(node.id, node.content, len(node.content.splitlines()))


@server.tool(read_only=True)
def read_first_lines(session: Session, path: Path, count: Lines = 5) -> Text:
    """Read the first lines of a text file.

    Args:
        path: the file.
        count: how many lines.

    Raises:
        is_a_directory: the path is a directory.
        binary_file: it holds no text.
        permission_denied: it may not be read.
    """
    node = text_file(session, path)
    lines = node.content.splitlines()
    return Text(node.id, "\n".join(lines[:count])[:WHOLE_FILE], len(lines[:count]))


@server.tool(read_only=True)
def read_last_lines(session: Session, path: Path, count: Lines = 5) -> Text:
    """Read the last lines of a text file, for example the newest entries of a log.

    Args:
        path: the file.
        count: how many lines.

    Raises:
        is_a_directory: the path is a directory.
        binary_file: it holds no text.
        permission_denied: it may not be read.
    """
    node = text_file(session, path)
    lines = node.content.splitlines()[-count:]
    return Text(node.id, "\n".join(lines)[-WHOLE_FILE:], len(lines))


@server.tool(read_only=True)
def count_file_words(session: Session, path: Path) -> Counts:
    """Count the lines, words and characters of a text file.

    Args:
        path: the file.

    Raises:
        is_a_directory: the path is a directory.
        binary_file: it holds no text.
    """
    text = text_file(session, path)
    return Counts(text.id, len(text.content.splitlines()), len(text.content.split()), len(text.content))


@server.tool(read_only=True)
def compare_files(session: Session, path: Path, other_path: Path) -> Comparison:
    """Compare two text files and show the first lines in which they differ.

    Args:
        path: the first file.
        other_path: the second file.

    Raises:
        same_path: both are the same file.
        is_a_directory: one is a directory.
        binary_file: one holds no text.
        file_too_large: one has too many lines to be compared.
    """
    first, second = text_file(session, path), text_file(session, other_path)
    check_different(first, second)
    old, new = first.content.splitlines(), second.content.splitlines()
    if max(len(old), len(new)) > MOST_COMPARED:
        raise ToolError(
            Fault.FILE_TOO_LARGE,
            f"Files of up to {MOST_COMPARED} lines can be compared; get_file_checksum still works.",
        )
    changes = [line for line in ndiff(old, new) if line[0] in "-+"]
    removed = sum(line[0] == "-" for line in changes)
    return Comparison(not changes, removed, len(changes) - removed, [line[:80] for line in changes[:6]])


@server.tool(read_only=True)
def compare_directories(session: Session, path: Path, other_path: Path) -> DirectoryComparison:
    """Compare the files below two directories: which are missing on a side, which differ.

    At most ten names are shown in each list, in alphabetical order.

    Args:
        path: the first directory.
        other_path: the second directory.

    Raises:
        same_path: both are the same directory.
        not_a_directory: one is a file.
    """
    first, second = directory(session, path), directory(session, other_path)
    check_different(first, second)
    left, right = contents_below(session, first), contents_below(session, second)
    different = sorted(name for name in left.keys() & right.keys() if left[name] != right[name])
    only_left, only_right = sorted(left.keys() - right.keys()), sorted(right.keys() - left.keys())
    identical = not (different or only_left or only_right)
    return DirectoryComparison(identical, only_left[:10], only_right[:10], different[:10])


def check_different(first: Node, second: Node) -> None:
    """Refuse to compare a thing with itself."""
    if first.id == second.id:
        raise ToolError(Fault.SAME_PATH, f"Both paths lead to {shown(first.id)}; give two different ones.")


def contents_below(session: Session, top: Node) -> dict[str, tuple[str, int]]:
    """Contents of all files below a directory, by their path relative to it."""
    nodes = readable_subtree(session, top, hidden=True)
    cut = len(top.id.rstrip("/")) + 1
    return {node.id[cut:]: (node.content, node.size) for node in nodes if node.kind == "file"}


@server.tool(read_only=True)
def get_file_checksum(session: Session, path: Path, algorithm: Literal["md5", "sha256"] = "md5") -> Checksum:
    """Compute the checksum of a file, to see whether it is unchanged.

    Args:
        path: the file, text or not.
        algorithm: the kind of checksum.

    Raises:
        is_a_directory: the path is a directory.
        permission_denied: it may not be read.
    """
    node = file(session, path)
    data = node.content.encode() if node.text else f"{node.size}:{node.content}".encode()
    digest = hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
    return Checksum(node.id, algorithm, digest)


@server.tool()
def write_file(session: Session, path: Path, content: Content, overwrite: bool = False) -> Written:
    """Write a text file; an existing one is replaced only if overwrite is set.

    Args:
        path: where the file goes; its directory must exist.
        content: the whole text.
        overwrite: whether an existing file may be replaced.

    Raises:
        path_exists: there is a file and overwrite is not set.
        is_a_directory: there is a directory.
        binary_file: the existing file holds no text.
        permission_denied: the directory or file may not be written.
        file_locked: somebody else has it open.
        read_only_volume: nothing on the volume may be changed.
        volume_full: the volume has too little room.
        quota_exceeded: the user owns too many bytes already.
        name_too_long: a name has more than 255 bytes.
        invalid_path: the path holds control characters.
    """
    place = locate(session, path)
    if place.node is None:
        return Written(place.path, make(session, place, "file", content).size)
    if place.node.kind == "directory":
        raise ToolError(Fault.IS_A_DIRECTORY, f"{shown(place.path)} is a directory; add a file name to it.")
    if not overwrite:
        raise ToolError(
            Fault.PATH_EXISTS, f"{shown(place.path)} exists; set overwrite, use append_to_file, or choose another name."
        )
    return Written(place.path, set_text(session, editable(session, path), content).size)


@server.tool()
def append_to_file(session: Session, path: Path, text: Annotated[str, Field(min_length=1, max_length=2000)]) -> Written:
    """Add a line of text to the end of an existing text file.

    Args:
        path: the file.
        text: what to add; it starts on a line of its own.

    Raises:
        is_a_directory: the path is a directory.
        binary_file: it holds no text.
        permission_denied: it may not be written.
        file_locked: somebody else has it open.
        read_only_volume: nothing on the volume may be changed.
        file_too_large: the file would become too large.
        volume_full: the volume has too little room.
        quota_exceeded: its owner owns too many bytes already.
    """
    node = editable(session, path)
    gap = "" if not node.content or node.content.endswith("\n") else "\n"
    end = "" if text.endswith("\n") else "\n"
    return Written(node.id, set_text(session, node, f"{node.content}{gap}{text}{end}").size)


@server.tool()
def replace_in_file(
    session: Session,
    path: Path,
    old_text: Annotated[str, Field(min_length=1, max_length=400)],
    new_text: Annotated[str, Field(max_length=400)],
) -> Replaced:
    """Replace every occurrence of a text in a file by another text.

    Args:
        path: the file.
        old_text: the text to replace, exactly as it stands in the file.
        new_text: what comes in its place.

    Raises:
        text_not_found: the file does not hold the text.
        binary_file: it holds no text.
        permission_denied: it may not be written.
        file_locked: somebody else has it open.
    """
    node = editable(session, path)
    count = node.content.count(old_text)
    if not count:
        raise ToolError(
            Fault.TEXT_NOT_FOUND,
            f"{shown(node.id)} does not hold {shown(old_text)}; read_file shows its text, upper and lower case matter.",
        )
    return Replaced(node.id, count, set_text(session, node, node.content.replace(old_text, new_text)).size)


@server.tool()
def sort_file_lines(
    session: Session, path: Path, descending: bool = False, numeric: bool = False, unique: bool = False
) -> Written:
    """Sort the lines of a text file in place.

    Args:
        path: the file.
        descending: from last to first.
        numeric: by the first number in each line instead of by letters.
        unique: drop repeated lines.

    Raises:
        is_a_directory: the path is a directory.
        binary_file: it holds no text.
        permission_denied: it may not be written.
        file_locked: somebody else has it open.
    """
    node = editable(session, path)
    lines = node.content.splitlines()
    lines = list(dict.fromkeys(lines)) if unique else lines
    lines.sort(key=first_number if numeric else lambda line: (0.0, line), reverse=descending)
    return Written(node.id, set_text(session, node, "".join(f"{line}\n" for line in lines)).size)


def first_number(line: str) -> tuple[float, str]:
    """A line's sort key by the first number in it; lines without one come first."""
    number = re.search(r"-?[0-9]{1,15}(\.[0-9]{1,9})?", line)
    return (float(number.group()) if number else float("-inf"), line)


@server.tool()
def touch_file(session: Session, path: Path) -> Written:
    """Create an empty file, or set an existing path's modification time to now.

    Args:
        path: the file; its directory must exist.

    Raises:
        permission_denied: the file or its directory may not be written.
        read_only_volume: nothing on the volume may be changed.
        file_locked: somebody else has it open.
    """
    place = locate(session, path)
    if place.node is None:
        return Written(make(session, place, "file").id, 0)
    check_writable(session, place.path)
    check_right(session, place.node, "write")
    check_unlocked(session, place.node)
    node = session.table(Node).put(replace(place.node, modified_at=session.now))
    return Written(node.id, node.size)
