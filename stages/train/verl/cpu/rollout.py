"""The sampling server behind verl's two faces: a replica that starts it, and an adapter that brings new weights."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any

import ray
import torch
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica

from stages.train.verl.cpu.server import SamplingServer

Weights = Iterable[tuple[str, torch.Tensor]] | AsyncIterable[tuple[str, torch.Tensor]]


def _actor(rank: int) -> str:
    return f"prove_cpu_server_{rank}"


class CpuReplica(RolloutReplica):  # type: ignore[misc]  # verl is untyped here
    """One sampling server."""

    async def launch_servers(self) -> None:
        """Start the actor and wait until its weights are loaded."""
        options = {"name": _actor(self.replica_rank), "max_concurrency": self.max_concurrency, "num_cpus": 1}
        self._server_handle = ray.remote(SamplingServer).options(**options).remote(
            self.model_config.path, int(self.config.seed) + self.replica_rank
        )  # fmt: skip
        await self._server_handle.ready.remote()
        self.servers = [self._server_handle]
        self._server_address = _actor(self.replica_rank)

    async def abort_all_requests(self, reject_request: bool = False) -> None:
        """Nothing runs on between steps."""


class CpuRollout(BaseRollout):  # type: ignore[misc]  # verl is untyped here
    """Lives in the trainer's process and sends weights to the server."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1) -> None:
        super().__init__(config, model_config, device_mesh)
        self._rank = replica_rank if replica_rank >= 0 else int(os.environ["RANK"])

    async def resume(self, tags: list[str]) -> None:
        """The server's memory is its own."""

    async def release(self) -> None:
        """The server's memory is its own."""

    async def update_weights(self, weights: Weights, global_steps: int | None = None, **_: Any) -> None:
        """Send all weights, whole."""
        state = {name: tensor.detach().to("cpu").clone() async for name, tensor in _each(weights)}
        server = ray.get_actor(_actor(self._rank))
        await server.load_weights.remote(state, global_steps)


async def _each(weights: Weights) -> AsyncIterator[tuple[str, torch.Tensor]]:
    if isinstance(weights, AsyncIterable):
        async for item in weights:
            yield item
        return
    for item in weights:
        yield item
