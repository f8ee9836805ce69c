"""The comparison of what a turn leaves beside its calls: an error, the state, the output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from ..values import ABSENT
from .diff import Difference, diff
from .ids import Ids
from .model import Divergence, Facet, Kind
from .paths import IgnoreRules, Path, render

RENAMED: Final = "made up anew on each run"


@dataclass(frozen=True, slots=True)
class Facets:
    """The comparison of everything but the calls."""

    rules: IgnoreRules
    ids: Ids

    def error(self, recorded: Mapping[str, Any] | None, replayed: Mapping[str, Any] | None) -> list[Divergence]:
        if recorded is None:
            return [] if replayed is None else [Divergence(Facet.ERROR, Kind.RAISED, "error", ABSENT, _told(replayed))]
        if self.rules.hides(("error",)):
            return []
        if replayed is None:
            return [
                Divergence(Facet.ERROR, Kind.REMOVED, "error", _told(recorded), ABSENT, detail="not raised any more")
            ]
        if recorded.get("type") != replayed.get("type"):
            return [Divergence(Facet.ERROR, Kind.RAISED, "error", _told(recorded), _told(replayed))]
        if self.rules.hides(("error", "message")):
            return []
        ours, theirs = recorded.get("message"), replayed.get("message")
        return self._diff(Facet.ERROR, ours, theirs, ("error", "message"))

    def state(self, recorded: Any, replayed: Any) -> list[Divergence]:
        if recorded is ABSENT or self.rules.hides(("state",)):
            return []
        if replayed is ABSENT:
            return [Divergence(Facet.STATE, Kind.REMOVED, "state", recorded, ABSENT, detail="no state")]
        return self._diff(Facet.STATE, recorded, replayed, ("state",))

    def memory(self, recorded: list[dict[str, Any]], replayed: list[dict[str, Any]]) -> list[Divergence]:
        if not (recorded or replayed):
            return []
        return self._diff(Facet.MEMORY, recorded, replayed, ("memory",))

    def output(self, recorded: Any, replayed: Any) -> list[Divergence]:
        if recorded is ABSENT or self.rules.hides(("output",)):
            return []
        if replayed is ABSENT:
            return [Divergence(Facet.OUTPUT, Kind.REMOVED, "output", recorded, ABSENT, detail="no output")]
        (our_type, ours), (their_type, theirs) = _content(recorded), _content(replayed)
        if our_type != their_type:
            detail = f"recorded as {our_type}, replayed as {their_type}"
            return [Divergence(Facet.OUTPUT, Kind.TYPE, "output", ours, theirs, detail=detail)]
        found = self._diff(Facet.OUTPUT, ours, theirs, ("output",))
        if _is_text(our_type) and isinstance(ours, str) and isinstance(theirs, str):
            if found and not (ours.strip() and theirs.strip()):
                # To say nothing is no other wording.
                return [replace(divergence, detail="an empty output") for divergence in found]
            return [replace(divergence, kind=Kind.TEXT) for divergence in found]
        return found

    def _diff(self, facet: Facet, recorded: Any, replayed: Any, path: Path) -> list[Divergence]:
        """The differences; those that are only ids made up anew are notes."""
        found = diff(recorded, replayed, prefix=path, ignore=self.rules, translate=self.ids.session)
        if not found or self.ids.renamed is self.ids.session:
            return [_divergence(facet, difference) for difference in found]
        real = diff(recorded, replayed, prefix=path, ignore=self.rules, translate=self.ids.renamed)
        places = {difference.path for difference in real}
        notes = [difference for difference in found if difference.path not in places]
        if len(real) + len(notes) > len(found):
            notes = []
        judged = [_divergence(facet, difference) for difference in real]
        return judged + [_divergence(facet, difference, note=True) for difference in notes]


def _divergence(facet: Facet, found: Difference, *, note: bool = False) -> Divergence:
    detail = RENAMED if note else found.detail
    return Divergence(facet, found.kind, render(found.path), found.recorded, found.replayed, detail=detail, note=note)


def _content(output: Any) -> tuple[Any, Any]:
    if isinstance(output, Mapping) and "content" in output:
        return output.get("type", "text"), output["content"]
    return None, output


def _is_text(kind: Any) -> bool:
    return isinstance(kind, str) and (kind == "text" or kind.startswith("text/"))


def _told(error: Mapping[str, Any]) -> dict[str, Any]:
    """What an exception is compared by; its trace differs from machine to machine."""
    return {key: error[key] for key in ("type", "message") if key in error}
