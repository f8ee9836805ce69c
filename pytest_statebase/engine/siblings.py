"""Answers from the recordings of other sessions, for calls that a session's own record does not know.

Nothing proves that two sessions saw the same world, and much proves that they did not. So only reads that name what
they ask for (they have arguments) are answered, by recordings with the same writes in the same order before them, of
tools that have told this session and another one the same when both asked the same, and only while no two of all the
sessions contradict each other. Every such answer is marked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..cassette import Cassette
from ..cassette.siblings import siblings_of
from ..ledger import Ledger, ToolCalled
from ..values import ABSENT, freeze
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
        worlds = [self._reads(reshaped(one).ledger) for one in self.cassettes]
        own = self._reads(self.own)
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

    def _reads(self, ledger: Ledger) -> list[tuple[Asked, SiblingAnswer]]:
        """The answered reads of one session, each with the writes before it."""
        found: list[tuple[Asked, SiblingAnswer]] = []
        world: World = ()
        same_id = same_session(ledger.id, self.own.id)
        for turn in ledger.turns:
            numbers: Counter[str] = Counter()
            causes = {getattr(event, "during", None) for event in turn.events}
            for index, call in enumerate(turn.calls):
                numbers[call.tool] += 1
                if call.during is not None:
                    continue
                arguments = self.canonical(call.tool, rename(call.arguments, same_id), numbers[call.tool])
                key = (call.tool, freeze(arguments))
                if self.is_write(call.tool):
                    world = (*world, key)
                elif index not in causes and (call.error is not None or call.result is not ABSENT):
                    outcome = freeze([rename(call.result, same_id), call.error])
                    found.append(((key, world), SiblingAnswer(call, ledger.id, turn.number, outcome)))
        return found


def same_session(sibling: str, own: str) -> dict[str, str]:
    """A sibling's id as it reads in this session; a short one may stand for anything in a text, and stays."""
    return {sibling: own} if len(sibling) >= _LONG_ENOUGH else {}


def _volatile(reads: list[tuple[Asked, SiblingAnswer]]) -> set[str]:
    """Tools that told one session different things with nothing written in between: a clock, a rate, a queue."""
    outcomes: dict[Any, Hashable] = {}
    return {answer.call.tool for key, answer in reads if outcomes.setdefault(key, answer.outcome) != answer.outcome}


def _contradiction(left: SiblingAnswer, right: SiblingAnswer) -> str:
    shown = show_call(left.call.tool, left.call.arguments)
    return (
        f"`stubs_from` answers nothing: {shown} gave one result in turn {left.turn} of {left.session} and another in "
        f"turn {right.turn} of {right.session}, after the same writes; name sessions that saw the same world"
    )
