"""Which span is inside which, whatever the parents say: none twice, no cycles, orphans on top."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from .model import Span

T = TypeVar("T")


class Tree:
    """The spans of one trace.

    spans: in any order; of two with one id the last that is complete counts.
    orphans, cycles, duplicates, early: how many spans name a parent that is not there, are their own ancestors, were
    exported twice, begin before their parent.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self._by_id: dict[str, Span] = {}
        self.duplicates = 0
        for span in spans:
            known = self._by_id.get(span.id)
            self.duplicates += known is not None
            if known is None or span.ended is not None or known.ended is None:
                self._by_id[span.id] = span
        self._parents: dict[str, str] = {}
        self.orphans = self.cycles = self.early = 0
        for span in self._by_id.values():
            if span.parent is not None and span.parent in self._by_id:
                self._parents[span.id] = span.parent
            else:
                self.orphans += span.parent is not None
        self._break_cycles()
        self._count_early()

    @property
    def spans(self) -> list[Span]:
        """Each span once, in the order in which they came."""
        return list(self._by_id.values())

    def nearest(self, pick: Callable[[Span], T | None]) -> dict[str, T]:
        """By span: what `pick` gives for the nearest span above for which it gives anything."""
        return self._inherited(pick, inner=True)

    def outermost(self, pick: Callable[[Span], T | None]) -> dict[str, T]:
        """By span: what `pick` gives for the outermost span, of those above and itself, for which it gives anything."""
        found = self._inherited(pick, inner=False)
        for span in self._by_id.values():
            own = pick(span)
            if span.id not in found and own is not None:
                found[span.id] = own
        return found

    def around(self, ids: Collection[str]) -> set[str]:
        """Which spans hold any of some others."""
        found: set[str] = set()
        for span in reversed(self._downwards()):
            parent = self._parents.get(span.id)
            if parent is not None and (span.id in ids or span.id in found):
                found.add(parent)
        return found

    def _inherited(self, pick: Callable[[Span], T | None], *, inner: bool) -> dict[str, T]:
        found: dict[str, T] = {}
        for span in self._downwards():
            parent = self._parents.get(span.id)
            if parent is None:
                continue
            own, above = pick(self._by_id[parent]), found.get(parent)
            value = (above if own is None else own) if inner else (own if above is None else above)
            if value is not None:
                found[span.id] = value
        return found

    def _downwards(self) -> list[Span]:
        """All spans, each after the one around it."""
        children: dict[str | None, list[Span]] = {}
        for span in self._by_id.values():
            children.setdefault(self._parents.get(span.id), []).append(span)
        order = list(children.get(None, ()))
        for span in order:
            order.extend(children.get(span.id, ()))
        return order

    def _break_cycles(self) -> None:
        done: set[str] = set()
        for start in list(self._by_id):
            path: dict[str, None] = {}
            at: str | None = start
            while at is not None and at not in done and at not in path:
                path[at] = None
                at = self._parents.get(at)
            if at is not None and at in path:
                del self._parents[at]
                self.cycles += 1
            done.update(path)

    def _count_early(self) -> None:
        for child, parent in self._parents.items():
            began, around = self._by_id[child].time, self._by_id[parent].time
            self.early += began is not None and around is not None and began < around
