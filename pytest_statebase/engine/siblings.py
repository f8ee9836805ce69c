"""Answers from the recordings of other sessions, for calls that a session's own record does not know.

Nothing proves that two sessions saw the same world, and much proves that they did not. So only reads that name what
they ask for (they have arguments) are answered, by recordings with the same writes in the same order before them, of
tools that have told this session and another one the same when both asked the same, and only while no two of all the
sessions contradict each other. Every such answer is marked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..cassette import Cassette
from ..cassette.placeholders import PLACEHOLDER
from ..cassette.siblings import siblings_of
from ..ledger import Ledger, ToolCalled
from ..values import ABSENT, TypedData, freeze
from .explain import show_call
from .matching import Canonical
from .reshape import reshaped
from .volatile import rename

_LONG_ENOUGH = 6
World = tuple[Hashable, ...]
"""The writes that were made before a call, in their order."""
Asked = tuple[Hashable, World]
"""Tool and arguments that count, and the world in which they were asked."""


@dataclass(frozen=True, slots=True)
class SiblingAnswer:
    """A recorded call of another session."""

    call: ToolCalled
    session: str
    turn: int
    outcome: Hashable = field(repr=False, compare=False)


@dataclass(slots=True)
class Siblings:
    """The recordings that `stubs_from` names, ready to answer; they are looked through when they are first asked."""

    own: Ledger
    cassettes: list[Cassette]
    canonical: Canonical
    is_write: Callable[[str], bool]
    contradiction: str | None = None
    """Why they answer nothing: two sessions that got different results for the same."""
    _index: dict[Asked, SiblingAnswer] | None = None
    _shared: set[str] = field(default_factory=set)
    """Tools that told this session and another one the same."""

    @classmethod
    def of(cls, cassette: Cassette, canonical: Canonical, is_write: Callable[[str], bool]) -> Siblings | None:
        """Those of a cassette; None where it names none.

        Raises PlanError where one of them is missing or cannot be read.
        """
        found = siblings_of(cassette) if cassette.plan.stubs_from else []
        return cls(cassette.ledger, found, canonical, is_write) if found else None

    def answer(self, tool: str, arguments: Any, made: Iterable[Hashable]) -> SiblingAnswer | None:
        """The call of another session that answers; None for a write, and where none does.

        arguments: canonical. made: the keys of the writes that the fork's history and the replay have made.
        """
        if not arguments or self.is_write(tool):
            return None
        if self._index is None:
            self._index = self._indexed()
        return self._index.get(((tool, freeze(arguments)), tuple(made))) if tool in self._shared else None

    def _indexed(self) -> dict[Asked, SiblingAnswer]:
        answers: dict[Asked, SiblingAnswer] = {}
        own = list(self._reads(self.own, {}))
        here = dict(reversed(own))
        worlds = [self._as_here(reshaped(one).ledger, here) for one in self.cassettes]
        volatile = set().union(*(_volatile(reads) for reads in (own, *worlds)))
        asked_here = {key for key, _ in own}
        for key, answer in (pair for reads in (own, *worlds) for pair in reads):
            if answer.call.tool in volatile:
                continue
            known = answers.setdefault(key, answer)
            if known.outcome != answer.outcome:
                self.contradiction = _contradiction(known, answer)
                return {}
            if key in asked_here and answer.session != self.own.id:
                self._shared.add(answer.call.tool)
        return answers

    def _as_here(self, ledger: Ledger, here: Mapping[Asked, SiblingAnswer]) -> list[tuple[Asked, SiblingAnswer]]:
        """The reads of a sibling, its placeholders as this session has them where both were told the same.

        Each session numbers its own: which of two are one value, only equal calls tell.
        """
        names = same_session(ledger.id, self.own.id)
        back: dict[str, str] = {}
        for key, answer in self._reads(ledger, names):
            mine = here.get(key)
            if mine is None or mine.outcome != answer.outcome:
                continue
            for new, old in zip(_placeholders(mine.call), _placeholders(answer.call), strict=True):
                if old not in names and new not in back:
                    names[old], back[new] = new, old
        return list(self._reads(ledger, names))

    def _reads(self, ledger: Ledger, names: Mapping[str, str]) -> Iterator[tuple[Asked, SiblingAnswer]]:
        """The answered reads of one session, each with the writes before it; names: what to call otherwise."""
        world: World = ()
        for turn in ledger.turns:
            numbers: Counter[str] = Counter()
            causes = {getattr(event, "during", None) for event in turn.events}
            for index, call in enumerate(turn.calls):
                numbers[call.tool] += 1
                if call.during is not None:
                    continue
                arguments = self.canonical(call.tool, rename(call.arguments, names), numbers[call.tool])
                key = (call.tool, freeze(arguments))
                if self.is_write(call.tool):
                    world = (*world, key)
                elif index not in causes and (call.error is not None or call.result is not ABSENT):
                    told = replace(call, result=rename(call.result, names))
                    outcome = freeze([_neutral(told.result, []), call.error])
                    yield (key, world), SiblingAnswer(told, ledger.id, turn.number, outcome)


def _placeholders(call: ToolCalled) -> list[str]:
    """Those of a call's result, each once."""
    found: list[str] = []
    _neutral(call.result, found)
    return found


def _neutral(value: Any, found: list[str]) -> Any:
    """A value with its placeholders numbered as they come. found: is filled with them."""
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda match: _numbered(match, found), value)
    if type(value) is dict:
        return {key: _neutral(item, found) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_neutral(item, found) for item in value])
    if type(value) is TypedData:
        return TypedData(value.type, _neutral(dict(value.fields), found), value.kind)
    return value


def _numbered(match: re.Match[str], found: list[str]) -> str:
    if match[0] not in found:
        found.append(match[0])
    return f"\0{match.lastgroup} {found.index(match[0])}\0"


def same_session(sibling: str, own: str) -> dict[str, str]:
    """A sibling's id as it reads in this session; a short one may stand for anything in a text, and stays."""
    return {sibling: own} if len(sibling) >= _LONG_ENOUGH else {}


def _volatile(reads: Iterable[tuple[Asked, SiblingAnswer]]) -> set[str]:
    """Tools that told one session different things with nothing written in between: a clock, a rate, a queue."""
    outcomes: dict[Any, Hashable] = {}
    return {answer.call.tool for key, answer in reads if outcomes.setdefault(key, answer.outcome) != answer.outcome}


def _contradiction(left: SiblingAnswer, right: SiblingAnswer) -> str:
    shown = show_call(left.call.tool, left.call.arguments)
    return (
        f"`stubs_from` answers nothing: {shown} gave one result in turn {left.turn} of {left.session} and another in "
        f"turn {right.turn} of {right.session}, after the same writes; name sessions that saw the same world"
    )
