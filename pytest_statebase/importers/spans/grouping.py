"""Spans → conversations: by what the tracer calls the conversation, else by trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .model import Conversation, Span
from .tree import Tree

_TOLD = frozenset({"generation", "tool", "agent", "root"})


def conversations_of(spans: Iterable[Span], where: str) -> list[Conversation]:
    """The conversations that some spans tell, by time.

    spans: of any number of traces, in any order, some of them twice.
    where: the file.

    A span belongs to the conversation that it names, else to that of the nearest span above, else to the only one that
    its trace names, else to one of the trace's own. Traces in which no agent, model or tool appears are left out.
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    found: dict[tuple[str, bool], _Found] = {}
    for trace, members in traces.items():
        tree = Tree(members)
        for session, part in _parts(tree).items():
            if any(span.kind in _TOLD for span in part):
                key = (trace, False) if session is None else (session, True)
                found.setdefault(key, _Found()).add(part, tree)
    conversations = [one.conversation(*key, where) for key, one in found.items()]
    return sorted(conversations, key=lambda one: _first_time(one.turns[0]))


@dataclass(slots=True)
class _Found:
    """One conversation while its traces come in."""

    turns: list[list[Span]] = field(default_factory=list)
    orphans: int = 0
    duplicates: int = 0
    cycles: int = 0
    early: int = 0

    def add(self, part: list[Span], tree: Tree) -> None:
        self.turns.append(by_time(part))
        self.orphans += tree.orphans
        self.duplicates += tree.duplicates
        self.cycles += tree.cycles
        self.early += tree.early

    def conversation(self, name: str, is_named: bool, where: str) -> Conversation:
        turns = sorted(self.turns, key=_first_time)
        return Conversation(name, turns, turns[0][0].where or where, tuple(self._notes()), is_named, self.orphans)

    def _notes(self) -> Iterator[str]:
        if self.orphans:
            yield f"{_spans(self.orphans)} inside a span that is not in the file."
        if self.duplicates:
            yield f"{_spans(self.duplicates)} in the file twice; the last complete one counts."
        if self.cycles:
            yield f"{_spans(self.cycles)} inside itself; the span around was passed over."
        if self.early:
            plural = "" if self.early == 1 else "s"
            yield f"{self.early} span{plural} began before the span around: the clocks of two machines differ."


def by_time(spans: Iterable[Span]) -> list[Span]:
    """Spans by when they began; one without a time stays after the one before it."""
    keyed: list[tuple[float, int, Span]] = []
    last = float("-inf")
    for index, span in enumerate(spans):
        time = span.time
        last = last if time is None else time
        keyed.append((last, index, span))
    return [span for _, _, span in sorted(keyed, key=lambda one: one[:2])]


def _parts(tree: Tree) -> dict[str | None, list[Span]]:
    """The spans of a trace by conversation."""
    above = tree.nearest(lambda span: span.session)
    named = {span.session for span in tree.spans} - {None}
    only = next(iter(named)) if len(named) == 1 else None
    parts: dict[str | None, list[Span]] = {}
    for span in tree.spans:
        parts.setdefault(span.session or above.get(span.id) or only, []).append(span)
    return parts


def _first_time(spans: list[Span]) -> float:
    return next((time for time in (span.time for span in spans) if time is not None), float("-inf"))


def _spans(count: int) -> str:
    return "1 span is" if count == 1 else f"{count} spans are"
