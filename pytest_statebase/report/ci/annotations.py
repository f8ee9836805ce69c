"""Failures as annotations of GitHub's workflow commands, which it shows beside the lines of a change.

Whoever reads a job's log for commands must find none in recorded text: it is escaped as the runner unescapes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..grouping import cassette_name, group_of_row, plural, reads_on, side_name, told_sides, words_beside_path
from ..page.view import anchors_of
from ..prose.identical import OTHER_VALUES, Failure, failures, raised_in
from ..prose.markdown import page_link
from ..rows import Row
from ..runs import Run
from ..show import one_line, shorten, shorten_pair, visible
from ..traffic import is_stale_alone, stale_text
from .places import place_of

MOST = 10
"""GitHub shows no more of a step."""
_WIDTH = 200


def annotation_lines(made: Run, root: Path, most: int = MOST) -> list[str]:
    """At most `most` workflow commands, one a line: failures that are the same in many sessions are one.

    root: where the cassettes' paths begin. Files are named as GITHUB_WORKSPACE has them.
    """
    stale = stale_text(made.rows)
    told = [_command("warning", {"title": "stale prompts"}, stale)] if stale else []
    newly = set(map(id, made.against.failing)) if made.against else set()
    found = [one.led_by(newly) for one in failures(row for row in made.rows if not is_stale_alone(row))]
    found.sort(key=lambda failure: not any(id(row) in newly for row, _ in failure.places))
    room = most - len(told)
    shown = found if len(found) <= room else found[: room - 1]
    anchors = {id(row): anchor for row, anchor in zip(made.rows, anchors_of(made.rows), strict=True)}
    told = [_annotation(failure, made, anchors, root) for failure in shown] + told
    if len(found) > len(shown):
        left = plural(len(found) - len(shown), "further reason")
        told.append(_command("notice", {"title": "more failures"}, f"{left} for which sessions fail: see the report"))
    return told


def _annotation(failure: Failure, made: Run, anchors: dict[int, str], root: Path) -> str:
    first = failure.places[0]
    blocks = any(row.get("gate") != "warn" for row, _ in failure.places)
    place = place_of(*first, root)
    properties = {"file": place[0], "line": str(place[1])} if place else {}
    properties["title"] = _title(failure, *first)
    link = page_link(made.url, _anchor(anchors[id(first[0])], first[1]))
    lines = [*_text(failure, first[0]), *([link] if link else [])]
    return _command("error" if blocks else "warning", properties, "\n".join(lines))


def _anchor(anchor: str, turn: Row | None) -> str:
    return f"{anchor}-{turn['turn']}" if turn and isinstance(turn["turn"], int) else anchor


def _title(failure: Failure, row: Row, turn: Row | None) -> str:
    name = shorten(visible(cassette_name(row)), 60)
    what = f"turn {turn['turn']} {turn['verdict']}" if turn else group_of_row(row).value
    more = f" (and {plural(failure.sessions - 1, 'more session')})" if failure.sessions > 1 else ""
    return f"{name}: {shorten(visible(what), 60)}{more}"


def _text(failure: Failure, row: Row) -> Iterator[str]:
    found = failure.found
    if found is None:
        yield shorten(visible(failure.why), 2 * _WIDTH)
    else:
        words = visible(words_beside_path(found))
        between = " " if reads_on(found) else ": "
        yield f"{shorten(visible(found['path']), _WIDTH)}{between}{shorten(words, _WIDTH)}"
        values = list(_values(found))
        yield from values
        if failure.parts and values:
            told = plural(failure.sessions, "session") if failure.sessions > 1 else plural(len(failure.places), "turn")
            yield f"{told}, {OTHER_VALUES}"
    raised = raised_in(failure)
    if raised:
        yield f"the agent raised {shorten(raised[0], 2 * _WIDTH)}{raised[1]}"
    if failure.owners:
        yield f"owner: {shorten(visible(', '.join(failure.owners)), _WIDTH)}"
    names = list(dict.fromkeys(visible(cassette_name(other)) for other, _ in failure.places if other is not row))
    if names:
        more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
        yield f"also in {shorten(', '.join(names[:5]), _WIDTH)}{more}"


def _values(found: Row) -> Iterator[str]:
    told = {side: one_line(found[side]) for side in told_sides(found)}
    if len(told) == 2:
        told = dict(zip(told, shorten_pair(told["recorded"], told["replayed"], _WIDTH), strict=True))
    for side, text in told.items():
        yield f"{'now' if side == 'replayed' else side_name(found, side)}: {shorten(text, _WIDTH)}"


def _command(name: str, properties: dict[str, str], text: str) -> str:
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {told}::{_data(text)}"


def _data(text: str) -> str:
    """As the runner's toolkit escapes a message."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
