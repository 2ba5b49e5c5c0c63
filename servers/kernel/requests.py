"""How people ask for each tool: `requests.yaml` beside a server's tools.

For each tool it lists phrasings with placeholders, and plausible values for parameters that are not
sampled from live state:

    send_payment:
      ask:
        - "Pay {amount} to {payee_id.name} from {source_account_id.name}, my PIN is {pin}."
      values:
        amount: [25, 40.5]

`{amount}` stands for the argument itself, `{payee_id.name}` for a field of the result in which a lookup
tool shows that id. A value `$entity.field` is read from a live thing of that kind.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from string import Formatter
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from servers.kernel.errors import HarnessError
from servers.kernel.server import ToolServer
from servers.kernel.tool import Tool
from servers.kernel.yaml_text import read_yaml


class ToolRequests(BaseModel):
    """The phrasings and values of one tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ask: list[str] = Field(min_length=4)
    values: dict[str, list[Any]] = {}


_ENTRIES = TypeAdapter(dict[str, ToolRequests])


def placeholders(text: str) -> dict[str, str]:
    """The parameters that a phrasing mentions, each with the field shown for it ('' for the value).

    Raises:
        ValueError: a brace is not closed or not opened.
    """
    found = {}
    for _, name, _, _ in Formatter().parse(text):
        if name:
            parameter, _, shown = name.partition(".")
            found[parameter] = shown
    return found


@lru_cache(maxsize=64)
def load_requests(server: ToolServer) -> dict[str, ToolRequests]:
    """Read and check a server's `requests.yaml`.

    Raises:
        HarnessError: it is not of the form above, a tool is missing or unknown, or a placeholder names no parameter.
    """
    return parse_requests(files(f"servers.{server.name}").joinpath("requests.yaml").read_bytes(), server)


def parse_requests(data: bytes, server: ToolServer) -> dict[str, ToolRequests]:
    """Check what a server's `requests.yaml` holds.

    Raises:
        HarnessError: as for `load_requests`.
    """
    try:
        entries = _ENTRIES.validate_python(read_yaml(data))
    except ValidationError as error:
        bad = error.errors()[0]
        place = ".".join(str(part) for part in bad["loc"])
        raise HarnessError(f"{server.name}/requests.yaml: {place}: {bad['msg']}") from None
    except ValueError as error:
        raise HarnessError(f"{server.name}/requests.yaml is not YAML: {error}") from None
    if entries.keys() != server.tools.keys():
        odd = sorted(entries.keys() ^ server.tools.keys())
        raise HarnessError(f"{server.name}/requests.yaml and the tools differ in {', '.join(odd)}")
    for name, entry in entries.items():
        _check(server, server.tools[name], entry)
    return entries


def _check(server: ToolServer, tool: Tool, entry: ToolRequests) -> None:
    where = f"{server.name}/requests.yaml, {tool.name}"
    parameters = {parameter.name: parameter for parameter in tool.parameters}
    for text in entry.ask:
        try:
            mentioned = placeholders(text)
        except ValueError as error:
            raise HarnessError(f"{where}: {text!r} has odd braces: {error}") from None
        for name, field in mentioned.items():
            if name not in parameters:
                raise HarnessError(f"{where}: {{{name}}} is no parameter of the tool: {text!r}")
            if field and parameters[name].entity is None:
                raise HarnessError(f"{where}: {name} is no identifier, so {{{name}.{field}}} can't be shown")
    for name in entry.values:
        if name not in parameters:
            raise HarnessError(f"{where}: values for {name}, which is no parameter of the tool")
    needed = {p.name for p in tool.parameters if p.required and p.entity is None and not p.sensitive}
    unfilled = needed - entry.values.keys() - {p.name for p in tool.parameters if "enum" in p.schema}
    if unfilled:
        raise HarnessError(f"{where}: no values for the required {', '.join(sorted(unfilled))}")
