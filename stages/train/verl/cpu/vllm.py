"""vLLM on a CPU as verl's sampler: only how new weights come in differs from a GPU.

vLLM repacks the weights of its linear layers once they are loaded, so that verl's loading in place finds no place any
more. vLLM's own reloading, layer by layer, does.
"""

from __future__ import annotations

from typing import Any

import ray
import torch
from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightReceiver
from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension
from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMHttpServer, vLLMReplica


class CpuWorker(vLLMColocateWorkerExtension):  # type: ignore[misc]  # verl is untyped here
    """Lives in vLLM's worker."""

    def update_weights_from_ipc(
        self, peft_config: Any = None, base_sync_done: bool = False, use_shm: bool = False
    ) -> None:
        """Take all weights from shared memory.

        Raises:
            ValueError: adapters came; they are for GPUs.
        """
        if peft_config is not None:
            raise ValueError("adapters on the CPU test device: set train.policy.lora_rank to 0")
        received: list[tuple[str, torch.Tensor]] = []

        def keep(weights: Any, is_last: bool) -> None:
            received.extend((name, tensor.clone()) for name, tensor in weights)  # the memory is gone after this call

        BucketedWeightReceiver(self._get_zmq_handle(), torch.device("cpu"), use_shm=True).receive_weights(keep)
        self.model_runner.reload_weights(weights_iterator=iter(received), is_checkpoint_format=True)


class CpuServer(vLLMHttpServer):  # type: ignore[misc]  # verl is untyped here
    """vLLM's server with our worker."""

    def _get_worker_extension_cls(self) -> str:
        return f"{CpuWorker.__module__}.{CpuWorker.__name__}"


class CpuReplica(vLLMReplica):  # type: ignore[misc]  # verl is untyped here
    """One server."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.server_class = ray.remote(CpuServer)
