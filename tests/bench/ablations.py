"""A grid of four cells under two seeds with a tiny model: killed once, resumed, and run again in peace.

    python -m tests.bench.ablations [--cells 4] [--seeds 2] [--after 4] [--parallel 2]

Prints which trainings were done when the grid was killed, whether any of them was run again, and whether the table, the
figure and every training's episodes are byte for byte those of the undisturbed run; then the table. Exit code 1 if not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.flows.grids import Grids, make_grid


def main() -> int:
    """Kill, resume, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--after", type=int, default=4, help="trainings after which it is killed, the warm start too")
    parser.add_argument("--parallel", type=int, default=2)
    arguments = parser.parse_args()
    parallel = ("--parallel", str(arguments.parallel))
    with tempfile.TemporaryDirectory() as scratch:
        seeds = range(1, arguments.seeds + 1)
        grids = Grids(make_grid(Path(scratch), arguments.cells, seeds))
        begin = time.monotonic()
        done = grids.killed_when(arguments.after, *parallel)
        print(f"killed after {time.monotonic() - begin:.0f} s with {len(done)} trainings done", flush=True)
        told = grids.run(*parallel)
        finished, outputs = grids.finished(), grids.outputs()
        again = [path for path, when in done.items() if finished[path] != when]
        print(f"resumed: {len(finished)} trainings, {len(again)} of the finished ones run again", flush=True)
        grids.forget()
        grids.run(*parallel)
        differing = sorted(name for name, content in grids.outputs().items() if outputs.get(name) != content)
        print(f"undisturbed: {len(outputs)} files, {len(differing)} differ {', '.join(differing)}")
        print(told[told.index(" cell") :])
    return 1 if again or differing else 0


if __name__ == "__main__":
    sys.exit(main())
