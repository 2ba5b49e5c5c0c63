"""A trajectory: its tokens are the local engine's, its state its own, and no fault goes further than itself."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from servers.kernel.catalog import Catalog
from servers.kernel.errors import KernelFault
from servers.kernel.session import Session
from stages.chat import ChatFormat, encode_conversation
from stages.dataset import ReplayStep, RlRow
from stages.reward.rules import RewardRules
from stages.rollout import episode_for, visible_spec
from stages.train.batched_rollout import Trajectory, rollout
from stages.train.config import SamplingConfig
from stages.train.sampling import Sampled
from stages.train.verl import environment as environments
from stages.train.verl.environment import Environment
from stages.train.verl.evidence import EPISODE, evidence, scored
from stages.train.verl.faults import FAULTS
from stages.train.verl.limits import Limits
from stages.train.verl.trajectory import Generate, Played, TokenCap, play_trajectory
from tests.stages.train.verl.scripted import ScriptedModel, calling, saying
from tests.stages.train.verl.small import rl_rows


def whole(text: str) -> str:
    return text


async def played(
    catalog: Catalog | Environment,
    chat: ChatFormat,
    row: RlRow,
    limits: Limits,
    generate: Generate,
    shorten: Callable[[str], str] = whole,
) -> Played:
    environment = catalog if isinstance(catalog, Environment) else Environment(catalog)
    return await play_trajectory(environment, chat, row, limits, generate, shorten)


def card_row(catalog: Catalog) -> tuple[RlRow, str]:
    """A row whose tools change something, and an active card."""
    names = ("list_accounts", "list_cards", "freeze_card")
    tools = tuple(visible_spec(catalog.entry(name).tool) for name in names)
    rows = catalog.world(0).rows.tables["banking.Card"]
    card = next(key for key, value in rows.items() if getattr(value, "status") == "active")  # noqa: B009
    return replace(rl_rows(catalog, 1)[0], tools=tools), str(card)


class Replayed:
    """The local sampler's place, with replies from a script."""

    def __init__(self, chat: ChatFormat, script: list[Any]) -> None:
        self._replies = iter([chat.reply(said) for said in script])

    def __call__(self, *_: Any, **__: Any) -> Replayed:
        return self

    def start(self, prompts: Any) -> None: ...

    def extend(self, chunks: Any) -> None: ...

    def sample(self, limits: dict[int, int]) -> dict[int, Sampled]:
        ids = tuple(next(self._replies)[: limits[0]])
        return {0: Sampled(ids, (-0.5,) * len(ids), True)}


def local(
    monkeypatch: pytest.MonkeyPatch, catalog: Catalog, chat: ChatFormat, row: RlRow, limits: Limits, script: list[Any]
) -> Trajectory:
    """The same replies played by the local engine."""
    monkeypatch.setattr("stages.train.batched_rollout.Sampler", Replayed(chat, script))
    sampling = SamplingConfig(
        max_new_tokens=limits.reply, max_context=limits.context, max_rounds=limits.rounds, batch_size=1
    )
    model = SimpleNamespace(training=False, eval=lambda: None, train=lambda mode: None)
    return rollout(model, chat, [episode_for(catalog, row, limits.rounds)], sampling)[0]


@pytest.mark.parametrize("number", [0, 1])
async def test_tokens_record_and_mask_are_the_local_engines(
    monkeypatch: pytest.MonkeyPatch, catalog: Catalog, chat: ChatFormat, limits: Limits, number: int
) -> None:
    row = rl_rows(catalog, 2)[number]
    script = [calling("list_payees"), calling("list_accounts"), saying("Done.")]
    ours = await played(catalog, chat, row, limits, ScriptedModel(chat, script))
    theirs = local(monkeypatch, catalog, chat, row, limits, script)
    assert ours.fault is None and len(ours.record.calls) == 2
    assert (ours.prompt, ours.ids, ours.mask, ours.logprobs, ours.record) == (
        theirs.prompt, theirs.ids, theirs.mask, theirs.logprobs, theirs.record,
    )  # fmt: skip
    encoded = encode_conversation(chat, row.tools, ours.record.messages, first_trained=len(row.messages))
    assert (*ours.prompt, *ours.ids) == encoded.ids
    assert (*[False] * len(ours.prompt), *ours.mask) == encoded.mask


async def test_the_model_is_asked_with_exactly_the_tokens_so_far(
    catalog: Catalog, chat: ChatFormat, limits: Limits
) -> None:
    model = ScriptedModel(chat, [calling("list_payees"), saying("Done.")])
    done = await played(catalog, chat, rl_rows(catalog, 1)[0], limits, model)
    assert model.prompts[0] == list(done.prompt)
    last = len(done.ids) - len(chat.reply(saying("Done.")))
    assert model.prompts[1] == [*done.prompt, *done.ids[:last]]


