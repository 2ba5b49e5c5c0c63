"""The CPU as one of verl's platforms: one device, gloo, and a logical GPU that Ray counts and nothing needs."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry


def _nothing(*_: Any, **__: Any) -> None:
    """Accepts what an accelerator would do."""


def _zero(*_: Any, **__: Any) -> int:
    return 0


class _CpuModule(types.ModuleType):
    """`torch.cpu` with the parts of `torch.cuda` that verl calls: memory figures are 0, the rest does nothing."""

    mem_get_info = staticmethod(lambda *_, **__: (0, 0))
    get_device_name = staticmethod(lambda *_, **__: "CPU")
    get_rng_state = staticmethod(torch.get_rng_state)
    set_rng_state = staticmethod(torch.set_rng_state)
    empty_cache = ipc_collect = reset_peak_memory_stats = set_device = staticmethod(_nothing)
    manual_seed = manual_seed_all = staticmethod(_nothing)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("max_memory", "memory_")):
            return _zero
        return getattr(torch.cpu, name)


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):  # type: ignore[misc]  # verl is untyped here
    """What verl asks of a platform, answered for a CPU."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _CpuModule("cpu_device")

    def is_available(self) -> bool:
        """Always."""
        return True

    def current_device(self) -> torch.device:
        """What `tensor.to` and FSDP take."""
        return torch.device("cpu")

    def device_count(self) -> int:
        """One."""
        return 1

    def manual_seed(self, seed: int) -> None:
        """Seed torch."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed
    set_device = synchronize = set_allocator_settings = empty_cache = staticmethod(_nothing)
    profiler_start = profiler_stop = cudart = staticmethod(_nothing)

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        """A CPU has none."""
        return None, None

    def communication_backend_name(self) -> str:
        """The only backend there is."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Ray sets this for its logical GPU."""
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """No profiler, no range."""
        yield

    def ray_resource_name(self) -> str:
        """A logical GPU: Ray counts it and nothing looks for the device."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Keep Ray from hiding devices."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """Weights go through shared memory instead."""
        return False
