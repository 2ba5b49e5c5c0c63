"""The social network, to which the tool modules add their tools."""

from __future__ import annotations

from servers.kernel.server import ToolServer
from servers.social_media.model import (
    Comment,
    Fault,
    Follow,
    Like,
    Message,
    Notice,
    Poll,
    Post,
    Profile,
    Report,
    UserBlock,
    Vote,
)
from servers.social_media.seed import build

server = ToolServer(
    "social_media",
    "Posts, follows, polls and messages of a social network user",
    records=(Profile, Follow, UserBlock, Post, Like, Comment, Poll, Vote, Message, Report, Notice),
    seed=build,
    faults=Fault,
)