async def test_state_carries_from_call_to_call_and_never_across_trajectories(
    catalog: Catalog, chat: ChatFormat, limits: Limits
) -> None:
    row, card = card_row(catalog)
    script = [calling("freeze_card", {"card_id": card}), calling("freeze_card", {"card_id": card}), saying("Done.")]
    environment = Environment(catalog)
    both = await asyncio.gather(
        *(played(environment, chat, row, limits, ScriptedModel(chat, script)) for _ in range(2))
    )
    for done in both:
        assert [call.ok for call in done.record.calls] == [True, False], "the second call sees what the first one did"
    untouched = Session(catalog.world(0))
    assert both[0].record.state_hash == both[1].record.state_hash != untouched.state_hash
    assert environment.live == 0


async def test_broken_json_is_answered_and_the_episode_goes_on(
    catalog: Catalog, chat: ChatFormat, tokenizer: Any, limits: Limits
) -> None:
    model = ScriptedModel(chat, [saying(""), calling("list_accounts"), saying("Done.")])
    text = '<tool_call>{"name": "list_accounts", "arguments": {"kind": }}</tool_call>'
    ids = [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]

    async def generate(prompt: list[int], most: int) -> Any:
        reply = await model(prompt, most)
        return reply._replace(ids=ids, logprobs=[0.0] * len(ids)) if len(model.prompts) == 1 else reply

    done = await played(catalog, chat, rl_rows(catalog, 1)[0], limits, generate)
    assert [call.ok for call in done.record.calls] == [False, True]
    assert done.record.calls[0].error_code == "invalid_call"
    assert done.fault is None and "not valid JSON" in done.record.messages[2].content


async def test_a_tool_that_the_row_does_not_show_is_refused(catalog: Catalog, chat: ChatFormat, limits: Limits) -> None:
    script = [calling("list_cards"), saying("Done.")]
    done = await played(catalog, chat, rl_rows(catalog, 1)[0], limits, ScriptedModel(chat, script))
    assert [call.error_code for call in done.record.calls] == ["unknown_tool"] and done.fault is None


async def test_a_long_result_is_shortened_in_tokens_and_says_so(
    catalog: Catalog, chat: ChatFormat, tokenizer: Any, limits: Limits
) -> None:
    script = [calling("list_accounts"), saying("Done.")]
    row = rl_rows(catalog, 1)[0]
    done = await played(catalog, chat, row, limits, ScriptedModel(chat, script), TokenCap(tokenizer, 60))
    told = done.record.messages[2].content
    assert len(tokenizer(told)["input_ids"]) <= 66 and "more tokens were left out" in told
    assert done.record.calls[0].result.startswith(told[:40]), "the record keeps the whole result"
    encoded = encode_conversation(chat, row.tools, done.record.messages, first_trained=1)
    assert (*done.prompt, *done.ids) == encoded.ids


@pytest.mark.parametrize(
    ("change", "stop"),
    [({"reply": 4}, "length"), ({"response": 30}, "length"), ({"rounds": 1}, "rounds"), ({"context": 3}, "length")],
)
async def test_budgets_end_an_episode_without_a_fault(
    catalog: Catalog, chat: ChatFormat, limits: Limits, change: dict[str, int], stop: str
) -> None:
    script = [calling("list_accounts")] * 4
    tight = limits.model_copy(update=change)
    done = await played(catalog, chat, rl_rows(catalog, 1)[0], tight, ScriptedModel(chat, script))
    assert (done.fault, done.record.stop) == (None, stop)
    assert len(done.ids) <= tight.response
    assert not done.ids or len(done.prompt) + len(done.ids) <= tight.context


class Breaking(Catalog):
    """Servers that break when a tool is called."""

    def __init__(self, catalog: Catalog, act: Callable[[], Any]) -> None:
        super().__init__(catalog.servers.values())
        self._act = act

    def call(self, session: Session, name: str, arguments: Any) -> Any:
        return self._act() or super().call(session, name, arguments)


def internal() -> Any:
    return SimpleNamespace(ok=False, error_code=KernelFault.INTERNAL, text="{}")


def boom() -> Any:
    raise RuntimeError("boom")


