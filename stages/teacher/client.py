"""The one way to a teacher: a chat model by its LiteLLM name, asked within limits, a budget and a cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from stages.params import ParamsError, Role, TeacherParams
from stages.records import Message, ToolSpec
from stages.teacher import scripted
from stages.teacher.budget import Budget
from stages.teacher.cache import Cache, digest
from stages.teacher.errors import Failure, TeacherError
from stages.teacher.ledger import Ledger, Usage
from stages.teacher.limits import Limits
from stages.teacher.pricing import cost_of, rough_tokens
from stages.teacher.provider import is_scripted, load_litellm
from stages.teacher.retry import failure_of, retry_after_of, with_attempts
from stages.teacher.wire import SaidCall, assistant_message, from_openai, function, to_openai

MOST_TOKENS = 100_000_000
"""Tokens of one answer, as its provider counts them; no model reads or writes so many."""

LONGEST_ANSWER = 1_000_000
"""Characters of one answer's text, names and arguments."""

OVERTIME = 30.0
"""Seconds beyond `timeout` after which an answer is given up whose every piece came in time."""


@dataclass(frozen=True, slots=True)
class Completion:
    """One answer with what it cost when it was given (tokens as the provider counts them, US dollars).

    `truncated` says that it was cut off at the limit on its tokens.
    """

    message: Message
    prompt_tokens: int
    completion_tokens: int
    cost: float
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Shared:
    """What the teachers of one stage have in common."""

    ledger: Ledger = field(default_factory=Ledger)
    cache: Cache | None = None
    budget: Budget | None = None


