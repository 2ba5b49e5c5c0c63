"""Two stages on a small graph, as a program of its own: python -m tests.stages.small_run.

Runs in the present directory, which holds `params.yaml` and the stages' inputs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from stages.params import SynthesizeParams, ValidateParams
from stages.stage import execute
from stages.synthesize import __main__ as synthesize
from stages.tracking import Tracker
from stages.validate import __main__ as validate


def main() -> int:
    """Run both, and return the exit code of the first that failed."""
    for name, kind, stage in (
        ("synthesize", SynthesizeParams, synthesize.main),
        ("validate", ValidateParams, validate.main),
    ):
        code = execute(name, kind, stage, Path("params.yaml"), Tracker(name, enabled=False))
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
