"""What of a replayed turn can be expected of every run: no ids made up on the run, a short piece of a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from ..ledger import Ledger
from ..values import same
from .ids import Ids
from .model import ReplayedCall, Source, stable_text
from .paths import children
from .shapes import SHAPES, as_moment, is_near

if TYPE_CHECKING:
    from ..cassette.plan import Plan

_PIECES: Final = (
    re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9][\w-]*[A-Za-z0-9](?![\w-])"),
    re.compile(r"(?<![\w.])(?:[$€£¥]\s?\d[\d.,]*(?<=\d)|\d[\d.,:]*\d\s?%?|\d\s?%|\d+ [^\W\d_]{2,})(?!\w)"),
    re.compile(r"[\"“«`]([^\"”»`\n]{2,40})[\"”»`]"),
)
"""An id, a number (a single digit with the word that it counts), a quoted word."""
_OWN: Final = frozenset({Source.LIVE, Source.SIMULATED})


@dataclass(slots=True)
class Grounds:
    """What a run was given by recording and plan, which is the same on every run."""

    ledger: Ledger
    plan: Plan
    ids: Ids
    calls: list[ReplayedCall]
    _given: str | None = field(default=None, init=False)
    _answered: str | None = field(default=None, init=False)

    def is_made_up(self, value: Any) -> bool:
        """Whether a value holds an id or a time that this run made up, its own session's id included."""
        return not same(value, self.ids.renamed(value)) or any(self._is_fresh(scalar) for scalar in _scalars(value))

    def _is_fresh(self, value: Any) -> bool:
        if isinstance(value, str):
            if any(self._is_new(found) for found in SHAPES.finditer(value)):
                return True
            # An id that a simulator or a tool gave may be another one the next time.
            looks_like_id = re.search(r"\d", value) is not None
            return looks_like_id and value in self._from_run and value not in self._known
        is_moment = type(value) in (int, float) or isinstance(value, datetime)
        return is_moment and is_near(value, self._clocks) and stable_text(value) not in self._known

    def _is_new(self, found: re.Match[str]) -> bool:
        if found.lastgroup == "time" and not is_near(found[0], self._clocks):
            return False
        return found[0] not in self._known

    @property
    def _clocks(self) -> list[datetime]:
        times = [self.ledger.created.at, *(turn.started.at for turn in self.ledger.turns)]
        return [moment for moment in map(as_moment, times) if moment] + [datetime.now(UTC)]

    @property
    def _known(self) -> str:
        if self._given is None:
            fixed = [call.result for call in self.calls if call.source is Source.SIBLING]
            self._given = stable_text([self.ledger.events, self.plan.answers, dict(self.plan.inputs), fixed])
        return self._given

    @property
    def _from_run(self) -> str:
        if self._answered is None:
            self._answered = stable_text([call.result for call in self.calls if call.source in _OWN])
        return self._answered


def _scalars(value: Any) -> Iterator[Any]:
    pending = [value]
    while pending:
        item = pending.pop()
        inner = children(item)
        pending.extend(child for _, child in inner)
        if isinstance(item, Mapping):
            pending.extend(item.keys())
        elif not inner:
            yield item


def distinctive(text: str, others: Iterable[str], grounds: Grounds) -> str | None:
    """A short piece of a text that none of the others has: an id, a number, a quoted word; None where there is none."""
    others = list(others)
    for pattern in _PIECES:
        for found in pattern.finditer(text):
            piece = found[found.lastindex or 0].strip()
            if piece and not any(piece in other for other in others) and not _is_within_made_up(found, grounds):
                return piece
    return None


def _is_within_made_up(found: re.Match[str], grounds: Grounds) -> bool:
    """Whether a piece is, or is part of, what this run made up."""
    around = [shape[0] for shape in SHAPES.finditer(found.string) if _overlap(shape, found)]
    return any(grounds.is_made_up(text) for text in (*around, found[0]))


def _overlap(left: re.Match[str], right: re.Match[str]) -> bool:
    return left.start() < right.end() and right.start() < left.end()


def words_of(text: str, others: Iterable[str], grounds: Grounds) -> str | None:
    """The beginning of a sentence that none of the others has; None where there is none."""
    others = list(others)
    for sentence in (part.strip() for part in re.split(r"(?<=[.!?])\s+|\n", text)):
        words = sentence if len(sentence) <= 40 else sentence[:40].rpartition(" ")[0]
        if words and not any(words in other for other in others) and not grounds.is_made_up(words):
            return words
    return None
