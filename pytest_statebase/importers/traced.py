"""Files of tracers: their documents are read together into spans, the spans into sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ..errors import ImportFileError
from .langfuse import is_langfuse, langfuse_spans
from .langsmith import is_langsmith, langsmith_spans
from .model import ImportedSession
from .otel import is_otel, otel_spans
from .spans import Conversation, Span, conversations_of, session_of_spans


@dataclass(frozen=True, slots=True)
class Source:
    """A tracer's format."""

    format: str
    """As `detect` names it."""
    claims: Callable[[Any], bool]
    """Whether a JSON document is of this format. Never raises."""
    spans: Callable[[Iterable[tuple[str, Any]]], list[Span]]
    """The spans of documents, each with its place."""


SOURCES = (
    Source("langfuse", is_langfuse, langfuse_spans),
    Source("langsmith", is_langsmith, langsmith_spans),
    Source("otel", is_otel, otel_spans),
)


def source_of(document: Any) -> Source | None:
    """The tracer of which a JSON document is; None for none that is known."""
    return next((source for source in SOURCES if source.claims(document)), None)


def conversations_in(documents: Iterable[tuple[str, Any]], source: Source, where: str) -> list[Conversation]:
    """The conversations of all documents of a file together: a trace, and a session, may stand in several of them.

    Raises ImportFileError where they hold none.
    """
    try:
        found = conversations_of(source.spans(documents), where)
    except RecursionError:
        raise ImportFileError("is nested too deeply to be read", where=where, remedy="Leave it out.") from None
    if not found:
        what = "holds no trace with a call of a model, an agent or a tool"
        raise ImportFileError(what, where=where, remedy="Export whole traces, with their observations or runs.")
    return found


def traced_session(conversation: Conversation, name: str) -> ImportedSession:
    """The session of a conversation.

    name: to use where the tracer does not say which conversation it is.
    Raises ImportFileError where it tells nothing.
    """
    known = {key: value for span in conversation.spans if span.kind == "root" for key, value in span.attributes.items()}
    return session_of_spans(conversation, name=conversation.id if conversation.named else name, metadata=known)
