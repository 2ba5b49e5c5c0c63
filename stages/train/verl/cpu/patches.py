"""Functions of verl that presume an accelerator, replaced while this process runs.

Its process groups, of Ray's workers and of torchrun's, ask for one backend for the CPU and one for the device: on a CPU
that is the same backend twice, which torch refuses. And its frozen reference asks for pinned memory, which only an
accelerator has.
"""

from __future__ import annotations

import os
from datetime import timedelta
from functools import partial

import torch.distributed
import verl.utils.distributed
import verl.utils.fsdp_utils
from torch.distributed.fsdp import CPUOffloadPolicy


def initialise_gloo(timeout_second: int | None = None, backend: str | None = None) -> None:
    """Join the process group that the environment variables describe."""
    if torch.distributed.is_initialized():
        return
    torch.distributed.init_process_group(
        backend=backend or "gloo",
        rank=int(os.environ.get("RANK", "0")),
        world_size=int(os.environ.get("WORLD_SIZE", "1")),
        timeout=None if timeout_second is None else timedelta(seconds=timeout_second),
        init_method=os.environ.get("DIST_INIT_METHOD"),
    )


def _unpinned(pin_memory: bool = True) -> CPUOffloadPolicy:
    return CPUOffloadPolicy(pin_memory=False)


verl.utils.distributed.initialize_global_process_group_ray = initialise_gloo
verl.utils.distributed.initialize_global_process_group = initialise_gloo
verl.utils.fsdp_utils.CPUOffloadPolicy = partial(_unpinned)
