"""The sampling server of the test device: one Ray actor with a copy of the model and the local engine's sampler.

Requests that arrive together are drawn together. A request brings all of its tokens, so nothing is kept between
replies; that is slow, simple, and no part of what is tested.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from verl.workers.rollout.replica import TokenOutput

from stages.train import attention
from stages.train.order import mixed_seed
from stages.train.sampling import Sampled, Sampler

BATCH = 16
WINDOW_SECONDS = 0.02


class _Request(NamedTuple):
    """What is asked for; `manner` is temperature and stop tokens, which a batch shares."""

    prompt: list[int]
    most: int
    manner: tuple[float, frozenset[int]]
    answer: asyncio.Future[Sampled]


class SamplingServer:
    """Draws replies for verl's agent loops, and takes new weights."""

    def __init__(self, path: str, seed: int) -> None:
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(1)
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="sdpa").eval()
        self._model.config._attn_implementation = attention.register()
        self._seed, self._drawn, self._version = seed, 0, 0
        self._waiting: list[_Request] = []
        self._work: asyncio.Task[None] | None = None

    async def ready(self) -> bool:
        """Whether the weights are loaded, which they are once this can be asked."""
        return True

    async def load_weights(self, state: Mapping[str, torch.Tensor], version: int | None) -> None:
        """Replace all weights; `version` is the step that they are of.

        Raises:
            RuntimeError: they are of another model.
        """
        missing, unexpected = self._model.load_state_dict(dict(state), strict=False)
        lacking = [name for name in missing if name != "lm_head.weight"]  # tied in small models
        if lacking or unexpected:
            raise RuntimeError(f"these weights are of another model: {[*lacking, *unexpected][:3]}")
        self._model.tie_weights()
        self._version = self._version if version is None else version

    async def generate(
        self, prompt_ids: Sequence[int], sampling_params: Mapping[str, Any], request_id: str, **_: Any
    ) -> TokenOutput:
        """One reply to a prompt."""
        answer: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        manner = float(sampling_params["temperature"]), frozenset(sampling_params["stop_token_ids"])
        self._waiting.append(_Request(list(prompt_ids), int(sampling_params["max_tokens"]), manner, answer))
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._draw_all())
        reply = await answer
        return TokenOutput(
            token_ids=list(reply.ids),
            log_probs=list(reply.logprobs),
            stop_reason="completed",
            extra_fields={"global_steps": self._version},
        )

    async def _draw_all(self) -> None:
        while self._waiting:
            await asyncio.sleep(WINDOW_SECONDS)
            manner = self._waiting[0].manner
            batch = [request for request in self._waiting if request.manner == manner][:BATCH]
            self._waiting = [request for request in self._waiting if request not in batch]
            try:
                replies = await asyncio.to_thread(self._draw, batch, *manner)
            except Exception as error:  # noqa: BLE001  # those who wait must hear of it
                for request in batch:
                    request.answer.set_exception(RuntimeError(f"sampling failed: {error}"))
                continue
            for request, reply in zip(batch, replies, strict=True):
                request.answer.set_result(reply)

    def _draw(self, batch: Sequence[_Request], temperature: float, stops: frozenset[int]) -> list[Sampled]:
        self._drawn += 1
        seed = mixed_seed(self._seed, self._drawn)
        sampler = Sampler(self._model, stops, temperature=temperature, seed=seed)
        sampler.start([request.prompt for request in batch])
        replies = sampler.sample({row: request.most for row, request in enumerate(batch)})
        return [replies[row] for row in range(len(batch))]

    async def nothing(self, *_: Any, **__: Any) -> None:
        """What a server with a GPU would have to do."""

    wake_up = sleep = clear_kv_cache = release_kv_cache = resume_kv_cache = nothing
    start_profile = stop_profile = abort_all_requests = resume_generation = nothing

    async def set_global_steps(self, version: int) -> None:
        """The step that the present weights are of."""
        self._version = version
