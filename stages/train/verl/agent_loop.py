"""verl's face of a trajectory: an agent loop that plays our episodes and scores them on the spot.

verl makes one instance for each trajectory and calls `run` with the columns of its row. The catalogue and its threads
are made once for each worker process. A masked trajectory goes back with its tokens and no own ones: it takes no part
in any sum over tokens, the advantage estimator leaves it out of its group, and its reward is never looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from uuid import uuid4

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from servers.kernel.catalog import load_catalog
from stages.chat import chat_format
from stages.dataset import rl_row
from stages.train.verl.environment import Environment
from stages.train.verl.evidence import evidence, scored
from stages.train.verl.limits import LoopSettings
from stages.train.verl.members import member_of
from stages.train.verl.trajectory import Generated, Played, TokenCap, play_trajectory


@lru_cache(maxsize=4)
def worker_environment(servers: tuple[str, ...], threads: int) -> Environment:
    """The one environment of this process."""
    return Environment(load_catalog(servers), threads)


class EpisodeLoop(AgentLoopBase):  # type: ignore[misc]  # verl is untyped here
    """Plays one episode of a dataset row; `settings` is a `LoopSettings` as JSON."""

    def __init__(self, *args: Any, settings: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._settings = LoopSettings.model_validate_json(settings)
        self._chat = chat_format(self.tokenizer, described=self._settings.described)
        self._shorten = TokenCap(self.tokenizer, self._settings.limits.tool_response)

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Play and score; verl's columns arrive as keywords."""
        row = rl_row(json.loads(kwargs["extra_info"]["row"]))
        request = uuid4().hex
        wanted = {**sampling_params, "stop_token_ids": sorted(self._chat.stop_ids)}

        async def generate(ids: list[int], most: int) -> Generated:
            output = await self.server_manager.generate(
                request_id=request, prompt_ids=ids, sampling_params={**wanted, "max_tokens": most}
            )
            versions = output.extra_fields.get("min_global_steps"), output.extra_fields.get("max_global_steps")
            logprobs = [0.0] * len(output.token_ids) if output.log_probs is None else output.log_probs
            known = None if None in versions else (int(versions[0]), int(versions[1]))
            return Generated(output.token_ids, logprobs, known)

        settings = self._settings
        environment = worker_environment(settings.servers, settings.threads)
        training, place = kwargs["extra_info"]["split"] == "train", int(kwargs.get("session_id", 0))
        member = member_of(kwargs.get("members") if training else None, place)
        played = await play_trajectory(environment, self._chat, row, settings.limits, generate, self._shorten, member)
        name = played.origin if training else f"step-{settings.first + int(kwargs['global_steps'])}"
        episode = scored(name, row, place, played, settings.rules)
        return self._output(played, episode.reward.total, evidence(played, episode), int(kwargs["global_steps"]))

    def _output(self, played: Played, total: float, told: dict[str, Any], step: int) -> AgentLoopOutput:
        stop = min(self._chat.stop_ids)
        ids: Sequence[int] = played.ids or (stop,)  # verl has no empty responses
        own = played.mask if played.ids and not told["masked"] else [False] * len(ids)
        first, last = played.versions or (step - 1, step - 1)
        return AgentLoopOutput(
            prompt_ids=list(played.prompt[: self._settings.limits.prompt]) or [stop],
            response_ids=list(ids),
            response_mask=[int(mine) for mine in own],
            response_logprobs=list(played.logprobs) or [0.0],
            reward_score=total,
            num_turns=len(played.record.messages),
            metrics=AgentLoopMetrics(
                generate_sequences=played.seconds_model, tool_calls=played.seconds_environment, num_preempted=-1
            ),
            extra_fields={
                "reward_extra_info": told,
                "fault": played.detail,
                "min_global_steps": first,
                "max_global_steps": last,
                "turn_scores": [],
                "tool_rewards": [],
            },
        )
