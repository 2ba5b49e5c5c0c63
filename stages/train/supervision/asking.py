"""Many questions to a teacher at once, from code that is not asynchronous."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from stages.records import Message
from stages.teacher.client import Teacher
from stages.teacher.errors import TeacherError


class Asker:
    """Puts facts to a teacher under one prompt."""

    def __init__(self, teacher: Teacher, prompt: str) -> None:
        self._teacher, self._prompt = teacher, prompt
        self._runner = asyncio.Runner()

    def answers(self, facts: Sequence[Mapping[str, Any]]) -> list[str]:
        """One text for each set of facts, asked at the same time; empty where the teacher failed for good."""
        return self._runner.run(self._all(facts))

    async def _all(self, facts: Sequence[Mapping[str, Any]]) -> list[str]:
        return list(await asyncio.gather(*map(self._one, facts)))

    async def _one(self, facts: Mapping[str, Any]) -> str:
        asked = [Message("system", self._prompt), Message("user", to_json(facts, fallback=dict).decode())]
        try:
            return (await self._teacher.complete(asked, script={})).message.content
        except TeacherError:
            return ""
