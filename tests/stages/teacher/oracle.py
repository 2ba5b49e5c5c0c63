"""A good model: it knows the draft of each conversation and plays it over the wire."""

from __future__ import annotations

from typing import Any

from stages.synthesize.mix import Job
from stages.synthesize.writer import Writer
from stages.teacher import scripted
from tests.stages.synthesize.writing import chains, context, jobs, params
from tests.stages.teacher.loopback import Reply, message


class Oracle:
    """Answers as a good model would: it reads the seed of a request and plays that conversation's draft."""

    def __init__(self, conversations: int) -> None:
        chosen = params(conversations=conversations)
        writer = Writer(context(chosen), chains())
        self.jobs: list[Job] = jobs(chosen)
        drafts = [writer._draft(job)[1] for job in self.jobs]
        self.turns = [draft.turns if draft else () for draft in drafts]
        self.told: dict[int, int] = {}

    def __call__(self, request: dict[str, Any], number: int) -> Reply:
        index, said = request["seed"], request["messages"]
        if not request.get("tools"):
            turn = self.told.get(index, 0)
            self.told[index] = turn + 1
            script = self.turns[index][turn].user
        else:
            turn = sum(m["role"] == "user" for m in said) - 1
            script = self.turns[index][turn].assistant
        answer = scripted.write({"seed": index, **script}, said)
        calls = [(c["function"]["name"], c["function"]["arguments"]) for c in answer.get("tool_calls") or []]
        return message(answer["content"], calls)
