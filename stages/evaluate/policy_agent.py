"""A local policy as an agent: greedy replies to many conversations in one batch."""

from __future__ import annotations

from collections.abc import Sequence

from stages.evaluate.benchmark import Request
from stages.records import Message
from stages.train.config import SamplingConfig
from stages.train.policy import Policy
from stages.train.sampling import Sampler


class PolicyAgent:
    """Answers each request from its whole conversation.

    Args:
        policy: the model.
        config: lengths and temperature; a prompt over `max_context` tokens gets an empty answer, since the
            model could not have read it.
    """

    def __init__(self, policy: Policy, config: SamplingConfig) -> None:
        self._policy = policy
        self._config = config
        self.refused = 0

    def reply_many(self, requests: Sequence[Request]) -> Sequence[Message]:
        """One assistant message for each request, in order."""
        chat, config = self._policy.chat, self._config
        prompts = [chat.opening(request.tools, request.messages) for request in requests]
        fitting = [i for i, prompt in enumerate(prompts) if len(prompt) < config.max_context]
        self.refused += len(prompts) - len(fitting)
        replies = [Message("assistant", "")] * len(prompts)
        for first in range(0, len(fitting), config.batch_size):
            batch = fitting[first : first + config.batch_size]
            sampler = Sampler(self._policy.network, chat.stop_ids, temperature=config.temperature)
            sampler.start([prompts[i] for i in batch])
            room = {n: min(config.max_new_tokens, config.max_context - len(prompts[i])) for n, i in enumerate(batch)}
            for n, sampled in sampler.sample(room).items():
                request = requests[batch[n]]
                replies[batch[n]] = chat.parse(sampled.ids, turn=len(request.messages))
        return replies
