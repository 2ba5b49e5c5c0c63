"""The catalogue's tables: one row for each server and for each tool."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from servers.kernel.catalog import Catalog, describe, server_fingerprint
from servers.kernel.server import make_world
from stages.artifacts import dump

SERVERS = pa.schema(
    [
        ("server", pa.string()),
        ("title", pa.string()),
        ("tools", pa.int64()),
        ("rows", pa.int64()),
        ("entities", pa.list_(pa.string())),
        ("error_codes", pa.list_(pa.string())),
        ("seed_hash", pa.string()),
        ("fingerprint", pa.string()),
        ("healthy", pa.bool_()),
        ("detail", pa.string()),
    ]
)

TOOLS = pa.schema(
    [
        ("server", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("input_schema", pa.string()),
        ("output_schema", pa.string()),
        ("read_only", pa.bool_()),
        ("destructive", pa.bool_()),
        ("idempotent", pa.bool_()),
        ("error_codes", pa.list_(pa.string())),
    ]
)


def server_rows(catalog: Catalog, seed: int, problems: dict[str, str]) -> list[dict[str, Any]]:
    """One row for each server; `problems` says what is wrong with those that are not healthy."""
    out = []
    for server in catalog.servers.values():
        rows = make_world([server], seed).rows
        entities = {p.entity for tool in server.tools.values() for p in tool.parameters if p.entity}
        out.append(
            {
                "server": server.name,
                "title": server.title,
                "tools": len(server.tools),
                "rows": sum(len(table) for table in rows.tables.values()),
                "entities": sorted(entities),
                "error_codes": sorted(server.faults),
                "seed_hash": f"{rows.digest:032x}",
                "fingerprint": server_fingerprint(server),
                "healthy": server.name not in problems,
                "detail": problems.get(server.name, ""),
            }
        )
    return out


def tool_rows(catalog: Catalog) -> list[dict[str, Any]]:
    """One row for each tool."""
    out = []
    for entry in catalog.entries.values():
        plain = describe(entry.tool)
        schemas = {key: dump(plain[key]) for key in ("input_schema", "output_schema")}
        out.append({"server": entry.server.name, **plain, **schemas})
    return out
