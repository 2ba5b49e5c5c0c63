"""The frame of every stage: arguments, typed params, tracking, progress, exit codes and the final table.

A stage is one function from its context to its outputs:

    def main(ctx: StageContext[DiscoverParams]) -> Sequence[Path]:
        ...

    if __name__ == "__main__":
        run_stage("discover", DiscoverParams, main)

Exit codes: 0 done, 1 failed, 2 bad usage or bad params.
"""

from __future__ import annotations

import argparse
import errno
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar

from pydantic import BaseModel
from rich.text import Text

from servers.kernel.errors import HarnessError
from stages.artifacts import ArtifactError, Stamp
from stages.params import (
    DEFAULT_SEED,
    BootstrapParams,
    ParamsError,
    TeacherParams,
    check_block,
    load_params,
    params_hash,
)
from stages.progress import Bar, error_console, human_time, progress, show_results, visible
from stages.tracking import Tracker, tracker_for
from stages.tracking.tracker import masked

if TYPE_CHECKING:
    from servers.kernel.catalog import Catalog

PARAMS = Path("params.yaml")

_REFUSALS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EIO),
}
"""What a file system says that is full, or that does not let this process write where it has to."""

_AGAIN = "make room, or let it be written to, and run the stage again; what was finished before is whole"

ParamsT = TypeVar("ParamsT", bound=BaseModel)
BlockT = TypeVar("BlockT", bound=BaseModel)
Main: TypeAlias = "Callable[[StageContext[ParamsT]], Sequence[Path]]"
Program: TypeAlias = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class StageContext(Generic[ParamsT]):
    """What a stage may know of the run: its params, the servers, and where to report.

    `params` is the stage's own block, `seed` the pipeline's; `document` holds all blocks as plain data,
    to be read with `block`.
    """

    name: str
    params: ParamsT
    seed: int = DEFAULT_SEED
    document: Mapping[str, Any] = field(default_factory=dict)
    tracker: Tracker = field(default_factory=lambda: Tracker("", enabled=False))

    @cached_property
    def catalog(self) -> Catalog:
        """The servers of the `bootstrap` block, or all of them.

        Raises:
            ParamsError: the block names a server that there is not.
        """
        from servers.kernel.catalog import load_catalog, server_names

        wanted, known = self.block(BootstrapParams, "bootstrap").servers, server_names()
        for name in wanted:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                advice = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
                raise ParamsError(f"bootstrap.servers: unknown server {name!r}; {advice}")
        return load_catalog(tuple(wanted))

    @cached_property
    def stamp(self) -> Stamp:
        """What this stage's artefacts are made from: the servers' fingerprint and the hash of `params`."""
        return Stamp(self.catalog.fingerprint, params_hash(self.params))

    def block(self, kind: type[BlockT], name: str) -> BlockT:
        """Another block of `params.yaml`, typed; its defaults if it is absent.

        Raises:
            ParamsError: the block has an unknown key or a bad value.
        """
        return _block(kind, name, self.document, self.tracker)

    def progress(self, title: str, total: int | None = None) -> AbstractContextManager[Bar]:
        """A progress bar for the length of a `with` block."""
        return progress(f"{self.name}: {title}", total)

    def log_metrics(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Track metrics; those without a step also appear in the final table. What is no number is left out, told."""
        self.tracker.log_metrics(values, step)

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Track parameters that are not in `params.yaml`; its blocks are tracked when they are read."""
        self.tracker.log_params(values)


def run_stage(
    name: str,
    kind: type[ParamsT],
    main: Main[ParamsT],
    commands: Mapping[str, Main[ParamsT]] | None = None,
    *,
    dry_run: Main[ParamsT] | None = None,
    programs: Mapping[str, Program] | None = None,
) -> NoReturn:
    """Run a stage as a program, then exit.

    Args:
        name: the stage's name, which is also that of its block in `params.yaml`.
        kind: the type of that block.
        main: does the work and returns the outputs.
        commands: other things that `python -m stages.<name> COMMAND` does instead, in the same frame but untracked.
        dry_run: what `--dry-run` does instead, untracked too; there is no such option if it is None.
        programs: commands with arguments of their own and without the frame; each returns its exit code.
    """
    if sys.argv[1:] and sys.argv[1] in (programs or {}):
        sys.exit((programs or {})[sys.argv[1]](sys.argv[2:]))
    arguments = _parse(name, main, {**(commands or {}), **(programs or {})}, dry_run)
    other = dry_run if arguments.dry_run else (commands or {}).get(arguments.command)
    if other:
        untracked = Tracker(name, enabled=False)
        sys.exit(execute(name, kind, other, arguments.params, untracked))
    sys.exit(execute(name, kind, main, arguments.params, tracker_for(name)))


def execute(name: str, kind: type[ParamsT], main: Main[ParamsT], params: Path, tracker: Tracker) -> int:
    """Run a stage in its frame and return the exit code; expected errors are told in one line."""
    begin = time.monotonic()
    try:
        document = load_params(params)
        seed = document.get("seed", DEFAULT_SEED)
        tracker.log_params({"seed": seed})
        ctx = StageContext(name, _block(kind, name, document, tracker), seed, document, tracker)
        teacher = str(document.get("teacher", {}).get("model", TeacherParams().model))
        tracker.set_tags({"fingerprint": ctx.stamp.fingerprint, "params_hash": ctx.stamp.params, "teacher": teacher})
        outputs = _existing(main(ctx))
        tracker.log_hashes(outputs)
    except ParamsError as error:
        if tracker.started:
            tracker.close("FAILED")
        return _complain(name, error, 2)
    except (ArtifactError, HarnessError) as error:
        tracker.close("FAILED")
        return _complain(name, error, 1)
    except KeyboardInterrupt:
        tracker.close("KILLED")
        return _complain(name, "interrupted", 130)
    except Exception as error:  # noqa: BLE001  # whatever it is, the tracked run ends first
        told = trouble_with_files(error)
        if told is None:  # a fault of ours: show where
            print(visible(masked(traceback.format_exc())), file=sys.stderr, end="")
        tracker.close("FAILED")
        return 1 if told is None else _complain(name, told, 1)
    tracker.close("FINISHED")
    if outputs or tracker.latest:
        show_results(outputs, tracker.latest)
    error_console().print(Text(f"{name}: done in {human_time(time.monotonic() - begin)}"))
    return 0


def trouble_with_files(error: Exception) -> str | None:
    """What to do about a file system that is full or refuses to be written to; None if the error is another."""
    if isinstance(error, shutil.Error):  # one line for each file of a copied directory, as text
        source, target, why = error.args[0][0]
        if "[Errno" in str(why):
            return f"{target}: it could not be copied from {source} ({why}): {_AGAIN}"
        return None
    if not isinstance(error, OSError) or error.errno not in _REFUSALS:
        return None
    where = f"{error.filename}: " if error.filename else ""
    why = error.strerror if error.filename else str(error)
    return f"{where}{why}: {_AGAIN}"


def _parse(
    name: str, main: Main[Any], commands: Mapping[str, Main[Any] | Program], dry_run: Main[Any] | None
) -> argparse.Namespace:
    about = (main.__doc__ or "").strip() or f"Run the stage {name}."
    parser = argparse.ArgumentParser(prog=f"python -m stages.{name}", description=about, allow_abbrev=False)
    parser.set_defaults(command=None, dry_run=False)
    if commands:
        told = "; ".join(f"{key}: {_summary(command)}" for key, command in commands.items())
        parser.add_argument("command", nargs="?", choices=sorted(commands), help=told.replace("%", "%%"))
    parser.add_argument(
        "--params", type=Path, default=PARAMS, metavar="PATH", help="the parameters (default: %(default)s)"
    )
    if dry_run:
        parser.add_argument("--dry-run", action="store_true", help=_summary(dry_run).replace("%", "%%"))
    return parser.parse_args()


def _summary(command: Main[Any] | Program) -> str:
    return (command.__doc__ or "").strip().partition("\n")[0]


def _block(kind: type[BlockT], name: str, document: Mapping[str, Any], tracker: Tracker) -> BlockT:
    block: BlockT = check_block(kind, document.get(name, {}), name)
    tracker.log_params({name: block.model_dump(mode="json")})
    return block


def _existing(outputs: Sequence[Path]) -> Sequence[Path]:
    for path in outputs:
        if not path.exists():
            raise ArtifactError(f"{path} was to be written and is not there")
    return outputs


def _complain(name: str, message: object, code: int) -> int:
    lines = [line.strip() for line in str(message).splitlines() if line.strip()]
    error_console().print(Text(visible(f"{name}: {'; '.join(lines)}")), soft_wrap=True)
    return code
