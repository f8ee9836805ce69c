"""A conversation of spans → what was said and called in it, trace by trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...values import ABSENT
from ..messages import Message
from .calls import Joiner
from .content import merged, messages_of, spoken, times_spoken
from .model import Conversation, Span
from .transcript import Entry, Transcript, words
from .tree import Tree


class Told:
    """What one trace is known to have begun and ended with."""

    def __init__(self, number: int, spans: list[Span]) -> None:
        self.number = number
        self.spans = spans
        self.tree = tree = Tree(spans)
        self._tools = tree.nearest(lambda span: span if span.kind == "tool" else None)
        self._agents = tree.nearest(lambda span: span.agent)
        self._runs = tree.outermost(lambda span: span.id if span.kind == "agent" else None)
        self.generations = self._generations(tree)
        self.top = self._top(tree)
        self.input = None if self.top is None else spoken(self.top.input, "user")
        self.is_one_turn = self.top is not None and self.input is not None and times_spoken(self.top.input, "user") < 2
        self.heard = False
        """A user's message of this trace is known."""
        self.runs: set[str] = set()
        """The outermost agents' spans that have heard a user's message."""
        self.answered = False

    def _generations(self, tree: Tree) -> list[Span]:
        """The calls of models (one that is inside another is the same call); else the agents that tell messages."""
        models = [span for span in self.spans if span.kind == "generation" and _tells(span)]
        steps = (span for span in self.spans if span.kind in ("agent", "root") and isinstance(span.input, list))
        agents = [] if models else [_as_generation(span) for span in steps]
        found = models or agents
        ids = {span.id for span in found}
        inside = tree.nearest(lambda span: span.id if span.id in ids else None)
        return [span for span in found if span.id not in inside]

    def _top(self, tree: Tree) -> Span | None:
        """The outermost span that is no call and knows what the agent was handed or gave back."""
        inside = tree.nearest(lambda span: span.id if _tells(span) else None)
        steps = (span for span in self.spans if span.kind not in ("generation", "tool", "retriever") and _tells(span))
        return next((span for span in steps if span.id not in inside), None)

    def hear(self, span: Span) -> None:
        """A call of a model told a message of the user's."""
        self.heard = True
        run = self.run_of(span)
        if run is not None:
            self.runs.add(run)

    @property
    def goes_on(self) -> bool:
        """Its first model was told something: where nothing of it is new, the trace continues a turn of another one."""
        first = self.generations[0].input if self.generations else None
        return isinstance(first, list) and bool(first)

    @property
    def failed(self) -> Mapping[str, Any] | None:
        """What its last call of a model raised, if that gave nothing."""
        last = next((span for span in reversed(self.spans) if span.kind == "generation"), None)
        return last.error if last is not None and last.output is ABSENT else None

    def tool_around(self, span: Span) -> Span | None:
        """The tool's span inside which something happened."""
        return self._tools.get(span.id)

    def agent_of(self, span: Span) -> str | None:
        """Which agent did something."""
        return span.agent or self._agents.get(span.id)

    def run_of(self, span: Span) -> str | None:
        """The outermost agent's span that holds a span."""
        return self._runs.get(span.id)


@dataclass(frozen=True, slots=True)
class _ModelCall:
    """One call of a model, with the conversation that it carries on."""

    span: Span
    told: Told
    thread: Transcript
    inside: Span | None
    """The tool's span inside which it was made."""


