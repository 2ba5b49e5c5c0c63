"""What the model is told before an ACEBench conversation, in English and in Chinese.

The instructions are our own words for what the benchmark asks. The phrases of the special tasks and the
notation of calls are the benchmark's, since its scoring looks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stages.evaluate.acebench.data import Language


@dataclass(frozen=True, slots=True)
class Words:
    """One language's texts."""

    notation: str
    tools: str
    arguments: str
    profile_arguments: str
    special: str
    profile: str
    apis: str
    conversation: str
    agent: str
    alone: str
    user: str
    greeting: str


_EN = Words(
    notation=(
        "Answer the conversation with the API calls that come next and with nothing else, as a list in square "
        "brackets: [ApiName(key1='value1', key2='value2')]. Separate several calls by commas; write a call without "
        "arguments as [ApiName()]."
    ),
    tools="Answer the conversation with the tool calls that come next, all of them at once.",
    arguments=(
        "Give every required argument, and an optional one only if the conversation mentions it. Take values in the "
        "user's own words, unless the description of an argument asks for another form."
    ),
    profile_arguments=(
        "Give every required argument, and an optional one only if the conversation or the user's profile mentions "
        "it. Take values in the words found there, unless the description of an argument asks for another form."
    ),
    special=(
        "If something stands in the way, make no call and say so in one of these forms, the first that applies.\n"
        "A value that the user gave doesn't have the form that its parameter needs: "
        '["There is incorrect value (value) for the parameters (key) in the conversation history."]\n'
        "Required values are missing: "
        '["Missing necessary parameters (key1, key2) for the api (ApiName)"]\n'
        "None of the APIs can do it: "
        '["Due to the limitations of the function, I cannot solve this problem."]'
    ),
    profile="The user's profile:",
    apis="The APIs:",
    conversation="The conversation so far (the assistant is called system):",
    agent=(
        "Carry out the task step by step with the APIs: one call at a time, the next one after you have read its "
        "result. A message is either a call or words for the user. Use only what the user or an API told you. When "
        "everything is done, say: finish conversation"
    ),
    alone="Nobody can answer: go on with what you know.",
    user=(
        "You play a user who wants something from an assistant. Say one short message at a time, in your own words, "
        "and tell only what the assistant needs for its next step. Make nothing up: what the instruction doesn't say "
        "you don't know. Offer no help. When everything that you want is done, say only: finish conversation\n"
        "Your instruction: "
    ),
    greeting="Hello, what can I do for you?",
)

_ZH = Words(
    notation=(
        "请只输出对话接下来应发出的API调用，不要输出别的内容。"
        "格式为方括号列表：[ApiName(key1='value1', key2='value2')]。"
        "多个调用之间用英文逗号分隔；没有参数的调用写作[ApiName()]。"
    ),
    tools="请发出对话接下来应有的工具调用，一次全部发出。",
    arguments="必填参数都要给出；选填参数只有对话提到时才给出。参数说明没有规定写法时，取值照抄用户的说法。",
    profile_arguments="必填参数都要给出；选填参数只有对话或用户画像提到时才给出。参数说明没有规定写法时，取值照抄其中的说法。",
    special=(
        "如果有情况使调用无法进行，不要调用，只按下列格式之一说明，以最先符合的一种为准。\n"
        "用户给出的值不符合该参数要求的形式："
        '["There is incorrect value (value) for the parameters (key) in the conversation history."]\n'
        '缺少必需的值：["Missing necessary parameters (key1, key2) for the api (ApiName)"]\n'
        '没有API能办到：["Due to the limitations of the function, I cannot solve this problem."]'
    ),
    profile="用户画像：",
    apis="API列表：",
    conversation="目前的对话（system即助手）：",
    agent=(
        "请用这些API一步步完成任务：每次只发一个调用，看到结果后再发下一个。一条消息要么是调用，要么是对用户说的话。"
        "只使用用户或API提供的信息。全部完成后说：finish conversation"
    ),
    alone="没有人能回答，请根据已知的信息继续。",
    user=(
        "你扮演一位请助手办事的用户。每次只说一句简短的话，用自己的说法，只告诉助手下一步需要的信息。"
        "不要编造：说明里没有的事，你就不知道。不要主动提供帮助。想办的事都办完后，只说：finish conversation\n"
        "你的说明："
    ),
    greeting="您好，请问需要什么帮助？",
)

WORDS: Mapping[Language, Words] = {"en": _EN, "zh": _ZH}
