"""The items of a checklist that the turn's last message is checked by: a report, a question, or a refusal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from stages.skills.decompose import UNABLE, Subgoal, is_unknown
from stages.skills.facts import ParameterFacts
from stages.skills.scene import OWN_FAULTS, Scene
from stages.validate.sources import NUMBER, Source

SMALL = 20
"""Whole numbers up to here may count what was shown."""

_MARKUP = re.compile(r"</?tool_call>|</?think>")
_DONE = re.compile(r"\s*(done|all set|ready|finished)\b", re.IGNORECASE)
_CLAIM = re.compile(
    r"\s*(?:done\W*)?(?:sent|paid|created|added|updated|changed|moved|removed|deleted|cancell?ed|booked|scheduled)\b|"
    r".*\b(?:I have|I've|has been|have been) (?:\w+ )?\w+(?:ed|en|t|d)\b",
    re.IGNORECASE | re.DOTALL,
)
_PROMISE = re.compile(r"\b(I will|I'll|I am going to|I'm going to|let me)\b", re.IGNORECASE)
_FAILED = re.compile(
    r"\b(fail\w*|error|wrong|not found|refus\w*|declined|invalid|not (?:done|possible))\b", re.IGNORECASE
)
_TOKEN = re.compile(r"\b[A-Z]{2,6}-\d+\b|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_SECRET = re.compile(r"\b(pin|password|passcode|code|cvv|token)\b\W*(?:is\W*)?\d+", re.IGNORECASE)
_ISO_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_WORD = re.compile(r"[a-z]{3,}")


def answered(scene: Scene, subgoal: Subgoal) -> bool | None:
    """The turn ends in words to the user."""
    if not subgoal.answer:
        return None
    return scene.answer is not None and any(c.isalnum() for c in _MARKUP.sub("", scene.answer.content))


def claims_backed(scene: Scene, subgoal: Subgoal) -> bool | None:
    """Whoever says that something is done has done it."""
    if subgoal.skill != "report" or scene.answer is None:
        return None
    text = scene.answer.content
    if _CLAIM.match(text):
        return scene.has_changed
    if _DONE.match(text):
        return scene.has_changed or scene.has_shown
    shown_before = any(source.kind == "result" for source in scene.knowledge.sources)
    return bool(scene.calls) or (shown_before and not _PROMISE.search(text))


def failures_told(scene: Scene, subgoal: Subgoal) -> bool | None:
    """A failure that nothing made good is told."""
    if subgoal.skill != "report" or scene.answer is None or not scene.unresolved:
        return None
    text = scene.answer.content
    return bool(UNABLE.search(text) or _FAILED.search(text))


def figures_shown(scene: Scene, subgoal: Subgoal) -> bool | None:
    """Every number, identifier and address in the answer was said or shown."""
    if scene.answer is None or subgoal.skill not in ("report", "decline"):
        return None
    sources = list(scene.knowledge.sources)
    if subgoal.skill == "decline":
        sources += [Source("result", 0, call.result) for call in scene.calls if not call.ok]
    text = scene.answer.content
    if not all(any(token in source.text for source in sources) for token in _TOKEN.findall(text)):
        return False
    numbers = {float(found.replace(",", "")) for found in NUMBER.findall(_TOKEN.sub("", text))}
    told = [number for number in numbers if not (number.is_integer() and number <= SMALL)]
    return all(any(number in source.numbers for source in sources) for number in told)


def asks_something(scene: Scene, subgoal: Subgoal) -> bool | None:
    """The question names what a tool takes, or things that a read has shown."""
    if subgoal.skill != "ask" or scene.answer is None:
        return None
    words = _words(scene.answer.content)
    if _asked_for(scene, words):
        return True
    kinds = {word for tool in scene.visible for kind in tool.produces for word in kind.split("_")}
    return bool(_stems(words) & _stems(kinds))


def not_yet_said(scene: Scene, subgoal: Subgoal) -> bool | None:
    """The question is not for what the user has said, as far as its form tells: options, numbers, dates."""
    if subgoal.skill != "ask" or scene.answer is None:
        return None
    said = _SECRET.sub("", scene.asked)
    verdicts = [_is_said(parameter, said) for parameter in _asked_for(scene, _words(scene.answer.content))]
    return not (verdicts and all(verdicts)) if None not in verdicts else None


def not_asked_before(scene: Scene, subgoal: Subgoal) -> bool | None:
    """The same question has not been asked before."""
    if subgoal.skill != "ask" or scene.answer is None:
        return None
    before = [m.content for m in scene.trajectory.messages[:-1] if m.role == "assistant" and "?" in m.content]
    return not any(_words(text) == _words(scene.answer.content) for text in before)


def no_tool_fits(scene: Scene, subgoal: Subgoal) -> bool | None:
    """No tool that could be seen, and was not tried, has all words of its name in the request."""
    if subgoal.skill != "decline":
        return None
    tried = {call.name for call in scene.calls}
    request = _stems(_words(scene.request))
    return not any(_stems(tool.words) <= request for tool in scene.visible if tool.name not in tried)


def tried(scene: Scene, subgoal: Subgoal) -> bool | None:
    """Nothing is given up for a mistake of one's own, or before what the error advises was tried."""
    if subgoal.skill != "decline" or not scene.unresolved:
        return None
    called = {call.name for call in scene.calls}
    for index in scene.unresolved:
        failed = scene.calls[index]
        if failed.error_code in OWN_FAULTS or is_unknown(failed, scene.facts):
            return False
        if any(tool.name in failed.result for tool in scene.visible if tool.name not in called):
            return False
    return True


def _asked_for(scene: Scene, words: set[str]) -> list[ParameterFacts]:
    """The parameters of the visible tools whose words the question has, one for each name."""
    found: dict[str, ParameterFacts] = {}
    for tool in scene.visible:
        for parameter in tool.parameters:
            if set(parameter.words) <= words:
                found.setdefault(parameter.name, parameter)
    return list(found.values())


def _is_said(parameter: ParameterFacts, said: str) -> bool | None:
    """Whether the user's words hold a value of the parameter's form; None if its form doesn't tell."""
    if parameter.options:
        folded = said.casefold()
        return any(option.casefold().replace("_", " ") in folded for option in parameter.options)
    if parameter.kind in ("integer", "number"):
        return bool(NUMBER.search(said))
    if {"date", "day"} & set(parameter.words):
        return bool(_ISO_DATE.search(said))
    return None


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _stems(words: Iterable[str] | Sequence[str]) -> set[str]:
    """Words without the endings of plural, and short ones left out."""
    return {word.removesuffix("s") for word in words if len(word) >= 3}
