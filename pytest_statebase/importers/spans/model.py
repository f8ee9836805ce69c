"""One span of a trace, in the one form that the readers of all tracers make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from ...values import ABSENT

ANYBODY: Final = "otel"
"""The tracer of spans that follow the conventions and name nobody."""

PUT_TOGETHER: Final = "put-together"
"""The flaw of a model call whose messages no tracer told: they are those of the call before, its answer and results."""
Kind: TypeAlias = Literal["root", "agent", "generation", "tool", "retriever", "other"]


@dataclass(frozen=True, slots=True)
class Span:
    """One step of an agent as its tracer saw it."""

    id: str
    trace: str
    parent: str | None
    name: str
    """Of a tool: the tool's name. Else what the tracer calls the step."""
    kind: Kind
    """`root` is a turn's outermost step where the tracer says so; `generation` is one call of a model."""
    began: str | None = None
    """ISO text, in UTC where it names no zone; so is `ended`."""
    ended: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """As they stood, but for what is in the fields below."""
    input: Any = ABSENT
    """Of a generation: a list of chat messages in OpenAI's form (what the model was given). Of a tool: its arguments.
    Of anything else: whatever it was handed, a text, messages or a structure. ABSENT where the tracer kept nothing."""
    output: Any = ABSENT
    """Of a generation: the messages that the model gave. Of a tool: its result. Else what came back; or ABSENT."""
    error: Mapping[str, Any] | None = None
    """`{type, message}` of what was raised."""
    is_error: bool = False
    """It is marked as failed, but nothing is known to have been raised."""
    model: str | None = None
    provider: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the model: temperature and the like, by their names in the provider's requests."""
    tools: list[Any] | None = None
    """The definitions that the model was offered."""
    usage: Mapping[str, Any] = field(default_factory=dict)
    call_id: str | None = None
    """Of a tool: the id of the call that the model asked for."""
    session: str | None = None
    """What the tracer says that the conversation is."""
    user: str | None = None
    agent: str | None = None
    """Which agent does this; a step without one is of the nearest step above that has one."""
    where: str = ""
    """File and place, for errors."""
    tracer: str = ""
    """Whose remedies to name: `otel`, `openinference`, `traceloop`, `logfire`, `vercel`, `any-agent`, `langfuse`, …"""
    flaws: tuple[str, ...] = ()
    """What the reader found wrong with it: `truncated`, `dropped`; and `PUT_TOGETHER`."""

    @property
    def time(self) -> float | None:
        """When it began, in seconds since 1970."""
        return moment(self.began)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The spans of one session."""

    id: str
    turns: list[list[Span]]
    """One list for each trace, by time; inside each the spans by time, those without one after what stood before them.
    A trace may hold several turns of the conversation, and a turn may be told by several traces."""
    where: str
    notes: tuple[str, ...] = ()
    """What was odd about them: orphans, duplicates, clocks."""
    named: bool = True
    """The tracer says which conversation it is; else the id is that of the trace."""
    orphans: int = 0
    """Spans inside a span that is not there."""

    @property
    def spans(self) -> list[Span]:
        """All spans, trace by trace."""
        return [span for turn in self.turns for span in turn]

    @property
    def tracer(self) -> str:
        """Whose spans most of them are, those aside that anybody may have written; `""` where that is not known."""
        told = Counter(span.tracer for span in self.spans if span.tracer)
        return max(told, key=lambda tracer: (tracer != ANYBODY, told[tracer]), default="")


def moment(time: str | None) -> float | None:
    """Seconds since 1970 of a time as text; None where it is none."""
    if time is None:
        return None
    try:
        parsed = datetime.fromisoformat(time)
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def last_end(spans: Iterable[Span]) -> str | None:
    """When the last of some spans ended; None where that is not known."""
    return max((span.ended for span in spans if moment(span.ended) is not None), key=_seconds, default=None)


def _seconds(time: str | None) -> float:
    seconds = moment(time)
    return float("-inf") if seconds is None else seconds


def milliseconds(span: Span) -> float | None:
    """How long a span took; None where that is not known, or its clock went backwards."""
    began, ended = moment(span.began), moment(span.ended)
    if began is None or ended is None or ended < began:
        return None
    return round((ended - began) * 1000, 3)
