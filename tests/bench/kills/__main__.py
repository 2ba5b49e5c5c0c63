"""Every stage of the pipeline, killed at random moments: the outputs of a run that nobody disturbed.

    python -m tests.bench.kills --stage all --kills 50

Works in a directory of its own, with one server, few conversations and a model of random weights (`workspace.py`).
A stage's inputs are those that the stages before it have just made there.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time

from tests.bench.kills.rounds import kill_stage, undisturbed
from tests.bench.kills.workspace import STAGES, begin


def main() -> None:
    """Kill runs of the stages until there were enough kills, then say what was seen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stage", choices=("all", *STAGES), default="all", help="which (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=50, help="of each stage (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (default: %(default)s)")
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills-") as place:
        os.chdir(place)
        begin()
        for stage in STAGES:
            if arguments.stage in ("all", stage):
                print(kill_stage(stage, arguments.kills, arguments.seed).told(), flush=True)
                if stage == arguments.stage:
                    break
            else:
                undisturbed(stage)
    print(f"{time.monotonic() - started:.0f} s; every round ended in the outputs of an undisturbed run")


if __name__ == "__main__":
    main()
