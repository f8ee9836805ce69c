"""Talks with models whatever API they go through: what a request says, and answers in any of the APIs.

A request that was made from a trace never was on the wire, so that its form says nothing: what counts is what is said.
"""

from __future__ import annotations

from .answers import Reply, ToolUse, reply_of
from .heard import KNOWN_PARAMETERS, talk_of
from .serving import answer_of

__all__ = ["KNOWN_PARAMETERS", "Reply", "ToolUse", "answer_of", "reply_of", "talk_of"]