class Reading:
    """Puts a conversation together."""

    def __init__(self, conversation: Conversation) -> None:
        self.entries: list[Entry] = []
        """In order, with the calls joined to the tools' spans."""
        self.traces: list[Told] = []
        self.system: list[str] = []
        self.injected = self.unplaced = 0
        self.main = Transcript()
        self._sides: list[tuple[str | None, Transcript]] = []
        self._joiner = Joiner()
        for number, spans in enumerate(conversation.turns):
            self._read(Told(number, spans))

    def _read(self, told: Told) -> None:
        self.traces.append(told)
        start = len(self.entries)
        for span in told.generations:
            self._generation(span, told)
        if not told.heard and not told.goes_on and told.top is not None and told.input is not None:
            self._add_first(told, told.top, told.input, start)
        new = self.entries[start:]
        self.injected += _prefer_told(new, told)
        self._joiner.open(new)
        made = self._joiner.join(told)
        self.entries[start:] = in_time([*new, *made])

    def _add_first(self, told: Told, top: Span, text: str, start: int) -> None:
        message = Message("user", top.where, [{"type": "text", "content": text}], at=top.began)
        entry = Entry(message, told.number)
        self.main.add(entry)
        self.entries.insert(start, entry)
        told.heard = True

    def _generation(self, span: Span, told: Told) -> None:
        heard = messages_of(span.input, f"{span.where}: input" if span.where else "input")
        answer = messages_of(span.output, f"{span.where}: output" if span.where else "output")
        call = _ModelCall(span, told, *self._thread(span, heard, told))
        history = [message for message in heard if message.role != "system"]
        takes_user = False
        if call.thread is self.main:
            self._hear_system(heard)
            takes_user = self._takes_user(span, told)
            new = self._new(call.thread, history, told)
        else:
            new = call.thread.unsaid(history, call.thread.align(history))
        # What the first call of a model repeats was before all that the trace holds.
        since = span.time if told.heard else None
        for message in merged(new):
            self._add(message, call, since, takes_user=takes_user)
        for message in answer:
            self._add(message, call, span.time, takes_user=False).span = span

    def _thread(self, span: Span, heard: list[Message], told: Told) -> tuple[Transcript, Span | None]:
        """The conversation that a call of a model carries on: the user's, or one of the agents among themselves."""
        inside = told.tool_around(span)
        history = [message for message in heard if message.role != "system"]
        begun = any(entry.turn == told.number and not entry.aside for entry in self.main.entries[-64:])
        if inside is None and (not history or not begun or _related(self.main, history)):
            return self.main, None
        key = None if inside is None else inside.id
        for known, thread in reversed(self._sides[-64:]):
            if known == key and (inside is not None or _related(thread, history)):
                return thread, inside
        self._sides.append((key, Transcript()))
        return self._sides[-1][1], inside

    def _new(self, thread: Transcript, history: list[Message], told: Told) -> list[Message]:
        places = thread.align(history)
        first = not told.heard and not any(entry.turn == told.number for entry in thread.entries[-64:])
        tail = _last_said(history)
        if first and tail < len(history):
            places[tail:] = [None] * (len(history) - tail)
        if first and history and thread.entries and all(place is None for place in places):
            begin = tail if tail < len(history) else _last_said(history[: _last_user(history) + 1])
            self.unplaced += begin > 0
            return history[begin:]
        return thread.unsaid(history, places)

    def _hear_system(self, heard: list[Message]) -> None:
        prompts = [message.text for message in heard if message.role == "system" and message.text]
        if prompts and (not self.system or self.system[-1] != prompts[-1]):
            self.system.append(prompts[-1])

    def _takes_user(self, span: Span, told: Told) -> bool:
        """Whether a user's message in a history is the user's: of a run of an agent only what began it is."""
        run = told.run_of(span)
        return not told.heard or (not told.is_one_turn and (run is None or run not in told.runs))

    def _add(self, message: Message, call: _ModelCall, time: float | None, *, takes_user: bool) -> Entry:
        span, told = call.span, call.told
        at = span.began if message.role == "user" else span.ended or span.began
        entry = Entry(replace(message, at=message.at or at), told.number, time, told.agent_of(span))
        if message.role == "tool":
            call.thread.answer(message)
            return entry
        entry.aside = call.thread is not self.main
        if message.role == "user" and not entry.aside and not takes_user:
            self.injected += 1
            entry.aside = True
        for one in entry.calls:
            one.inside = call.inside
        call.thread.add(entry)
        self.entries.append(entry)
        if message.role == "user" and not entry.aside:
            told.hear(span)
        told.answered = told.answered or (message.role == "assistant" and not entry.aside)
        return entry


def _prefer_told(entries: list[Entry], told: Told) -> int:
    """Where the agent put the user's words into a longer prompt, or beside words of its own, the user's words alone.

    Returns how many messages in the user's name were none of his.
    """
    heard = _asked_last(entries)
    if not heard or told.input is None:
        return 0
    own = [one for one in heard if one.message.text == told.input]
    if own:
        others = [one for one in heard if one is not own[-1]]
        for one in others:
            one.aside = True
        return len(others)
    last = heard[-1]
    if told.input in (last.message.text or ""):
        last.message = words(last.message, told.input)
    return 0


def _asked_last(entries: list[Entry]) -> list[Entry]:
    """The user's messages that stand together last: what a trace repeats of earlier turns is not its own."""
    heard: list[Entry] = []
    for entry in reversed(entries):
        if entry.message.role == "user" and not entry.aside:
            heard.append(entry)
        elif heard and entry.message.role == "assistant" and not entry.aside:
            break
    return heard[::-1]


def in_time(entries: Iterable[Entry]) -> list[Entry]:
    """Entries by time; the messages keep their order among each other, whatever their clocks say."""
    latest = float("-inf")
    keyed: list[tuple[float, int, Entry]] = []
    for index, entry in enumerate(entries):
        time = latest if entry.time is None else entry.time
        if not entry.made:
            latest = time = max(latest, time)
        keyed.append((time, index, entry))
    return [entry for _, _, entry in sorted(keyed, key=lambda one: one[:2])]


def _as_generation(span: Span) -> Span:
    """An agent that was handed messages: what it gave back is its answer, or the whole conversation with the answer."""
    said = span.output
    if not isinstance(said, list) or not all(isinstance(item, Mapping) and "role" in item for item in said):
        text = spoken(said, "assistant")
        return replace(span, output=ABSENT if text is None else [{"role": "assistant", "content": text}])
    asked = max((index for index, item in enumerate(said) if item["role"] == "user"), default=None)
    if asked is None:
        return span
    return replace(span, input=said[: asked + 1], output=said[asked + 1 :])


def _tells(span: Span) -> bool:
    return span.input is not ABSENT or span.output is not ABSENT


def _related(thread: Transcript, history: list[Message]) -> bool:
    return any(place is not None for place in thread.align(history)) or _only_results(history)


def _only_results(history: list[Message]) -> bool:
    return all(message.role == "tool" for message in history)


def _last_user(history: list[Message]) -> int:
    return next((index for index in reversed(range(len(history))) if history[index].role == "user"), 0)


def _last_said(history: list[Message]) -> int:
    """Where the user's last messages begin, if the history ends with them; else its length."""
    index = len(history)
    while index > 0 and history[index - 1].role == "user":
        index -= 1
    return index
