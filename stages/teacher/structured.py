"""Answers that have to fit a schema: asked for, read, checked, and sent back with the errors if they don't fit.

A provider that can hold its model to a JSON Schema is given one. All others are told by the prompt, so what
they write around the JSON (fences, reasoning, a sentence) is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter

from stages.records import Message
from stages.teacher.client import Completion, Teacher
from stages.teacher.errors import Failure
from stages.teacher.provider import load_litellm

REPAIRS = 2
"""How often an answer that does not fit is sent back."""

LONGEST_COMPLAINT = 1500
"""Characters of a validation error that go back to the model."""

T = TypeVar("T")

_AGAIN = "This is not what was asked for: {}\nAnswer again, with the whole JSON and nothing else."

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_BRACKETED = re.compile(r"[\[{].*[\]}]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """A value that fits, and all the answers that it took."""

    value: T
    completions: tuple[Completion, ...]

    @property
    def cost(self) -> float:
        """US dollars for all of them."""
        return sum(done.cost for done in self.completions)


async def complete_json(
    teacher: Teacher,
    messages: Sequence[Message],
    schema: type[T] | TypeAdapter[T],
    *,
    script: Mapping[str, Any],
    temperature: float | None = None,
    seed: int = 0,
    repairs: int = REPAIRS,
) -> Structured[T]:
    """Ask for JSON that fits a schema.

    Args:
        teacher: who is asked.
        messages: the conversation, which is not changed; it says that JSON is wanted, and of which form.
        schema: a pydantic model, or an adapter of any type.
        script: the plan for the scripted teacher.
        temperature: sampling temperature; the teacher's own by default.
        seed: passed on to providers that take one.
        repairs: how often an answer that does not fit is sent back.

    Raises:
        TeacherError: no answer, or (reason `bad_structure`) none that fits.
    """
    adapter: TypeAdapter[T] = schema if isinstance(schema, TypeAdapter) else TypeAdapter(schema)
    said, answers = list(messages), list[Completion]()
    while True:
        done = await teacher.complete(
            said,
            script=script,
            temperature=temperature,
            seed=seed,
            response_format=_response_format(teacher, adapter),
            keep=lambda message: _fits(adapter, message.content),
        )
        answers.append(done)
        try:
            return Structured(read_json(adapter, done.message.content), tuple(answers))
        except ValueError as error:
            complaint = str(error)[:LONGEST_COMPLAINT]
            is_last = len(answers) > repairs
            failure = teacher.unusable(Failure.BAD_STRUCTURE, complaint, for_good=is_last)
            if is_last:
                raise failure from None
            said += [Message("assistant", done.message.content), Message("user", _AGAIN.format(complaint))]


def read_json(adapter: TypeAdapter[T], text: str) -> T:
    """The value in a model's answer: what is fenced in it and within brackets, else all of it.

    Raises:
        ValueError: says what does not fit.
    """
    fenced = _FENCED.search(text)
    bare = fenced.group(1) if fenced else text
    bracketed = _BRACKETED.search(bare)
    return adapter.validate_json((bracketed.group() if bracketed else bare).strip())


def _fits(adapter: TypeAdapter[Any], text: str) -> bool:
    try:
        read_json(adapter, text)
    except ValueError:
        return False
    return True


def _response_format(teacher: Teacher, adapter: TypeAdapter[Any]) -> dict[str, Any] | None:
    """The schema in the form of chat completions, where the provider takes one and the answer is an object."""
    model, schema = teacher.params.model, adapter.json_schema()
    takes_one = model.startswith("hosted_vllm/") or load_litellm().supports_response_schema(model)
    if teacher.is_scripted or not takes_one or schema.get("type") != "object":
        return None
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
