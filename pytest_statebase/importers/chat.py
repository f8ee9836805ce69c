"""OpenAI-style chat messages → ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..engine.agents import OUTPUT_TYPES
from ..errors import ImportFileError
from ..ledger import Content, Event, Ledger, Said, SessionCreated, SessionEnded, ToolCalled, TurnAdded, TurnStarted
from ..values import ABSENT
from .files import inside
from .messages import Message, parse_message
from .model import Facts


def ledger_from_messages(messages: Any, facts: Facts, where: str) -> Ledger:
    """The ledger of one conversation.

    messages: a list of mappings with `role` and `content`, in order; roles system, developer, user, assistant,
        tool, function.
    where: file and place of the list, for errors.

    Results are paired with the calls that still wait for one: by id, else by name, else in order (ids may repeat
    inside a session). Calls of one message share a step. The last text of a turn is its output; text beside or
    before calls is said. A system message is metadata of the session, a later one that differs is kept beside its
    turn. What the user said last and nobody answered is the input of the session's end.
    Raises ImportFileError, naming the message, for what is no conversation.
    """
    return ledger_from_parsed([parse_message(*raw) for raw in placed(messages, where)], facts, where)


def placed(messages: Any, where: str) -> list[tuple[Any, str]]:
    """Each message with its place in the file.

    Raises ImportFileError for what is no list.
    """
    if not isinstance(messages, list):
        raise ImportFileError("is no list of messages", where=where, remedy="Give a list of {role, content} mappings.")
    return [(raw, inside(where, index)) for index, raw in enumerate(messages)]


def ledger_from_parsed(messages: Sequence[Message | None], facts: Facts, where: str) -> Ledger:
    """As `ledger_from_messages`, of messages that are read already; None ends a turn, whoever speaks next."""
    if not any(message is not None and message.role != "system" for message in messages):
        raise ImportFileError("holds no message of a user or an agent", where=where, remedy="Leave the session out.")
    return Ledger(_events(messages, facts))


def _events(messages: Sequence[Message | None], facts: Facts) -> Iterator[Event]:
    spoken = [message for message in messages if message is not None]
    first = next(index for index, message in enumerate(spoken) if message.role != "system")
    prompts = [message.text for message in spoken[:first] if message.text is not None]
    conversation = _Conversation(facts, prompts[-1] if prompts else None)
    beginning = next(index for index, message in enumerate(messages) if message is spoken[first])
    for message in messages[beginning:]:
        conversation.add(message)
    metadata = {**facts.metadata, **_system(prompts)}
    at = facts.at or spoken[first].at
    yield SessionCreated(facts.id, facts.agent, facts.user, at, metadata=metadata or None)
    yield from conversation.finish()


def _system(prompts: list[str]) -> dict[str, Any]:
    if not prompts:
        return {}
    return {"system": prompts[0] if len(prompts) == 1 else prompts}


@dataclass(slots=True)
class _Turn:
    """A turn while its messages come in."""

    inputs: list[Content] | None
    at: str | None
    events: list[Event] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    """Positions in `events` of the calls that have no result yet."""
    steps: int = 0
    answered: bool = False
    """The agent did something, be it only an empty message."""
    last: Message | None = None
    """The text that is the output, unless the agent goes on."""
    reasoning: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def input(self) -> Content | list[Content] | None:
        if self.inputs is None or len(self.inputs) != 1:
            return self.inputs
        return self.inputs[0]


class _Conversation:
    """Turns messages into the events between a session's first and last."""

    def __init__(self, facts: Facts, system: str | None) -> None:
        self._facts = facts
        self._system = system
        self._new_system: list[str] = []
        self._done: list[Event] = []
        self._turn: _Turn | None = None
        self._number = 0
        self._last_at: str | None = None

    def add(self, message: Message | None) -> None:
        if message is None:
            self._end_turn()
            return
        self._last_at = message.at or self._last_at
        match message.role:
            case "system":
                self._note_system(message.text)
            case "user":
                self._hear(message)
            case "assistant":
                self._speak(message)
            case "tool":
                self._answer(message)

    def finish(self) -> list[Event]:
        """The events, with the end of the session."""
        unanswered = None
        if self._turn is not None and self._turn.answered:
            self._close()
        elif self._turn is not None:
            unanswered = self._turn.input
        extra = {"system": _one_or_list(self._new_system)} if self._new_system else {}
        at = self._facts.end_at or self._last_at
        return [*self._done, SessionEnded(self._facts.end_reason, unanswered, at, extra)]

    def _end_turn(self) -> None:
        if self._turn is not None and self._turn.answered:
            self._close()

    def _note_system(self, text: str | None) -> None:
        if text is not None and text != self._system:
            self._system = text
            self._new_system.append(text)

    def _hear(self, message: Message) -> None:
        if message.parts is None:
            remedy = "A user's message has a text or a list of parts as `content`."
            raise ImportFileError("is a user's message without content", where=message.where, remedy=remedy)
        inputs = [{**part, "name": message.name} for part in message.parts] if message.name else message.parts
        if self._turn is not None and not self._turn.answered and self._turn.inputs is not None:
            self._turn.inputs.extend(inputs)
            return
        if self._turn is not None:
            self._close()
        self._turn = _Turn(list(inputs), message.at)

    def _speak(self, message: Message) -> None:
        turn = self._turn = self._turn or _Turn(None, message.at)
        turn.answered = True
        if message.reasoning:
            turn.reasoning.append(message.reasoning)
        turn.metadata.update(message.extra)
        self._keep_system(turn)
        if message.requests:
            _say(turn, turn.last)
            _say(turn, message)
            turn.last = None
            _ask(turn, message)
        elif message.parts and (turn.last is None or message.text != ""):
            _say(turn, turn.last)
            turn.last = message

    def _answer(self, message: Message) -> None:
        turn = self._turn
        if turn is None or not turn.waiting:
            found = f"is the result of a call ({message.id or message.name or 'no id'}), but no call waits for one"
            remedy = "Give the conversation from its beginning, with each call before its result and each result once."
            raise ImportFileError(found, where=message.where, remedy=remedy)
        position = _waiting_call(turn, message)
        turn.waiting.remove(position)
        call = turn.events[position]
        assert isinstance(call, ToolCalled)
        failed = message.is_error or (self._facts.error_texts and _is_error_text(message.result))
        turn.events[position] = replace(call, result=message.result, is_error=failed, extra=message.extra)

    def _keep_system(self, turn: _Turn) -> None:
        if self._new_system:
            turn.extra["system"] = _one_or_list(self._new_system)
            self._new_system = []

    def _close(self) -> None:
        turn = self._turn
        assert turn is not None
        self._number += 1
        self._done.append(TurnStarted(self._number, turn.input, turn.at))
        self._done.extend(turn.events)
        self._done.append(
            TurnAdded(
                output=ABSENT if turn.last is None else _output(turn.last),
                reasoning="\n\n".join(turn.reasoning) or None,
                metadata=turn.metadata or None,
                interrupted=bool(turn.waiting),
                extra=turn.extra,
            )
        )
        self._turn = None


