"""A choice of sessions as a table and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..selection.features import Kind
from .output import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Style, columns, counted, wrapped
from .targets import shown

if TYPE_CHECKING:
    from ..report.terminal import Line
    from ..selection.choose import Pick, Selection
    from ..selection.features import Feature

_EXAMPLES = 2
_LABELS: dict[Kind, tuple[str, str, Style]] = {
    Kind.ERROR: ("errors", "kind of error", RED),
    Kind.TRANSITION: ("tools", "transition", {}),
    Kind.STATE: ("state", "place of the state", CYAN),
}
"""Each kind with its label, what one is called, and its style: what went wrong first."""


def selection_lines(selection: Selection, *, full: bool) -> Iterator[Line]:
    """One row a session, the features that it adds below it, and in the end what they are together.

    full: name every feature.
    """
    width = columns()
    if selection.picks:
        yield [("adds  turns  calls  session", DIM)]
    for pick in selection.picks:
        yield from _row(pick, width, full=full)
    yield []
    yield [(_total(selection), BOLD)]
    for text, style in _ends(selection):
        for line in wrapped(text, width):
            yield [(line, style)]


def _row(pick: Pick, width: int, *, full: bool) -> Iterator[Line]:
    session = pick.session
    numbers = f"{len(pick.adds):>4,}  {session.turns:>5,}  {session.calls:>5,}  "
    lines = wrapped(session.id, width - len(numbers)) or [""]
    for number, text in enumerate(lines):
        yield [(" " * len(numbers) if number else numbers, {}), (text, BOLD)]
    yield [(f"      {shown(session.source)}", DIM), ("  cut: the rest of it was lost" if session.cut else "", YELLOW)]
    for kind, (label, _, style) in _LABELS.items():
        texts = [feature.text for feature in pick.adds if feature.kind is kind]
        yield from _labelled(label, _told(texts, full=full), width, style)
    yield from _labelled("kept", pick.reasons, width, GREEN)
    if session.marks:
        yield from _labelled("capture", [f"kept it: {', '.join(session.marks)}"], width, GREEN)


def _told(texts: list[str], *, full: bool) -> list[str]:
    if full or len(texts) <= _EXAMPLES + 1:
        return texts
    return [*texts[:_EXAMPLES], f"and {len(texts) - _EXAMPLES:,} more"]


def _labelled(label: str, texts: list[str], width: int, style: Style) -> Iterator[Line]:
    for number, line in enumerate(wrapped("; ".join(texts), width - 15) if texts else []):
        yield [(("" if number else f"      {label}").ljust(15), DIM), (line, style)]


def _total(selection: Selection) -> str:
    """`5 of 8 sessions show 38 of 38: 24 transitions, 1 kind of error, 13 places of the state`."""
    told = ", ".join(_counted(selection.totals[kind], word) for kind, (_, word, _) in _LABELS.items())
    every = selection.totals.total()
    shows = every - selection.covered - len(selection.missing)
    picks = len(selection.picks)
    if not picks:
        return f"None of {counted(selection.sessions, 'session')} adds anything"
    verb = "shows" if picks == 1 else "show"
    which = "all" if shows == every else f"{shows:,}"
    return f"{picks:,} of {counted(selection.sessions, 'session')} {verb} {which} of {every:,}: {told}"


def _counted(number: int, words: str) -> str:
    first, _, rest = words.partition(" ")
    return f"{counted(number, first)}{' ' + rest if rest else ''}"


def _ends(selection: Selection) -> Iterator[tuple[str, Style]]:
    if selection.covered:
        yield f"{selection.covered:,} of them are covered already.", {}
    kept = sum(bool(pick.reasons) for pick in selection.picks)
    if kept:
        yield f"{counted(kept, 'session')} kept by rules.", {}
    if selection.missing:
        yield f"Not shown: {_missing(selection.missing)}. A higher --limit shows more.", YELLOW
    elif selection.cover is not None and selection.cover.chosen:
        yield _how(selection, kept), {}
    for note in selection.notes:
        yield f"{note[0].upper()}{note[1:]}.", YELLOW


def _missing(features: list[Feature]) -> str:
    counts = Counter(feature.kind for feature in features)
    return ", ".join(_counted(counts[kind], word) for kind, (_, word, _) in _LABELS.items() if counts[kind])


def _how(selection: Selection, kept: int) -> str:
    """Whether there may be a smaller choice."""
    cover = selection.cover
    assert cover is not None
    number, beside = len(cover.chosen), " beside those that are kept" if kept else ""
    if cover.is_smallest:
        return f"No fewer than {number:,} do so{beside}: this is the smallest choice."
    return (
        f"Chosen one after the other by what each adds, without those that others make superfluous: {number:,} "
        f"sessions{beside}. No fewer than {cover.least:,} do so; the search for fewer was ended after "
        f"{cover.work:,} steps."
    )


def selection_json(selection: Selection, broken: list[str]) -> dict[str, Any]:
    """The same as a JSON mapping."""
    cover = selection.cover
    return {
        "sessions": [_pick_json(pick) for pick in selection.picks],
        "of": selection.sessions,
        "features": {kind.value: selection.totals[kind] for kind in Kind},
        "covered": selection.covered,
        "missing": [feature.text for feature in selection.missing],
        "smallest": None if cover is None or selection.missing else cover.is_smallest,
        "least": None if cover is None else cover.least,
        "notes": selection.notes,
        "broken": broken,
    }


def _pick_json(pick: Pick) -> dict[str, Any]:
    session = pick.session
    return {
        "session": session.id,
        "path": shown(session.source),
        "agent": session.agent,
        "at": session.at.isoformat() if session.at else None,
        "turns": session.turns,
        "calls": session.calls,
        "cut": session.cut,
        "adds": {kind.value: [one.text for one in pick.adds if one.kind is kind] for kind in Kind},
        "kept": pick.reasons,
        "captured_for": None if session.marks is None else list(session.marks),
    }
