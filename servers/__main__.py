"""`python -m servers`: list the servers, show and call their tools, serve them over MCP."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from servers.gateway.app import build_http_app
from servers.gateway.hosts import hosts_for
from servers.gateway.lifecycle import Lifecycle
from servers.gateway.limits import Limits
from servers.gateway.principals import load_principals
from servers.gateway.serve import address, listen
from servers.gateway.serve import serve as serve_app
from servers.kernel.catalog import Catalog, describe, load_catalog, server_fingerprint
from servers.kernel.errors import HarnessError
from servers.kernel.mcp import serve_stdio
from servers.kernel.pool import SessionPool
from servers.kernel.store import Change

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
out = Console()

_LIMITS = Limits()

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Server = Annotated[str | None, typer.Option("--server", help="Only this server; all by default.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed number of the world.")]


@app.command("list")
def list_servers(as_json: AsJson = False) -> None:
    """List the servers with their tool counts and fingerprints."""
    catalog = load_catalog()
    rows = [
        {"server": s.name, "tools": len(s.tools), "title": s.title, "fingerprint": server_fingerprint(s)}
        for s in catalog.servers.values()
    ]
    if as_json:
        total = {"servers": rows, "tools": len(catalog.entries), "fingerprint": catalog.fingerprint}
        print(json.dumps(total, indent=2))
        return
    table = Table("server", "tools", "what it is for", title=f"{len(rows)} servers, {len(catalog.entries)} tools")
    for row in rows:
        table.add_row(str(row["server"]), str(row["tools"]), str(row["title"]))
    out.print(table)


@app.command()
def tools(server: Server = None, as_json: AsJson = False) -> None:
    """List tools with their parameters; required ones carry no question mark."""
    catalog = _catalog(server)
    if as_json:
        print(json.dumps([{"server": e.server.name, **describe(e.tool)} for e in catalog.entries.values()], indent=2))
        return
    table = Table("tool", "parameters", "what it does")
    for entry in catalog.entries.values():
        names = ", ".join(p.name + ("" if p.required else "?") for p in entry.tool.parameters)
        table.add_row(entry.tool.name, names, entry.tool.summary)
    out.print(table)


@app.command()
def call(
    tool: Annotated[str, typer.Argument(help="The tool's name.")],
    arguments: Annotated[str, typer.Argument(help="Its arguments as a JSON object.")] = "{}",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Call one tool in a fresh session and show the result and what it changed."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"the arguments are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise typer.BadParameter('the arguments must be a JSON object such as {"limit": 3}')
    pool = SessionPool(load_catalog())
    handle = pool.open(seed)
    outcome = pool.call(handle, tool, given)
    changes = pool.session(handle).diff()
    if as_json:
        result = {"ok": outcome.ok, "result": json.loads(outcome.text), "changes": [_change(c) for c in changes]}
        print(json.dumps(result, indent=2))
    else:
        out.print_json(outcome.text)
        for change in changes:
            told = f" {change.id}\n  - {change.before}\n  + {change.after}"
            out.print(Text.assemble((change.table, "bold"), told), soft_wrap=True)
    raise typer.Exit(0 if outcome.ok else 1)


@app.command()
def serve(
    server: Server = None,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="Address to bind (HTTP).")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to bind (HTTP); 0 takes a free one.", min=0, max=65535)] = 8765,
    capacity: Annotated[int, typer.Option(help="Most sessions open at once.", min=1)] = 4096,
    capacity_each: Annotated[
        int | None, typer.Option(help="Most sessions of one principal (default: --capacity).", min=1)
    ] = None,
    lifetime: Annotated[float, typer.Option(help="Seconds without use until a session is closed.", min=0)] = 3600.0,
    journal: Annotated[Path | None, typer.Option(help="Directory that keeps sessions over a restart.")] = None,
    default_session: Annotated[
        bool, typer.Option("--default-session", help="Serve clients that send no session handle (HTTP).")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes that share the sessions (HTTP).", min=1, max=999)] = 1,
    tokens: Annotated[
        Path | None, typer.Option(help="File of name=token lines (default: those of PROVE_GATEWAY_TOKENS).")
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(help="A name that clients call this gateway by; repeat for more.")
    ] = None,
    body: Annotated[int, typer.Option(help="Most bytes of one request.", min=1)] = _LIMITS.body,
    rate: Annotated[
        float | None, typer.Option(help="Most requests per second of one principal (default: no limit).", min=0.01)
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Most requests in progress at once.", min=1)] = _LIMITS.concurrency,
    deadline: Annotated[float, typer.Option(help="Seconds within which a call is answered.", min=0.01)] = (
        _LIMITS.deadline
    ),
    grace: Annotated[float, typer.Option(help="Seconds that running calls get after SIGTERM.", min=0)] = _LIMITS.grace,
) -> None:
    """Serve one server, or the gateway to all, over MCP (stdio by default)."""
    if not http:
        if workers > 1:
            raise typer.BadParameter("several workers need --http", param_hint="--workers")
        anyio.run(serve_stdio, SessionPool(_catalog(server), capacity=capacity, lifetime=lifetime, directory=journal))
        return
    principals = load_principals(tokens)
    hosts = hosts_for(host, allowed_host or (), bool(principals))
    limits = Limits(body, rate, concurrency, deadline, grace)
    each = capacity if capacity_each is None else capacity_each
    catalog = _catalog(server)
    catalog.warm()
    sock = listen(host, port)
    if workers > 1:
        from servers.gateway.supervisor import Gateway, Supervisor  # aiohttp takes a while to import

        gateway = Gateway(
            catalog, workers, hosts, principals, limits, capacity, each, lifetime, journal, default_session
        )
        print(f"serving {address(sock)}/mcp with {workers} workers", flush=True)
        raise typer.Exit(Supervisor(gateway, sock).run())
    pool = SessionPool(catalog, capacity=capacity, capacity_each=each, lifetime=lifetime, directory=journal)
    lifecycle = Lifecycle(limits.grace)
    application = build_http_app(
        pool, default_session=default_session, hosts=hosts, principals=principals, limits=limits, lifecycle=lifecycle
    )
    print(f"serving {address(sock)}/mcp", flush=True)
    serve_app(application, sock, lifecycle)


@app.command()
def coverage(
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Put the table into this Markdown file instead.")
    ] = None,
) -> None:
    """Print a Markdown table of what each server has, or write it between a file's two markers."""
    from servers.kernel.coverage import coverage_table, with_table  # networkx takes a while to import

    try:
        page = "" if write is None else write.read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(str(error), param_hint="--write") from None
    table = coverage_table(load_catalog())
    if write is None:
        print(table)
    else:
        write.write_text(with_table(page, table), encoding="utf-8")


def _catalog(server: str | None) -> Catalog:
    return load_catalog((server,) if server else ())


def _change(change: Change) -> dict[str, Any]:
    return {
        "table": change.table,
        "id": change.id,
        "before": None if change.before is None else str(change.before),
        "after": None if change.after is None else str(change.after),
    }


def main() -> None:
    """Run the command; a mistake in using it ends with one line and exit code 2."""
    try:
        app()
    except HarnessError as error:
        print(f"servers: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
