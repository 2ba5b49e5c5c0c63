"""`python -m stages.play`: call tools by hand on a live session, or try a dataset row's task.

    python -m stages.play --server banking
    python -m stages.play --row c000012-0

Lines may also be piped in. Exit codes: 0 done, 1 there is no such row or no dataset, 2 bad usage.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from servers.kernel.catalog import Catalog, load_catalog
from servers.kernel.errors import HarnessError
from stages.artifacts import ArtifactError
from stages.params import ParamsError, check_block, load_params
from stages.play.game import HELP, Game, free_episode, row_episode, show_reward, show_task
from stages.play.rows import row_of
from stages.progress import PLAIN_WIDTH
from stages.reward.rules import RewardRules
from stages.skills import scorer_under

PARAMS = Path("params.yaml")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    server: Annotated[str, typer.Option(metavar="NAME", help="only this server's tools; none: all")] = "",
    row: Annotated[str, typer.Option(metavar="ID", help="a row of data/dataset: its world, request and tools")] = "",
    seed: Annotated[int, typer.Option(min=0, help="the world to play in, where no row says")] = 0,
    params: Annotated[Path, typer.Option(metavar="PATH", help="whose block `reward` scores a row")] = PARAMS,
) -> None:
    """Call tools by hand on a live session; with a row, see what that would have earned."""
    if row and server:
        raise typer.BadParameter("a row brings its own tools: leave out --server", param_hint="--server")
    try:
        if row:
            _play_row(row, params)
        else:
            catalog = load_catalog((server,) if server else ())
            _play_freely(catalog, seed)
    except ParamsError as error:
        raise typer.BadParameter(str(error)) from None
    except HarnessError as error:
        raise typer.BadParameter(str(error), param_hint="--server") from None
    except ArtifactError as error:
        Console(stderr=True, highlight=False).print(f"play: {error}", markup=False, soft_wrap=True)
        raise typer.Exit(1) from None


def _play_row(identifier: str, params: Path) -> None:
    document = load_params(params)
    rules: RewardRules = check_block(RewardRules, document.get("reward", {}), "reward")
    catalog = load_catalog(tuple((document.get("bootstrap") or {}).get("servers", ())))
    row, out = row_of(identifier, catalog.fingerprint), _console()
    show_task(row, out)
    game = Game(catalog, row_episode(catalog, row), _asker(), out)
    game.play()
    show_reward(row, game.episode, scorer_under(rules, lambda: catalog), out)


def _play_freely(catalog: Catalog, seed: int) -> None:
    out = _console()
    out.print(f"{len(catalog.entries)} tools of {', '.join(catalog.servers)}; world {seed}", soft_wrap=True)
    out.print(HELP, markup=False, highlight=False)
    Game(catalog, free_episode(catalog, seed), _asker(), out).play()


def _console() -> Console:
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=PLAIN_WIDTH)


def _asker() -> Callable[[str], str]:
    """Where lines come from: with a prompt and a history on a terminal, silently elsewhere."""
    if not sys.stdin.isatty():
        return lambda _prompt: _line()
    import readline  # noqa: F401  # gives input() its history

    return input


def _line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


if __name__ == "__main__":
    app()
