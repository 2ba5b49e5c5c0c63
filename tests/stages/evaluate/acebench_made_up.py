"""Small made-up records of ACEBench's schema, and a made-up clone with two scenario classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stages.evaluate.acebench.data import AGENT, NORMAL, SPECIAL


def api(name: str, required: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": f"What {name} does.", "parameters": parameters}


TEXT = {"type": "string", "description": "A text."}
LAMP = api("lamp.set", ("room",), room=TEXT, level={"type": "number"}, on={"type": "boolean"})
SHOP = api(
    "shop_order",
    ("items",),
    items={"type": "array", "items": {"type": "object", "properties": {"name": TEXT, "count": {"type": "integer"}}}},
    gift={"type": "object", "properties": {"note": TEXT, "tags": {"type": "array", "items": {"type": "string"}}}},
)
SONGS = api("songs", ("names",), names={"type": "array", "items": {"type": "string"}}, genre=TEXT)
DISTRACTOR = {"name": "old_style", "description": "Unused.", "arguments": {"type": "dict", "properties": {}}}

LAMP_CALL = {"lamp.set": {"room": "living room", "level": 40, "on": True}}
SHOP_CALL = {
    "shop_order": {"items": [{"name": "oat milk", "count": 2}], "gift": {"note": "For Ann", "tags": ["two words"]}}
}
SONGS_CALL = {"songs": {"names": ["Blue Moon", "So What"], "genre": "jazz"}}

SPOKEN = "user: Do it.\nsystem: Which one?\nuser: The first.\n"

ANSWERS: dict[str, Any] = {
    "normal_single_turn_single_function": LAMP_CALL,
    "normal_single_turn_parallel_function": {"songs_1": SONGS_CALL["songs"], "songs_2": {"names": ["Naima"]}},
    "normal_similar_api": LAMP_CALL,
    "normal_preference": SONGS_CALL,
    "normal_atom_bool": [LAMP_CALL, {"lamp.set": {"room": "hall"}}],
    "normal_atom_enum": SONGS_CALL,
    "normal_atom_number": LAMP_CALL,
    "normal_atom_list": SONGS_CALL,
    "normal_atom_object_deep": SHOP_CALL,
    "normal_atom_object_short": SHOP_CALL,
    "special_incomplete": {"lamp.set": ["room ", " level"]},
    "special_error_param": {"level": ["very bright"]},
    "special_irrelevant": "Due to the limitations of the function, I cannot solve this problem.",
}

APIS = [LAMP, SHOP, SONGS, DISTRACTOR]


def write_data(root: Path) -> Path:
    """All files of both languages, one task a category; multi-turn ones have two items."""
    for language in ("en", "zh"):
        folder = root / f"data_{language}"
        (folder / "possible_answer").mkdir(parents=True)
        for category in (*NORMAL, *SPECIAL):
            pairs = _dialogue(category) if "multi_turn" in category else [_pair(f"{category}_0", ANSWERS[category])]
            if category == "normal_preference":
                pairs[0][0]["profile"] = "{'likes': 'jazz'}"
            _write(folder, category, pairs)
        for category in AGENT:
            _write(folder, category, [_errand(category)])
    return root


def _pair(name: str, answer: Any, question: str = SPOKEN) -> tuple[dict[str, Any], dict[str, Any]]:
    line = {"id": name, "question": question, "function": APIS, "time": "It is Monday."}
    return line, {"id": name, "ground_truth": answer}


def _dialogue(category: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    later = f"{SPOKEN}system: [songs(names=['Naima'], genre='jazz')]\nsystem: Playing.\nuser: Now the lamp:\n- dim it\n"
    return [_pair(f"{category}_0_0", SONGS_CALL), _pair(f"{category}_0_1", LAMP_CALL, later)]


def _errand(category: str) -> tuple[dict[str, Any], dict[str, Any]]:
    apis = [api("turn_on_wifi"), api("send_message", ("to", "text"), to=TEXT, text=TEXT)]
    line = {
        "id": f"{category}_0",
        "question": "Send Bo's note to Bo.",
        "function": apis,
        "path": [],
        "initial_config": {"BaseApi": {"wifi": False}},
        "involved_classes": ["BaseApi", "MessageApi"],
    }
    end = [
        {"BaseApi": {"wifi": True, "logged_in": True}},
        {"MessageApi": {"inbox": {"1": {"to": "Bo", "text": "Bo's note"}}}},
    ]
    stones = ["[turn_on_wifi()]", "[send_message(to='Bo', text='Bo's note')] "]
    return line, {"id": f"{category}_0", "ground_truth": end, "mile_stone": stones}


def _write(folder: Path, category: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    name = f"data_{category}.json"
    for path, column in ((folder / name, 0), (folder / "possible_answer" / name, 1)):
        path.write_text(
            "".join(json.dumps(pair[column], ensure_ascii=False) + "\n" for pair in pairs), encoding="utf-8"
        )


BASE = """
class BaseApi:
    def __init__(self):
        self.wifi, self.logged_in = False, True

    def _load_scenario(self, scenario):
        self.wifi = scenario.get("wifi", False)
        self.logged_in = scenario.get("logged_in", True)

    def turn_on_wifi(self):
        self.wifi = True
        return {"status": True}
"""

MESSAGE = """
from model_inference.{part}.scenarios{language}.phone_platform.base_api import BaseApi


class MessageApi(BaseApi):
    def __init__(self):
        super().__init__()
        self.inbox = {{}}

    def send_message(self, to, text):
        print("noise")
        if not self.wifi:
            return {{"status": False, "message": "no wifi"}}
        self.inbox[len(self.inbox) + 1] = {{"to": to, "text": text}}
        return {{"status": True}}

    def wipe(self):
        self.inbox = {{}}
"""


def write_clone(root: Path) -> Path:
    """A clone whose scenario classes know Wi-Fi and messages."""
    for language in ("en", "zh"):
        for part in ("multi_step", "multi_turn"):
            folder = root / "model_inference" / part / f"scenarios{language}" / "phone_platform"
            folder.mkdir(parents=True)
            (folder / "base_api.py").write_text(BASE, encoding="utf-8")
            (folder / "message.py").write_text(MESSAGE.format(part=part, language=language), encoding="utf-8")
    return root
