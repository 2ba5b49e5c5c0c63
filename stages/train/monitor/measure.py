"""What a step's replies look like, and how far their control tokens are from the reference, as plain figures.

Both walk once over the sampled tokens; the text of a token is decoded once in the life of a `ControlTokens`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import get_args

import torch
from torch import Tensor

from stages.chat import ChatFormat
from stages.train.batched_rollout import Trajectory
from stages.train.losses import low_var_kl
from stages.train.monitor.control import ControlTokens
from stages.train.monitor.forms import Form, repetition, shape
from stages.train.packing import Row


def form_metrics(trajectories: Sequence[Trajectory], control: ControlTokens, chat: ChatFormat) -> dict[str, float]:
    """Figures over all replies of the trajectories; none if there is no reply.

    Returns:
        `forms/FORM`: shares of replies. `control/open`, `close`, `stop`: occurrences per reply. `control_logprob` and
        `text_logprob`: mean log-probability in nats that the sampler gave to control tokens and to the rest, left
        out where there is no such token. `repetition`: mean share of repeated 4-grams. `empty_calls` and
        `unterminated_calls`: per reply.
    """
    sums: defaultdict[str, float] = defaultdict(float)
    control_logprobs: list[float] = []
    text_logprobs: list[float] = []
    count = 0
    for trajectory in trajectories:
        for ids, logprobs in _replies(trajectory):
            count += 1
            text, stopped = control.text(ids), control.stopped(ids)
            found = shape(chat.parse(ids), text, control.tags, cut=not stopped)
            sums[f"forms/{found.form}"] += 1
            for _, _, marker in control.tags.found(text):
                sums[f"control/{marker}"] += 1
            sums["control/stop"] += stopped
            sums["empty_calls"] += found.empty_calls
            sums["unterminated_calls"] += found.unterminated_calls
            sums["repetition"] += repetition(ids)
            for label, logprob in zip(control.labels(ids), logprobs, strict=False):
                (text_logprobs if label is None else control_logprobs).append(logprob)
    if not count:
        return {}
    keys = [*(f"forms/{form}" for form in get_args(Form)), "control/open", "control/close", "control/stop"]
    keys += ["repetition", "empty_calls", "unterminated_calls"]
    parts = {"control_logprob": control_logprobs, "text_logprob": text_logprobs}
    return {key: sums[key] / count for key in keys} | {
        key: sum(values) / len(values) for key, values in parts.items() if values
    }


def divergence_metrics(
    rows: Sequence[Sequence[Row]], own: Sequence[Tensor], reference: Sequence[Tensor], control: ControlTokens
) -> dict[str, float]:
    """`control_kl` and `text_kl`: mean `low_var_kl` in nats over control tokens and over the rest.

    `own` and `reference` are log-probabilities [N] of the own tokens of each batch of rows; tokens without a record
    (NaN) are left out, and so is a figure without any token.
    """
    sums: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for batch, ours, theirs in zip(rows, own, reference, strict=True):
        marked = torch.tensor([label is not None for row in batch for label in _row_labels(row, control)])
        divergence = low_var_kl(ours.detach(), theirs.detach()).double().cpu()
        known = divergence.isfinite()
        for key, part in (("control_kl", marked & known), ("text_kl", ~marked & known)):
            sums[key] += float(divergence[part].sum())
            counts[key] += int(part.sum())
    return {key: sums[key] / counts[key] for key in sums if counts[key]}


def _row_labels(row: Row, control: ControlTokens) -> Iterator[str | None]:
    for own in _runs(row.mask):
        yield from control.labels(row.ids[own])


def _replies(trajectory: Trajectory) -> Iterator[tuple[tuple[int, ...], tuple[float, ...]]]:
    """The policy's replies as ids with their log-probabilities, which are empty where there is no record."""
    for own in _runs(trajectory.mask):
        yield trajectory.ids[own], trajectory.logprobs[own]


def _runs(mask: Sequence[bool]) -> Iterator[slice]:
    """The stretches of own tokens."""
    begin = 0
    for own, run in groupby(mask):
        end = begin + sum(1 for _ in run)
        if own:
            yield slice(begin, end)
        begin = end