async def test_each_fault_masks_its_own_trajectory_and_no_other(
    catalog: Catalog, chat: ChatFormat, limits: Limits
) -> None:
    release = threading.Event()
    hanging = Breaking(catalog, lambda: (release.wait(20), None)[1])
    good, row = Environment(catalog), rl_rows(catalog, 2)[1]
    quick = limits.model_copy(update={"call_seconds": 0.2, "episode_seconds": 0.6})
    script = [calling("list_accounts"), saying("Done.")]
    bad_replay = replace(row, replay=(ReplayStep("freeze_card", {"card_id": "none"}),))
    plain = replace(row, replay=())
    cases = {
        "ok": played(good, chat, row, limits, ScriptedModel(chat, script)),
        "generation": played(good, chat, row, limits, ScriptedModel(chat, [RuntimeError("server died")])),
        "generation later": played(good, chat, row, limits, ScriptedModel(chat, [script[0], TimeoutError("slow")])),
        "episode_deadline": played(good, chat, row, quick, ScriptedModel(chat, [30.0])),
        "open": played(good, chat, bad_replay, limits, ScriptedModel(chat, script)),
        "prompt": played(good, chat, row, limits.model_copy(update={"prompt": 5}), ScriptedModel(chat, script)),
        "call": played(Breaking(catalog, internal), chat, plain, limits, ScriptedModel(chat, script)),
        "error": played(Breaking(catalog, boom), chat, plain, limits, ScriptedModel(chat, script)),
        "call_deadline": played(Environment(hanging), chat, plain, quick, ScriptedModel(chat, script)),
        "ok too": played(good, chat, row, limits, ScriptedModel(chat, script)),
    }
    found = dict(zip(cases, await asyncio.gather(*cases.values()), strict=True))
    release.set()
    assert {name: done.fault for name, done in found.items()} == {
        name: None if name.startswith("ok") else name.split()[0] for name in cases
    }
    assert good.live == 0
    assert found["ok"].record == found["ok too"].record
    keys = set()
    for name, done in found.items():
        episode = scored("train", row, 0, done, RewardRules())
        told = evidence(done, episode)
        keys.add(tuple(told))
        assert episode.reward.masked == (not name.startswith("ok")) == bool(told["masked"]), name
        assert sum(told[f"fault_{fault}"] for fault in FAULTS) == (0 if name.startswith("ok") else 1)
        assert all(isinstance(value, float) for key, value in told.items() if key != EPISODE)
    assert len(keys) == 1, "verl takes the keys from the first sample: all must have the same"
    assert scored("train", row, 0, found["ok"], RewardRules()).reward.total == pytest.approx(1.3)


async def test_a_hanging_call_does_not_hold_the_others_up(
    monkeypatch: pytest.MonkeyPatch, catalog: Catalog, chat: ChatFormat, limits: Limits
) -> None:
    release, first = threading.Event(), threading.Event()

    def hang_once() -> None:
        if not first.is_set():
            first.set()
            release.wait(20)

    environment = Environment(Breaking(catalog, hang_once), threads=1)
    row = rl_rows(catalog, 1)[0]
    quick = limits.model_copy(update={"call_seconds": 0.3})
    script = [calling("list_accounts"), saying("Done.")]
    done = await asyncio.gather(*(played(environment, chat, row, quick, ScriptedModel(chat, script)) for _ in range(6)))
    assert sorted(str(d.fault) for d in done) == ["None"] * 5 + ["call_deadline"]
    assert environment.stuck == 1, "the thread is counted for as long as it hangs"
    monkeypatch.setattr(environments, "SPARE_THREADS", 1)
    refused = await played(environment, chat, row, quick, ScriptedModel(chat, script))
    assert refused.fault == "error" and "restart the worker" in refused.detail
    release.set()
    for _ in range(100):
        await asyncio.sleep(0.02)
        if not environment.stuck:
            break
    assert environment.stuck == 0


async def test_cancelling_closes_the_session(catalog: Catalog, chat: ChatFormat, limits: Limits) -> None:
    environment = Environment(catalog)
    task = asyncio.create_task(played(environment, chat, rl_rows(catalog, 1)[0], limits, ScriptedModel(chat, [30.0])))
    await asyncio.sleep(0.1)
    assert environment.live == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert environment.live == 0


async def test_512_trajectories_at_once_in_one_worker(catalog: Catalog, chat: ChatFormat, limits: Limits) -> None:
    environment, rows = Environment(catalog), rl_rows(catalog, 4)
    script = [calling("list_payees"), calling("list_accounts"), saying("Done.")]
    models = [ScriptedModel(chat, script) for _ in range(512)]
    generous = limits.model_copy(update={"episode_seconds": 50.0, "call_seconds": 50.0})
    done = await asyncio.gather(
        *(played(environment, chat, rows[i % 4], generous, model) for i, model in enumerate(models))
    )
    assert {d.fault for d in done} == {None} and environment.live == 0
    for number in range(4):
        assert all(d.record == done[number].record and d.ids == done[number].ids for d in done[number::4])
    per_episode = environment.seconds / 512
    print(f"environment: {1e6 * per_episode:.0f} µs of CPU an episode of 2 calls")
    assert per_episode < 0.05
