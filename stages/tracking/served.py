"""A registered policy, loaded and asked through MLflow's generic interface.

    model = mlflow.pyfunc.load_model("models:/prove-policy@best")
    model.predict(pandas.DataFrame({"tools": [json_text], "messages": [json_text]}))

`tools` and `messages` are as in `data/dataset`, without a system message. The reply is the assistant's next
message, decoded greedily: JSON text with `content` and `tool_calls`. Run it where this repository can be imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.artifacts import dump
from stages.conversations import message_from
from stages.records import ToolSpec
from stages.tracking.digest import md5
from stages.tracking.models import Reference, WeightsFile

if TYPE_CHECKING:
    import pandas as pd

MAX_NEW_TOKENS = 256


class WeightsError(Exception):
    """The weights that a model refers to are nowhere at hand; the message says how to get them."""


class ServedPolicy:
    """A policy behind MLflow's `predict`."""

    def __init__(self, weights: Path, reference: Reference) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from stages.chat import chat_format

        self._network: Any = AutoModelForCausalLM.from_pretrained(weights, trust_remote_code=False).eval()
        tokenizer = AutoTokenizer.from_pretrained(weights, trust_remote_code=False)
        self._chat = chat_format(tokenizer, described=reference.tool_summaries)

    def predict(self, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        """One reply for each row."""
        import pandas as pd

        replies = [self._reply(row["tools"], row["messages"]) for row in model_input.to_dict("records")]
        return pd.DataFrame({"reply": replies})

    def _reply(self, tools: str, messages: str) -> str:
        import torch

        specs = [ToolSpec(**tool) for tool in json.loads(tools)]
        said = [message_from({"tool_calls": [], "tool_call_id": "", **item}) for item in json.loads(messages)]
        opening = torch.tensor([self._chat.opening(specs, said)])
        stops = sorted(self._chat.stop_ids)
        with torch.no_grad():
            whole = self._network.generate(
                opening,
                attention_mask=torch.ones_like(opening),
                do_sample=False,
                max_new_tokens=MAX_NEW_TOKENS,
                eos_token_id=stops,
                pad_token_id=stops[0],
            )
        reply = self._chat.parse(whole[0, opening.shape[1] :].tolist())
        return dump({"content": reply.content, "tool_calls": [asdict(call) for call in reply.tool_calls]})


def _load_pyfunc(path: str) -> ServedPolicy:  # the name that MLflow calls
    reference = Reference.model_validate_json(Path(path).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as scratch:
        return ServedPolicy(located(reference, Path(scratch), Path.cwd()), reference)


def located(reference: Reference, scratch: Path, root: Path) -> Path:
    """The directory with just these weights: where they were logged, or put together from DVC's cache.

    Args:
        reference: the weights that are wanted.
        scratch: an empty directory for links into the cache.
        root: a directory in the repository whose cache is looked into.

    Raises:
        WeightsError: a file is in neither place.
    """
    there = Path(reference.directory)
    if all(_is(there / file.name, file) for file in reference.files):
        return there
    cache = _cache(root)
    for file in reference.files:
        kept = cache / "files" / "md5" / file.md5[:2] / file.md5[2:]
        if not _is(kept, file):
            raise WeightsError(
                f"{file.name} of these weights is neither in {there} nor in DVC's cache {cache}: "
                "check out the git revision of the model's run, then `python -m dvc pull data/policy`"
            )
        link = scratch / file.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(kept)
    return scratch


def _is(path: Path, file: WeightsFile) -> bool:
    return path.is_file() and path.stat().st_size == file.size and md5(path) == file.md5


def _cache(root: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "dvc", "cache", "dir"], cwd=root, capture_output=True, text=True, check=False
    )
    return root / done.stdout.strip() if done.returncode == 0 else root / ".dvc" / "cache"
