"""The local engine on a GPU in bfloat16, from a model that is built here: sh tests/gpu/check.sh

Three parts. Agreement: the same weights and tokens give the same log-probabilities, loss and gradient as float32 on the
CPU, within what bfloat16 leaves. Model-bound: many long replies of a model of Qwen3-0.6B's size, then one update.
Environment-bound: live sessions with a model so small that the environment's share of a rollout shows; it needs the
project's own requirements and is left out, by name, where they are missing. Ends with code 1 if a bound is exceeded.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from stages.train import attention
from stages.train.forward import score_pack
from stages.train.losses import group_advantages, low_var_kl, policy_loss
from stages.train.packing import Row, pack_sequences
from stages.train.sampling import Sampler

GAP = {"bfloat16": 0.05, "float32": 1e-4}
"""Mean difference of log-probabilities that is accepted against float32 on the CPU, in nats."""


def build(device: str, dtype: torch.dtype, layers: int, width: int, vocabulary: int) -> Any:
    """A Qwen3 with random weights, the same for every device."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=width,
        intermediate_size=3 * width,
        num_hidden_layers=layers,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=max(16, width // 8),
        max_position_embeddings=8192,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(config).to(dtype).to(device)
    model.config._attn_implementation = attention.register()
    return model


def rows_of(count: int, prompt: int, reply: int, vocabulary: int) -> list[Row]:
    """Groups of four replies to one prompt each, with rewards that differ."""
    draw = torch.Generator().manual_seed(1)
    rewards = torch.rand(count, generator=draw).tolist()
    advantages = group_advantages(rewards, [number // 4 for number in range(count)])
    prompts = [tuple(torch.randint(vocabulary, (prompt,), generator=draw).tolist()) for _ in range(-(-count // 4))]
    return [
        Row(
            prompts[number // 4],
            tuple(torch.randint(vocabulary, (reply,), generator=draw).tolist()),
            (True,) * reply,
            1 / (count * reply),
            advantages[number],
        )
        for number in range(count)
    ]


def objective(model: Any, rows: list[Row], micro: int, device: str) -> tuple[torch.Tensor, float]:
    """Log-probabilities of all own tokens, and the loss summed over packs with its gradient left in the model."""
    found, total = [], 0.0
    for pack in pack_sequences(rows, micro, device):
        scores = score_pack(model, pack)
        weight = pack.per_token([s.weight for s in pack.sequences])
        advantage = pack.per_token([s.advantage for s in pack.sequences])
        old = torch.full_like(scores.logprobs, -math.log(model.config.vocab_size))
        losses, _ = policy_loss(scores.logprobs, old, advantage)
        loss = (weight * (losses + 0.01 * low_var_kl(scores.logprobs, old))).sum()
        loss.backward()
        total += float(loss.detach())
        found.append(scores.logprobs.detach().float().cpu())
    return torch.cat(found), total


def agreement(device: str, dtype: torch.dtype) -> dict[str, float]:
    """A small model on both sides."""
    rows, results = rows_of(8, 96, 48, 2048), []
    for where, kind in (("cpu", torch.float32), (device, dtype)):
        model = build(where, kind, 4, 256, 2048)
        logprobs, loss = objective(model, rows, 2048, where)
        norm = torch.stack([p.grad.float().norm().cpu() for p in model.parameters() if p.grad is not None]).norm()
        results.append((logprobs, loss, float(norm)))
    (ours, loss, norm), (theirs, other_loss, other_norm) = results
    return {
        "logprob_gap_mean": float((ours - theirs).abs().mean()),
        "logprob_gap_max": float((ours - theirs).abs().max()),
        "loss_gap": abs(loss - other_loss),
        "gradient_norm_ratio": other_norm / norm,
    }


def model_bound(device: str, dtype: torch.dtype, small: bool) -> dict[str, float]:
    """Sampling and one update; figures are tokens a second and gigabytes."""
    size = (2, 128, 4096) if small else (28, 1024, 151_936)
    count, prompt, reply = (8, 32, 16) if small else (64, 1024, 256)
    model = build(device, dtype, *size)
    rows = rows_of(count, prompt, reply, size[2])
    sampling = timed(device, lambda: sample(model, [row.prompt for row in rows], reply))
    sampled_peak = peak(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=device != "cpu")
    model.train()
    seconds = timed(device, lambda: (objective(model, rows, 8192, device), optimiser.step()))
    return {
        "parameters": float(sum(p.numel() for p in model.parameters())),
        "sampled_tokens_per_second": count * reply / sampling,
        "sampling_gigabytes": sampled_peak,
        "update_tokens_per_second": (count * reply + count // 4 * prompt) / seconds,
        "update_gigabytes": peak(device),
    }


def sample(model: Any, prompts: list[tuple[int, ...]], reply: int) -> None:
    """One reply for each prompt."""
    sampler = Sampler(model.eval(), frozenset(), seed=3)
    sampler.start(prompts)
    sampler.sample(dict.fromkeys(range(len(prompts)), reply))


def environment_bound(device: str, dtype: torch.dtype, count: int) -> dict[str, float]:
    """Live sessions with a model of almost no cost.

    Raises:
        ImportError: the project's requirements are not installed.
    """
    from servers.kernel.catalog import load_catalog
    from servers.kernel.session import Session
    from stages.records import Message, ToolCall
    from stages.rollout import Episode, visible_spec

    catalog = load_catalog(("banking",))
    tools = [visible_spec(catalog.entry(name).tool) for name in ("list_accounts", "list_payees")]
    model = build(device, dtype, 2, 128, 4096)
    opened = time.perf_counter()
    episodes = [Episode(catalog, Session(catalog.world(0)), tools, [Message("user", "?")]) for _ in range(count)]
    spent = time.perf_counter() - opened
    generated = timed(device, lambda: sample(model, [(1, 2, 3)] * count, 8))
    begin = time.perf_counter()
    for episode in episodes:
        for name in ("list_accounts", "list_payees"):
            episode.respond(Message("assistant", "", (ToolCall("c", name, {}),)))
        episode.finish("answered")
    spent += time.perf_counter() - begin
    return {"episodes": float(count), "microseconds_per_episode": 1e6 * spent / count,
            "share_environment": spent / (spent + generated)}  # fmt: skip


def timed(device: str, work: Callable[[], object]) -> float:
    """Seconds of the second run; the first one warms up."""
    for _ in range(2):
        if device != "cpu":
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        begin = time.perf_counter()
        work()
        if device != "cpu":
            torch.cuda.synchronize()
    return time.perf_counter() - begin


def peak(device: str) -> float:
    """Most gigabytes that were allocated since the last reset; 0 on a CPU."""
    return 0.0 if device == "cpu" else torch.cuda.max_memory_allocated() / 1e9


def main() -> int:
    """Run the parts and write their figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--out", type=Path, default=Path("gpu-check.json"))
    arguments = parser.parse_args()
    device, small = arguments.device, arguments.device == "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        print("no GPU is visible to torch: run on a machine with one, or with --device cpu", file=sys.stderr)
        return 2
    found: dict[str, Any] = {"device": "cpu" if small else torch.cuda.get_device_name(), "torch": torch.__version__}
    found["agreement_float32"] = agreement(device, torch.float32)
    found["agreement_bfloat16"] = agreement(device, torch.bfloat16)
    found["model_bound"] = model_bound(device, torch.float32 if small else torch.bfloat16, small)
    try:
        found["environment_bound"] = environment_bound(device, torch.float32, 16 if small else 512)
    except ImportError as error:
        found["environment_bound"] = f"left out: {error}"
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))
    gaps = {kind: found[f"agreement_{kind}"]["logprob_gap_mean"] for kind in GAP}
    wrong = [f"{kind}: {gap:.4f} > {GAP[kind]}" for kind, gap in gaps.items() if gap > GAP[kind]]
    print("NOT in agreement with the CPU: " + "; ".join(wrong) if wrong else "in agreement with the CPU")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