def _one_or_list(texts: list[str]) -> str | list[str]:
    return texts[0] if len(texts) == 1 else list(texts)


def _say(turn: _Turn, message: Message | None) -> None:
    """Keep a text that is not the output; an empty one beside calls says nothing."""
    if message is None or not message.parts:
        return
    others: list[Mapping[str, Any]] = [part for part in message.parts if part["type"] != "text"]
    if message.text or others:
        turn.events.append(Said(message.text or "", message.at, {"parts": others} if others else {}))


def _ask(turn: _Turn, message: Message) -> None:
    turn.steps += 1
    for request in message.requests:
        turn.waiting.append(len(turn.events))
        turn.events.append(
            ToolCalled(
                request.tool, request.arguments, step=turn.steps, id=request.id, agent=message.name, at=message.at
            )
        )


def _waiting_call(turn: _Turn, message: Message) -> int:
    """The position of the call that a result answers: by id, else by name, else the first that waits."""
    for key, wanted in (("id", message.id), ("tool", message.name)):
        for position in turn.waiting:
            if wanted is not None and getattr(turn.events[position], key) == wanted:
                return position
    return turn.waiting[0]


def _is_error_text(result: Any) -> bool:
    return isinstance(result, str) and result.startswith("Error")


def _output(message: Message) -> Content:
    parts = message.parts or []
    if all(part["type"] == "text" for part in parts):
        return {"type": "text", "content": message.text}
    whole: Content = parts[0] if len(parts) == 1 else {"type": "parts", "content": parts}
    # As the reply of an agent that returns just that.
    return whole if whole["type"] in OUTPUT_TYPES else {"type": "data", "content": whole}
