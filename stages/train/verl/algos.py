"""The local engine's formulas under verl's names: advantages within groups, and the clipped surrogate.

verl adds KL and entropy by its own code; its `low_var_kl` is the same estimator with the same bounds, which a test
holds it to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from verl.trainer.ppo.core_algos import agg_loss, register_adv_est, register_policy_loss

from stages.train.losses import Advantage, group_advantages, policy_loss

ADVANTAGE = "prove_group"
LOSS = "prove_clip"


@register_adv_est(ADVANTAGE)  # type: ignore[untyped-decorator]  # verl is untyped here
def group_advantage(
    token_level_rewards: Tensor, response_mask: Tensor, index: Sequence[str], config: Any = None, **_: Any
) -> tuple[Tensor, Tensor]:
    """Advantages [B, T] from rewards [B, T]; `index` says whose group a trajectory is of.

    Trajectories without own tokens are masked: they take no part in their group's mean and get 0.
    """
    live = response_mask.sum(-1).gt(0).nonzero()[:, 0].tolist()
    totals = token_level_rewards.double().sum(-1).tolist()
    numbers = {name: number for number, name in enumerate(dict.fromkeys(index))}
    kind: Advantage = "std" if config is None or config.get("norm_adv_by_std_in_grpo", True) else "dr_grpo"
    values = group_advantages([totals[i] for i in live], [numbers[index[i]] for i in live], kind)
    advantages = token_level_rewards.new_zeros(len(totals))
    for place, value in zip(live, values, strict=True):
        advantages[place] = value
    spread = advantages[:, None] * response_mask
    return spread, spread


@register_policy_loss(LOSS)  # type: ignore[untyped-decorator]  # verl is untyped here
def clipped_surrogate(
    old_log_prob: Tensor,
    log_prob: Tensor,
    advantages: Tensor,
    response_mask: Tensor,
    loss_agg_mode: str = "token-mean",
    config: Any = None,
    rollout_is_weights: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """PPO's clipped surrogate over the batch of all ranks, and what was clipped; tensors are [B, T]."""
    losses, clipped = policy_loss(
        log_prob, old_log_prob, advantages, float(config.clip_ratio_low), float(config.clip_ratio_high)
    )
    if rollout_is_weights is not None:
        losses = losses * rollout_is_weights
    loss = agg_loss(loss_mat=losses, loss_mask=response_mask, loss_agg_mode=loss_agg_mode, **config.global_batch_info)
    own = response_mask.bool()
    share = clipped[own].float().mean() if own.any() else losses.new_zeros(())
    moved = (old_log_prob - log_prob)[own].mean() if own.any() else losses.new_zeros(())
    return loss, {"actor/pg_clipfrac": share.detach().item(), "actor/ppo_kl": moved.detach().item()}
