"""`python -m stages.bootstrap`: boot and check every server, publish the catalogue, fetch the base weights.

`python -m stages.bootstrap diff` says how the servers at hand differ from the published catalogue.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

from servers.kernel.catalog import server_fingerprint
from stages.artifacts import DATA, REPORTS, ArtifactError, read_table, replaced_directory, write_json, write_table
from stages.bootstrap.catalogue import SERVERS, TOOLS, server_rows, tool_rows
from stages.bootstrap.health import check_server
from stages.params import BootstrapParams
from stages.stage import StageContext, run_stage


def main(ctx: StageContext[BootstrapParams]) -> Sequence[Path]:
    """Check all servers, write the catalogue, and put the base weights where training finds them."""
    problems = asyncio.run(check_all(ctx))
    rows = server_rows(ctx.catalog, ctx.seed, problems)
    with replaced_directory(DATA / "catalog") as target:
        write_table(target / "servers.parquet", SERVERS, rows, ctx.stamp)
        write_table(target / "tools.parquet", TOOLS, tool_rows(ctx.catalog), ctx.stamp)
        write_json(target / "fingerprint.json", {"fingerprint": ctx.catalog.fingerprint})
    metrics = {
        "fingerprint": ctx.catalog.fingerprint,
        "tools": len(ctx.catalog.entries),
        "entities": len({entity for row in rows for entity in row["entities"]}),
        "error_codes": sum(len(row["error_codes"]) for row in rows),
        "servers": rows,
    }
    write_json(REPORTS / "metrics" / "bootstrap.json", metrics)
    ctx.log_metrics({"servers": len(rows), "tools": len(ctx.catalog.entries)})
    if problems:
        name, problem = next(iter(problems.items()))
        raise ArtifactError(f"{len(problems)} of {len(rows)} servers are not healthy, first {name}: {problem}")
    fetch_policy(ctx.params.policy)
    return [DATA / "catalog", DATA / "policy_base", REPORTS / "metrics" / "bootstrap.json"]


async def check_all(ctx: StageContext[BootstrapParams]) -> dict[str, str]:
    """What is wrong with each server that is not healthy; as many are booted at once as there are cores."""
    slots = asyncio.Semaphore(os.cpu_count() or 1)
    problems: dict[str, str] = {}
    with ctx.progress("Booting servers", total=len(ctx.catalog.servers)) as bar:

        async def check(name: str) -> None:
            async with slots:
                problem = await check_server(ctx.catalog, ctx.catalog.servers[name], ctx.seed, ctx.params.transport)
            if problem:
                problems[name] = problem
            bar.advance(1, failed=int(bool(problem)))

        await asyncio.gather(*(check(name) for name in ctx.catalog.servers))
    return dict(sorted(problems.items()))


def fetch_policy(base: str) -> None:
    """Save the base weights under `data/policy_base`."""
    from stages.train.config import PolicyConfig
    from stages.train.policy import load_policy

    load_policy(PolicyConfig(base=base, dtype="bfloat16")).save(DATA / "policy_base")


def diff(ctx: StageContext[BootstrapParams]) -> Sequence[Path]:
    """Print which servers and tools differ from the published catalogue."""
    path = DATA / "catalog" / "servers.parquet"
    published = {row["server"]: row["fingerprint"] for row in read_table(path, SERVERS, None)}
    tools = {row["name"]: row for row in read_table(DATA / "catalog" / "tools.parquet", TOOLS, None)}
    live = {name: server_fingerprint(server) for name, server in ctx.catalog.servers.items()}
    for name in sorted(published.keys() | live.keys()):
        if published.get(name) != live.get(name):
            print(f"server {name}: published {published.get(name, 'absent')}, here {live.get(name, 'absent')}")
    here = {row["name"]: row for row in tool_rows(ctx.catalog)}
    for name in sorted(tools.keys() | here.keys()):
        old, new = tools.get(name), here.get(name)
        if old is None or new is None:
            print(f"  tool {name}: {'added' if old is None else 'removed'}")
        elif old != new:
            print(f"  tool {name}: {', '.join(key for key in old if old[key] != new[key])} changed")
    return []


if __name__ == "__main__":
    run_stage("bootstrap", BootstrapParams, main, {"diff": diff})
