"""The recorded and the replayed calls of one turn, set side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ledger import ToolCalled, Turn
from ..values import ABSENT
from .diff import Difference, diff
from .facets import RENAMED
from .model import AlignedCall, Divergence, Facet, Kind, Observed, ReplayedCall, Source
from .pairing import Pairing, Pairs, Scene
from .paths import Call, Path, numbered, render


@dataclass(slots=True)
class Alignment:
    """The calls of a turn in rows, and how they differ, the weightiest first."""

    rows: list[AlignedCall]
    divergences: list[Divergence]


def align(turn: Turn, observed: Observed, scene: Scene) -> Alignment:
    """Align a turn's recorded calls with the replayed ones, and say where they part.

    Calls answered by the recording in their own place are pairs. Then, among what is left, calls of the same tool
    are paired (equal arguments first, then neighbours), then calls that stand in each other's place; the rest is
    missing, extra or moved.
    """
    return _Teller(Pairing(turn, observed, scene)).run()


def unchanged_rows(calls: list[ToolCalled]) -> list[AlignedCall]:
    """The rows of a turn whose calls were all made as recorded."""
    if len(calls) == 1:
        return [AlignedCall(0, 0, calls[0].tool)]
    return [AlignedCall(i, i, _label(call)) for i, call in enumerate(numbered(call.tool for call in calls))]


def _label(call: Call) -> str:
    return call.tool if call.ordinal == 1 else f"{call.tool}#{call.ordinal}"


class _Teller:
    """Turns a pairing into rows and divergences."""

    def __init__(self, pairing: Pairing) -> None:
        self.pairing, self.scene = pairing, pairing.scene
        self.recorded, self.replayed = pairing.recorded, pairing.replayed
        self.number = pairing.turn.number
        beyond = sorted(pairing.moved | set(pairing.extra()))
        labels = numbered([*(call.tool for call in self.recorded), *(self.replayed[j].tool for j in beyond)])
        self.labels = labels[: len(self.recorded)]
        self.beyond = dict(zip(beyond, labels[len(self.recorded) :], strict=True))
        """Calls that the recording does not have here, numbered after those that it has."""
        self.missing = pairing.missing()
        self.changed: set[int] = set()
        self.found: list[tuple[tuple[bool, int, int], Divergence]] = []

    def run(self) -> Alignment:
        rows = self.rows()
        self.tell_pairs()
        self.tell_order()
        self.tell_replaced()
        self.tell_missing()
        self.tell_beyond()
        self.found.sort(key=lambda entry: entry[0])
        return Alignment(rows, [divergence for _, divergence in self.found])

    def rows(self) -> list[AlignedCall]:
        paired = {**self.pairing.pairs, **self.pairing.replaced}
        rows = [((j, 0, 0), AlignedCall(i, j, _label(self.labels[i]))) for i, j in paired.items()]
        rows += [((j, 0, 0), AlignedCall(None, j, _label(call))) for j, call in self.beyond.items()]
        rows += [((self.after(i, paired), 1, i), AlignedCall(i, None, _label(self.labels[i]))) for i in self.missing]
        end = len(self.replayed)
        rows += [((end, 0, i), AlignedCall(i, None, _label(self.labels[i]))) for i in self.pairing.not_reached()]
        return [row for _, row in sorted(rows, key=lambda entry: entry[0])]

    def after(self, i: int, paired: Pairs) -> int:
        """The position behind which a call would have been made that was not."""
        return paired[max(before)] if (before := [k for k in paired if k < i]) else -1

    def tell(
        self,
        kind: Kind,
        path: Path,
        position: int,
        recorded: Any,
        replayed: Any,
        detail: str | None = None,
        *,
        note: bool = False,
        leads: bool = False,
    ) -> None:
        if self.scene.rules.hides(path):
            return
        divergence = Divergence(Facet.TOOLS, kind, render(path), recorded, replayed, detail=detail, note=note)
        self.found.append(((not leads, position, len(self.found)), divergence))

    def tell_pairs(self) -> None:
        for i, j in self.pairing.pairs.items():
            if j not in self.pairing.equal:
                self.tell_arguments(i, j)
            elif self.replayed[j].renamed:
                for found in self.differences(i, j):
                    self.tell(Kind.ARGUMENTS, found.path, j, found.recorded, found.replayed, RENAMED, note=True)
            self.tell_agent(i, j)

    def differences(self, i: int, j: int) -> list[Difference]:
        return diff(
            self.pairing.recorded_arguments(i),
            self.pairing.replayed_arguments(j, i),
            prefix=("tools", self.labels[i], "arguments"),
            ignore=self.scene.rules,
            translate=self.scene.ids.session,
        )

    def tell_arguments(self, i: int, j: int) -> None:
        """One divergence an argument; ids made up anew are notes, unless nothing else explains the difference."""
        differences, made_up = self.differences(i, j), self.scene.made_up
        notes = [made_up is not None and made_up(found.recorded, found.replayed) for found in differences]
        if differences:
            self.changed.add(j)
        for found, note in zip(differences, notes, strict=True):
            note = note and not all(notes)
            detail = RENAMED if note else found.detail or _ARGUMENT_DETAILS.get(found.kind)
            self.tell(Kind.ARGUMENTS, found.path, j, found.recorded, found.replayed, detail, note=note)

    def tell_agent(self, i: int, j: int) -> None:
        agent, recorded = self.replayed[j].agent, self.recorded[i].agent
        if self.scene.agents and agent != recorded:
            detail = f"made by {agent or 'no agent'}, recorded {recorded or 'none'}"
            self.tell(Kind.VALUE, ("tools", self.labels[i], "agent"), j, recorded, agent, detail)

    def tell_order(self) -> None:
        """A pair with another argument is told as that alone."""
        in_order = self.pairing.in_order(self.pairing.pairs)
        for i, j in self.pairing.pairs.items():
            if i not in in_order and j not in self.changed:
                detail = self.order_detail(i, j, in_order)
                self.tell(Kind.REORDERED, ("tools", self.labels[i], "order"), j, i + 1, j + 1, detail)

    def order_detail(self, i: int, j: int, in_order: Pairs) -> str:
        for other, place in sorted(in_order.items()):
            first, second = sorted((i, other))
            if (other < i) != (place < j) and self.pairing.comes_before(first, second):
                made, was = ("before", "after") if j < place else ("after", "before")
                return f"made {made} {_label(self.labels[other])}, recorded {was} it"
        return "made in another order"

    def tell_replaced(self) -> None:
        for i, j in self.pairing.replaced.items():
            recorded, replayed = self.recorded[i], self.replayed[j]
            leads = self.scene.is_write(recorded.tool) or self.scene.is_write(replayed.tool)
            # The path names the other tool.
            answered = self.source_detail(replayed)
            detail = f"{replayed.tool}, called in its place, {answered}" if answered else None
            path = ("tools", self.labels[i])
            self.tell(Kind.REPLACED, path, j, _shown(recorded), _shown(replayed), detail, leads=leads)

    def tell_missing(self) -> None:
        for i in self.missing:
            call, place = self.recorded[i], self.after(i, self.pairing.pairs)
            leads = self.scene.is_write(call.tool)
            self.tell(Kind.MISSING, ("tools", self.labels[i]), place, _shown(call), ABSENT, leads=leads)

    def tell_beyond(self) -> None:
        for j, label in self.beyond.items():
            call, path = self.replayed[j], ("tools", label)
            if self.scene.usage.is_moved(call):
                origin, here = f"turn {call.recorded_turn}", f"turn {self.number}"
                self.tell(Kind.MOVED, path, j, origin, here, f"made in {here}, recorded in {origin}")
            else:
                leads = self.scene.is_write(call.tool)
                self.tell(Kind.EXTRA, path, j, ABSENT, _shown(call), self.source_detail(call), leads=leads)

    def source_detail(self, call: ReplayedCall) -> str | None:
        if call.unrecorded:
            return "had no recorded answer"
        if call.source is Source.RECORD and call.recorded_turn != self.number:
            return f"answered by the recording of turn {call.recorded_turn}"
        if call.repeated:
            return "answered again by a recording that was already used"
        return _SOURCE_DETAILS.get(call.source)


_ARGUMENT_DETAILS = {Kind.ADDED: "only the replayed call has it", Kind.REMOVED: "only the recorded call has it"}
_SOURCE_DETAILS = {
    Source.ACCEPTED: "answered as accepted",
    Source.AUTHORED: "answered by the plan",
    Source.SIBLING: "answered by another session",
    Source.SIMULATED: "answered by the simulator",
    Source.LIVE: "answered by the tool itself",
}


def _shown(call: ToolCalled | ReplayedCall) -> dict[str, Any]:
    return {"tool": call.tool, "arguments": call.arguments}
