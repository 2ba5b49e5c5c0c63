"""Between a conversation and a model's tokens: rendering, incremental encoding, parsing.

A rollout is `opening` + sampled reply + `continuation` + sampled reply + …; sampled ids are kept as they
are, so nothing is ever tokenised twice and a conversation encoded whole equals its pieces. Text that
comes from data (users, tools, descriptions) never yields a control token.
"""

from stages.chat.encode import Encoded, encode_conversation
from stages.chat.format import ChatFormat, chat_format
from stages.chat.parse import parse_reply
from stages.chat.plain import PlainChatML
from stages.chat.signatures import signature
from stages.chat.template import TemplateChat

__all__ = [
    "ChatFormat",
    "Encoded",
    "PlainChatML",
    "TemplateChat",
    "chat_format",
    "encode_conversation",
    "parse_reply",
    "signature",
]
