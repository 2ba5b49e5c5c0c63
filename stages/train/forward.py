"""Log-probabilities of a pack's own tokens; the output layer runs on those positions only."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from stages.train.losses import entropy
from stages.train.packing import Pack

Entropy = Literal["none", "value", "gradient"]


class Scores(NamedTuple):
    """Per own token [N]: its log-probability under temperature 1, and the entropy in nats it was drawn from.

    The entropy is empty where it was not asked for.
    """

    logprobs: Tensor
    entropy: Tensor


def score_pack(model: Any, pack: Pack, *, entropies: Entropy = "none") -> Scores:
    """One forward pass; logits exist for own tokens only, in float32. Entropy costs extra passes over them."""
    out = model(
        pack.ids[None],
        attention_mask=None if pack.visible is None else pack.visible[None, None],
        position_ids=pack.positions[None],
        use_cache=False,
        logits_to_keep=pack.source,
    )
    everything = torch.log_softmax(out.logits[0].float(), -1)
    chosen = everything.gather(-1, pack.target[:, None])[:, 0]
    if entropies == "none":
        return Scores(chosen, everything.new_zeros(0))
    return Scores(chosen, entropy(everything if entropies == "gradient" else everything.detach()))


def score_without_gradient(model: Any, packs: list[Pack]) -> list[Scores]:
    """Scores of packs for a reference or an old policy, in evaluation mode."""
    training = model.training
    model.eval()
    with torch.no_grad():
        scores = [score_pack(model, pack) for pack in packs]
    model.train(training)
    return scores