class Teacher:
    """A chat model by its LiteLLM name.

    Args:
        params: model, address, sampling and limits.
        role: the part that it plays, for the accounts.
        shared: accounts, cache and budget; accounts of its own and nothing else by default.
        limits: how fast it may be asked; its own, from `params`, by default.
        address: where it is served, if that differs from `params.api_base`.

    Raises:
        ParamsError: its address holds a user or a password.
    """

    def __init__(
        self,
        params: TeacherParams,
        role: Role = "assistant",
        shared: Shared | None = None,
        limits: Limits | None = None,
        address: str | None = None,
    ) -> None:
        if "@" in urlsplit(params.api_base or "").netloc:
            raise ParamsError("teacher.api_base holds a user or a password: keys come from environment variables alone")
        self.params = params
        self.role: Role = role
        self._shared = shared or Shared()
        self._limits = limits or Limits(params.concurrency, params.requests_per_minute, params.tokens_per_minute)
        self._address = address or params.api_base
        if not self.is_scripted:
            self._litellm, self._openai = load_litellm(), import_module("openai")

    @property
    def is_scripted(self) -> bool:
        """Whether the teacher plays plans rather than thinks."""
        return is_scripted(self.params.model)

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        script: Mapping[str, Any],
        tools: Sequence[ToolSpec] = (),
        temperature: float | None = None,
        seed: int = 0,
        keep: Callable[[Message], bool] = bool,
        whole: bool = True,
    ) -> Completion:
        """One assistant message.

        Args:
            messages: the conversation, which is not changed.
            script: the plan for the scripted teacher; never sent to another model.
            tools: the tools that the teacher may call.
            temperature: sampling temperature; the teacher's own by default.
            seed: passed on to providers that take one.
            keep: whether an answer is worth keeping in the cache.
            whole: whether an answer that is cut off at `max_tokens` is a failure.

        Raises:
            TeacherError: every attempt failed, or the answer cannot be used.
            BudgetReachedError: there is nothing left to spend.
        """
        said = [to_openai(message) for message in messages]
        if self.is_scripted:
            return await self._ask({"messages": said, "script": {"seed": seed, **script}}, 0, whole)
        request: dict[str, Any] = {
            "model": self.params.model,
            "messages": said,
            "temperature": self.params.temperature if temperature is None else temperature,
            "max_tokens": self.params.max_tokens,
            "seed": seed,
        }
        if tools:
            request["tools"] = [function(tool) for tool in tools]
        cache, key = self._shared.cache, digest({**request, "api_base": self.params.api_base, "whole": whole})
        kept = cache.get(key) if cache else None
        if kept is not None:
            self._usage.cached += 1
            return _from_cache(kept)
        sent = {**request, "api_base": self._address, "drop_params": True}  # some providers take no seed
        done = await self._ask(sent, rough_tokens(messages, tools), whole)
        if cache and keep(done.message):
            cache.put(key, _to_cache(done))
        return done

    def unusable(self, reason: Failure, cause: str, *, for_good: bool = True) -> TeacherError:
        """Enter into the accounts an answer that its reader cannot use; the error is the reader's to raise.

        Args:
            reason: the kind of failure.
            cause: what is wrong with it.
            for_good: whether no better one will be asked for.
        """
        self._usage.failures[reason] += 1
        self._usage.failed += for_good
        return TeacherError(self.params.model, reason, cause)

    @property
    def _usage(self) -> Usage:
        return self._shared.ledger.of(self.role)

    async def _ask(self, request: Mapping[str, Any], tokens: int, whole: bool) -> Completion:
        def count_retry() -> None:
            self._usage.retries += 1

        attempts = 1 if self.is_scripted else self.params.attempts
        try:
            return await with_attempts(lambda: self._attempt(request, tokens, whole), attempts, count_retry)
        except TeacherError:
            self._usage.failed += 1
            raise

    async def _attempt(self, request: Mapping[str, Any], tokens: int, whole: bool) -> Completion:
        async with self._limits.slot(tokens) as ticket:
            try:
                self._admit()
                done = self._play(request) if self.is_scripted else self._count(await self._send(request))
                self._check(done, whole)
            except TeacherError as error:
                self._usage.failures[error.reason] += 1
                raise
            ticket.tokens = done.prompt_tokens + done.completion_tokens
        return done

    def _admit(self) -> None:
        """Enter a request into the accounts, if there is anything left to spend."""
        if self._shared.budget:
            self._shared.budget.check(self._shared.ledger)
        self._usage.requests += 1

    def _play(self, request: Mapping[str, Any]) -> Completion:
        """The scripted teacher's answer: it is sent nowhere and costs nothing."""
        try:
            said = scripted.write(request["script"], request["messages"])
        except Exception as error:  # a broken script costs one conversation, like a broken server
            told = f"{type(error).__name__}: {error}"
            raise TeacherError(self.params.model, Failure.SERVER_ERROR, told) from error
        calls = (SaidCall(call["id"], **call["function"]) for call in said.get("tool_calls", ()))
        return Completion(assistant_message(said["content"] or "", calls), 0, 0, 0.0)

    async def _send(self, request: Mapping[str, Any]) -> Any:
        seconds = self.params.timeout
        try:
            async with asyncio.timeout(seconds + OVERTIME):
                return await self._litellm.acompletion(**request, timeout=seconds, num_retries=0, max_retries=0)
        except TimeoutError:
            cause = f"the answer was not whole after {seconds + OVERTIME:g} s"
            raise TeacherError(self.params.model, Failure.TIMEOUT, cause) from None
        except self._openai.OpenAIError as error:  # what all of LiteLLM's exceptions derive from
            cause = f"{type(error).__name__}: {error}"
            raise TeacherError(self.params.model, failure_of(error), cause, retry_after_of(error)) from None

    def _count(self, response: Any) -> Completion:
        """Enter into the accounts what a response cost, usable or not, and read it."""
        used = getattr(response, "usage", None)
        prompt, completion = getattr(used, "prompt_tokens", 0) or 0, getattr(used, "completion_tokens", 0) or 0
        if not (0 <= prompt <= MOST_TOKENS and 0 <= completion <= MOST_TOKENS):
            raise TeacherError(self.params.model, Failure.UNREADABLE, "the answer's count of its tokens cannot be true")
        cost = cost_of(response, self.params, prompt, completion)
        self._usage.prompt_tokens += prompt
        self._usage.completion_tokens += completion
        self._usage.cost += cost
        if self._shared.budget:
            self._shared.budget.pay(cost)
        try:
            choice = response.choices[0]
            said = from_openai(choice.message)
            done = Completion(said, prompt, completion, cost, choice.finish_reason == "length")
        except (AttributeError, IndexError, TypeError) as error:
            raise TeacherError(self.params.model, Failure.UNREADABLE, f"no message in the answer ({error})") from None
        size = len(said.content) + sum(len(call.name) + len(call.raw) for call in said.tool_calls)
        if size > LONGEST_ANSWER:
            raise TeacherError(self.params.model, Failure.UNREADABLE, f"the answer has {size:,} characters")
        return done

    def _check(self, done: Completion, whole: bool) -> None:
        model = self.params.model
        if done.truncated and whole:
            raise TeacherError(model, Failure.TRUNCATED, "the answer is cut off: raise teacher.max_tokens")
        if not done.message.content and not done.message.tool_calls:
            raise TeacherError(model, Failure.EMPTY, "neither text nor a call in the answer")


def _to_cache(done: Completion) -> dict[str, Any]:
    calls = [SaidCall(call.id, call.name, call.raw) for call in done.message.tool_calls]
    return {
        "content": done.message.content,
        "calls": calls,
        "prompt_tokens": done.prompt_tokens,
        "completion_tokens": done.completion_tokens,
        "cost": done.cost,
        "truncated": done.truncated,
    }


def _from_cache(kept: Mapping[str, Any]) -> Completion:
    calls = (SaidCall(*call) for call in kept["calls"])
    message = assistant_message(kept["content"], calls)
    return Completion(message, kept["prompt_tokens"], kept["completion_tokens"], kept["cost"], kept["truncated"])
