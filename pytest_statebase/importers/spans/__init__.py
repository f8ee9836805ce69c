"""The traces of many tracers, in one form: spans, conversations of spans, and the sessions that they tell."""

from __future__ import annotations

from .grouping import conversations_of
from .model import Conversation, Kind, Span, moment
from .session import session_of_spans

__all__ = ["Conversation", "Kind", "Span", "conversations_of", "moment", "session_of_spans"]
