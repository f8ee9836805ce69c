"""The answers that an accepted turn was served and the record does not hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from ..cassette.accepted import Accepted, AcceptedCall
from ..compare.paths import numbered
from ..compare.shapes import as_moment, is_near
from ..values import freeze
from .matching import Canonical, Pool, now
from .volatile import mask


@dataclass(slots=True)
class KeptAnswer:
    """An answer of the accepted baseline."""

    call: AcceptedCall
    index: int
    """Its position among the calls of its turn, from 0."""
    repeated: bool = False
    renamed: bool = False


@dataclass(slots=True)
class KeptAnswers:
    """The calls of accepted turns, asked for in the order in which they were made.

    The k-th call with the same arguments stands for the k-th of them in the accepted turn: so a call that the record
    answers first and a simulator then gets both answers in that order again.
    """

    accepted: Accepted | None
    canonical: Canonical
    pool: Pool
    _turn: int = 0
    _calls: dict[Hashable, list[KeptAnswer]] = field(default_factory=dict)
    _made: Counter[Hashable] = field(default_factory=Counter)

    def answer(self, tool: str, arguments: object, turn: int, *, is_write: bool) -> KeptAnswer | None:
        """The answer that was kept for the call; None where the other sources are to be asked.

        arguments: canonical.
        """
        if self.accepted is None or turn not in self.accepted.turns:
            return None
        if turn != self._turn:
            self._enter(turn, self.accepted)
        key = (tool, freeze(arguments))
        found = self._calls.get(key)
        if found is None:
            return self._made_up(tool, arguments)
        position = self._made[key]
        self._made[key] += 1
        if position < len(found):
            return found[position] if found[position].call.source else None
        answered = [] if is_write else [one for one in found if one.call.source]
        return KeptAnswer(answered[-1].call, answered[-1].index, repeated=True) if answered else None

    def _enter(self, turn: int, accepted: Accepted) -> None:
        self._turn, self._calls, self._made = turn, {}, Counter()
        calls = accepted.turns[turn].calls
        for index, (call, label) in enumerate(zip(calls, numbered(c.tool for c in calls), strict=True)):
            key = (call.tool, freeze(self.canonical(call.tool, call.arguments, label.ordinal)))
            self._calls.setdefault(key, []).append(KeptAnswer(call, index))

    def _made_up(self, tool: str, arguments: object) -> KeptAnswer | None:
        """The answer to a call that differs only in ids and times that the agent makes up on each run."""
        shape, new = mask(arguments)
        if not new:
            return None
        for key, calls in self._calls.items():
            call = calls[0].call
            if call.tool != tool or not call.source or self._made[key]:
                continue
            masked, old = mask(self.canonical(tool, call.arguments, 0))
            if masked == shape and self._is_renaming(zip(old, new, strict=True)):
                self._made[key] += 1
                return KeptAnswer(call, calls[0].index, renamed=True)
        return None

    def _is_renaming(self, pieces: Iterable[tuple[tuple[str, object], tuple[str, object]]]) -> bool:
        accepted_at = as_moment(self.accepted.at) if self.accepted else None
        names: dict[str, str] = {}
        for (shape, old), (_, new) in pieces:
            if old == new:
                continue
            if shape == "time":
                if accepted_at is None or not (is_near(old, [accepted_at, now()]) and is_near(new, [now()])):
                    return False
            else:
                names[str(old)] = str(new)
        return self.pool.adopt(names)
