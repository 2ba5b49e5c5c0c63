"""What the trainer's process does with our phase: signal, journals, monitor and alarm, without verl."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from servers.kernel.catalog import Catalog
from stages.chat import ChatFormat
from stages.dataset import RlRow
from stages.params import check_block
from stages.reward.rules import RewardRules
from stages.stage import StageContext
from stages.train.batched_rollout import Trajectory
from stages.train.collapse import CollapseError
from stages.train.journal import Journal
from stages.train.params import TrainParams
from stages.train.supervision.signal import SAMPLED, Member
from stages.train.verl.driver import Driver, Finished
from stages.train.verl.environment import Environment
from stages.train.verl.evidence import evidence, scored
from stages.train.verl.limits import Limits
from stages.train.verl.members import member_of, to_text
from stages.train.verl.phase import Phase
from stages.train.verl.prepare import phase_of
from stages.train.verl.trajectory import Played, play_trajectory
from tests.stages.train.verl.scripted import ScriptedModel, calling, saying
from tests.stages.train.verl.small import rl_rows, write_workspace

TRAIN: dict[str, Any] = {
    "policy": {"base": "data/policy_base"},
    "phases": ["grpo"],
    "grpo": {"batch_size": 1, "group_size": 4, "steps": 20, "checkpoint_every": 1},
}


@pytest.fixture
def workspace(tmp_path: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_workspace(tmp_path, catalog)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def phase(first: int = 0, **train: Any) -> Phase:
    params: TrainParams = check_block(TrainParams, {**TRAIN, **train}, "train")
    document = {"bootstrap": {"servers": ["banking"]}, "train": {}}
    ctx = StageContext("train", params, document=document)
    return phase_of(ctx, Path("work"), Path("work/verl/000000"), first, params.grpo.steps)


def driver(made: Phase, catalog: Catalog, tokenizer: Any) -> Driver:
    return Driver(made, rl_rows(catalog, 4), tokenizer, ExitStack())


async def finished(
    catalog: Catalog, chat: ChatFormat, row: RlRow, limits: Limits, script: list[Any], member: Member = SAMPLED
) -> Finished:
    model = ScriptedModel(chat, script)
    played = await play_trajectory(Environment(catalog), chat, row, limits, model, str, member)
    return told_of(played, row)


def told_of(played: Played, row: RlRow, sample: int = 0) -> Finished:
    episode = scored(played.origin, row, sample, played, RewardRules())
    trajectory = Trajectory(
        played.prompt, played.ids, played.mask, played.logprobs, played.record, origin=played.origin
    )
    own = torch.tensor(played.logprobs)[torch.tensor(played.mask, dtype=torch.bool)]
    return Finished(episode, evidence(played, episode), trajectory, own, own - 0.1)


GOOD = [calling("list_accounts"), saying("Done.")]
BAD = [saying("No.")]


def test_members_travel_as_text() -> None:
    group = [Member(replies=(calling("list_accounts", {"a": [1]}), saying("é"))), Member(hint="so"), SAMPLED]
    text = to_text(group)
    assert [member_of(text, place) for place in range(3)] == group
    assert member_of(None, 0) == SAMPLED


def test_a_signal_says_how_each_member_comes_about(workspace: Path, catalog: Catalog, tokenizer: Any) -> None:
    rows = rl_rows(catalog, 2)
    assert driver(phase(), catalog, tokenizer).members(rows, 4) == [[SAMPLED] * 4] * 2
    hinted = driver(phase(supervision="hint"), catalog, tokenizer).members(rows, 4)
    assert [[bool(member.hint) for member in group] for group in hinted] == [[True, False, False, False]] * 2


async def test_a_hint_is_seen_while_sampling_and_gone_from_the_prompt(
    catalog: Catalog, chat: ChatFormat, tokenizer: Any, limits: Limits
) -> None:
    row, model = rl_rows(catalog, 2)[1], ScriptedModel(chat, GOOD)
    member = Member(hint="call list_accounts")
    hinted = await play_trajectory(Environment(catalog), chat, row, limits, model, str, member)
    plain = await play_trajectory(Environment(catalog), chat, row, limits, ScriptedModel(chat, GOOD), str)
    assert hinted.prompt == plain.prompt and hinted.ids == plain.ids and hinted.origin == "hinted"
    assert len(model.prompts[0]) > len(plain.prompt)
    assert "call list_accounts" in tokenizer.decode(model.prompts[0])


async def test_a_demonstration_is_played_and_scored_and_asks_no_model(
    catalog: Catalog, chat: ChatFormat, limits: Limits
) -> None:
    row, model = rl_rows(catalog, 1)[0], ScriptedModel(chat, [])
    member = Member(replies=(calling("list_accounts"), saying("Done.")))
    played = await play_trajectory(Environment(catalog), chat, row, limits, model, str, member)
    sampled = await play_trajectory(Environment(catalog), chat, row, limits, ScriptedModel(chat, GOOD), str)
    assert played.fault is None and played.origin == "demonstrated" and not model.prompts
    assert (played.ids, played.mask, played.record.calls) == (sampled.ids, sampled.mask, sampled.record.calls)
    assert told_of(played, row).episode.reward.total == told_of(sampled, row).episode.reward.total > 0


async def test_a_demonstration_that_does_not_fit_is_masked_and_counted(
    catalog: Catalog, chat: ChatFormat, limits: Limits
) -> None:
    row, short = rl_rows(catalog, 1)[0], limits.model_copy(update={"response": 20})
    for room, replies in ((short, GOOD), (limits, GOOD[:1])):
        member = Member(replies=tuple(replies))
        played = await play_trajectory(Environment(catalog), chat, row, room, ScriptedModel(chat, []), str, member)
        assert played.fault == "demonstration"


async def test_a_step_is_kept_and_its_means_are_over_what_was_sampled(
    workspace: Path, catalog: Catalog, tokenizer: Any, chat: ChatFormat, limits: Limits
) -> None:
    row = rl_rows(catalog, 1)[0]
    shown = Member(replies=(calling("list_accounts"), saying("Done.")))
    batch = [await finished(catalog, chat, row, limits, [], shown)]
    batch += [await finished(catalog, chat, row, limits, script) for script in (GOOD, BAD)]
    batch += [await finished(catalog, chat, row, limits, [RuntimeError("gone")])]
    figures, healthy = driver(phase(first=4), catalog, tokenizer).finished(5, batch, {"kl": 0.5})
    right, wrong = batch[1].episode.reward.total, batch[2].episode.reward.total
    assert figures["reward"] == pytest.approx((right + wrong) / 2) and figures["reward_demonstrated"] == right
    assert (figures["episodes"], figures["masked"], figures["faults/generation"]) == (4, 1, 1)
    assert figures["control/open"] == pytest.approx(1 / 3), "of three sampled replies one opens a call"
    assert figures["control_kl"] > 0 and figures["kl"] == 0.5 and figures["sampler_gap"] == 0 and healthy
    assert set(Journal(Path("work/grpo_log.jsonl")).steps()) == {5}
    assert [line["policy"] for line in Journal(Path("work/train.jsonl")).rows()] == [
        "demonstrated", "sampled", "sampled", "sampled",
    ]  # fmt: skip


async def test_hints_know_the_failures_of_steps_before_a_resume(
    workspace: Path, catalog: Catalog, tokenizer: Any, chat: ChatFormat, limits: Limits
) -> None:
    row = rl_rows(catalog, 1)[0]
    made = phase(supervision="hint")
    first = driver(made, catalog, tokenizer)
    before = first.members([row], 4)
    first.finished(1, [await finished(catalog, chat, row, limits, BAD)], {})
    again = driver(made, catalog, tokenizer)
    assert again.members([row], 4) == before
    again.resume(1)
    assert again.members([row], 4) == first.members([row], 4) != before
    assert "it went wrong" in again.members([row], 4)[0][0].hint


async def test_a_collapse_is_no_healthy_step_and_ends_the_trainer(
    workspace: Path, catalog: Catalog, tokenizer: Any, chat: ChatFormat, limits: Limits
) -> None:
    row = rl_rows(catalog, 1)[0]
    good = await finished(catalog, chat, row, limits, GOOD)
    far = replace(good, reference=good.own - 5.0)
    made = phase(on_collapse="stop")
    first = driver(made, catalog, tokenizer)
    assert [first.finished(step, [good], {})[1] for step in (1, 2)] == [True, True]
    assert first.finished(3, [far], {})[1] is False
    again = driver(made, catalog, tokenizer)
    again.resume(3)
    assert again.finished(4, [far], {})[1] is False
    with pytest.raises(CollapseError, match="KL on"):
        again.finished(5, [far], {})
    (line,) = Journal(Path("work/collapse_log.jsonl")).rows()
    assert (line["since"], line["action"]) == (3, "stop")


async def test_validation_is_kept_with_each_rows_reward(
    workspace: Path, catalog: Catalog, tokenizer: Any, chat: ChatFormat, limits: Limits
) -> None:
    rows = rl_rows(catalog, 2)
    played = [await finished(catalog, chat, row, limits, GOOD) for row in rows]
    lost = await finished(catalog, chat, replace(rows[0], id="lost"), limits, [RuntimeError("gone")])
    figures = driver(phase(), catalog, tokenizer).validated(4, [item.episode for item in [*played, lost]])
    assert figures["masked"] == 1 and figures["reward"] == pytest.approx(played[0].episode.reward.total)
    (line,) = Journal(Path("work/validation_log.jsonl")).steps()[4]
    assert set(line["rewards"]) == {row.id for row in rows}
