"""Where the reply to a turn stands in what a service answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from ..compare.paths import Step, lookup, parse_steps
from ..errors import AgentError, PlanError
from ..values import ABSENT
from ..wire.streams import EVENTS, LINES
from .agents import AgentReply
from .answer import ServiceAnswer, ServiceError, refused

Where: TypeAlias = str | Callable[[ServiceAnswer], Any] | None
"""A path such as `reply.text`, or a function of the answer; None is the whole body."""
_EVENTS, _LINES = (
    "text/event-stream",
    frozenset({"application/x-ndjson", "application/jsonl", "application/json-lines"}),
)


class Reading:
    """How a reply is read from an answer.

    Of a stream (server-sent events, JSON lines) a path is followed in every event, and the texts there are joined.
    Raises AgentError for what is no path.
    """

    def __init__(self, reply: Where, state: Where) -> None:
        self._reply = _steps(reply)
        self._state = _steps(state)
        self._paths = {"reply": reply, "state": state}

    def reply(self, request: str, answer: ServiceAnswer) -> AgentReply:
        """The turn's reply. Raises ServiceError where the answer holds none."""
        if not 200 <= answer.status < 300:
            raise refused(request, answer)
        output = answer.content if self._reply is None else self._read(request, answer, "reply", self._reply)
        new = ABSENT if self._state is None else self._read(request, answer, "state", self._state)
        return output if isinstance(output, AgentReply) else AgentReply(output, state=new)

    def _read(self, request: str, answer: ServiceAnswer, what: str, how: Any) -> Any:
        if callable(how):
            return how(answer)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == EVENTS or kind in LINES:
            found = [one for event in _streamed(answer.text, kind) for one in lookup(event, how)]
            if found and what == "reply" and all(one is None or isinstance(one, str) for one in found):
                return "".join(one for one in found if one is not None)
            found = found[-1:]
        else:
            found = lookup(answer.content, how)
        if len(found) != 1:
            problem = f"{request} answered without {what} at `{self._paths[what]}`"
            raise ServiceError(f"{problem}: {answer.text[:300]}", answer.status)
        return found[0]


def _streamed(text: str, kind: str) -> Iterator[Any]:
    """The JSON values of a stream, one an event or line."""
    for event in _events(text) if kind == EVENTS else text.split("\n"):
        try:
            yield json.loads(event)
        except (ValueError, RecursionError):
            continue


def _events(text: str) -> Iterable[str]:
    """What each server-sent event says under `data`."""
    data: list[str] = []
    for line in [*text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data)
            data = []


def _steps(path: Where) -> tuple[Step, ...] | Callable[[ServiceAnswer], Any] | None:
    if path is None or callable(path):
        return path
    try:
        return parse_steps(path)
    except PlanError as error:
        raise AgentError(f"{path!r} is no path into the answer of a service: {error.what}") from error
