"""What a trial of two tools showed, in words: the calls that ran, the rows they shared, and the error without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from servers.kernel.store import RowRef
from servers.kernel.tool import Parameter, Tool
from stages.artifacts import dump
from stages.discover.samples import Failure
from stages.sampling import Binding

LONGEST_CALL = 160
"""Characters of a call that are told."""

ROWS_TOLD = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a trial: the error code that stood in the way without the first tool, or "" for no edge."""

    code: str
    text: str


def fed(before: Binding, parameter: Parameter, value: str, after: Binding, code: str) -> Trial:
    """An output of the first call made the second work."""
    return Trial(
        code,
        f"{told(before)} shows {parameter.name} {value}; {told(after)} works with it, and fails with {code} without",
    )


def not_fed(first: Tool, second: Tool, parameter: Parameter, shown: int, worked: bool) -> Trial:
    """No output of the first tool was needed."""
    if not shown:
        return Trial("", f"no run of {first.name} shows a {parameter.entity} that it was not given")
    if worked:
        return Trial("", f"{second.name} also works with a {parameter.name} that does not exist")
    return Trial("", f"{second.name} works with none of {shown} {parameter.entity} ids that {first.name} shows")


def unfed(first: Tool, second: Tool) -> Trial:
    """No kind of identifier passes from the first tool to the second."""
    return Trial("", f"{second.name} requires no kind of identifier that {first.name} returns")


def enabled(before: Binding, failure: Failure, rows: Sequence[RowRef]) -> Trial:
    """The first call changed rows that let the second work."""
    code = failure.outcome.error_code
    text = f"{told(failure.binding)} fails with {code}; {told(before)} writes {named(rows)}, then it works"
    return Trial(code, text)


def not_enabled(first: Tool, second: Tool, fails: Sequence[Failure], tries: int) -> Trial:
    """The first tool changed nothing for the second."""
    if not fails:
        return Trial("", f"no run of {second.name} fails without {first.name}")
    codes = ", ".join(sorted({failure.outcome.error_code for failure in fails}))
    return Trial("", f"{second.name} fails with {codes}, and none of {tries} calls of {first.name} changes that")


def untraced(first: Tool, second: Tool) -> Trial:
    """The two share no state."""
    return Trial("", f"no run of {first.name} writes to a table that {second.name} reads")


def told(binding: Binding) -> str:
    """A call as text, cut to a readable length."""
    text = f"{binding.tool} {dump(binding.arguments)}"
    return text if len(text) <= LONGEST_CALL else f"{text[: LONGEST_CALL - 1]}…"


def named(rows: Sequence[RowRef]) -> str:
    """Rows by table and id, the first few of them."""
    names = [f"{table} {key}" for table, key in rows[:ROWS_TOLD]]
    more = len(rows) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")
