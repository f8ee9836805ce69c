"""The failures of a run as a directory of Markdown: an index, and a file for each turn that does not pass."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...compare.model import Verdict
from ..grouping import (
    cassette_name,
    group_of_row,
    group_of_turn,
    in_one_line,
    judged,
    name_of,
    plural,
    sessions_text,
    tally_text,
    totals,
)
from ..incomplete import headline, passing
from ..page.view import anchors_of
from ..results import replace_file
from ..rows import Row
from ..show import one_line
from ..traffic import is_stale_alone, stale_text
from .brief import DATA, brief
from .commands import replay_command
from .fences import span
from .identical import OTHER_VALUES, Failure, failures

if TYPE_CHECKING:
    from ..runs import Run

__all__ = ["brief", "write_sidecar"]

_MARKER = "<!-- pytest-statebase sidecar -->"
"""The first line of each file: what has it may be written over and removed."""
_NAMES = re.compile(r"index\.md|[a-z0-9-]+-[0-9a-fx-]+-(turn-\d+|replay)\.md")
_FILES = 300


@dataclass(frozen=True, slots=True)
class _Page:
    """A file of one turn, or of a replay that has no turn to blame."""

    name: str
    row: Row
    turn: Row | None
    anchor: str


def write_sidecar(path: Path, made: Run) -> None:
    """Write `index.md` and the files of turns to the directory `path`, and remove those of earlier runs.

    Each file is put in its place at once. Raises FileExistsError, before anything is written, where a file of the same
    name is not one of these.
    """
    pages = list(_pages(made.rows))
    kept = _chosen(made.rows, pages)
    names = {"index.md", *(page.name for page in kept)}
    for name in sorted(names):
        if (path / name).exists() and not _is_ours(path / name):
            told = f"{name} in it was not written by pytest-statebase, and stays; name another directory"
            raise FileExistsError(errno.EEXIST, told)
    for page in kept:
        _write(path / page.name, brief(made, page.row, page.turn, anchor=page.anchor))
    _write(path / "index.md", _index(made, kept, len(pages) - len(kept)))
    for old in sorted(path.glob("*.md")):
        if old.name not in names and is_own_name(old.name) and _is_ours(old):
            old.unlink()


def is_own_name(name: str) -> bool:
    """Whether a file of the directory may be called so."""
    return _NAMES.fullmatch(name) is not None


def _is_ours(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MARKER)) == _MARKER.encode()


def _write(path: Path, text: str) -> None:
    replace_file(path, f"{_MARKER}\n{text}".encode("utf-8", "backslashreplace"))


def _pages(rows: Sequence[Row]) -> Iterator[_Page]:
    """Turns that do not pass. What a replay did not get to because of them has no file of its own."""
    for row, anchor in zip(rows, anchors_of(rows), strict=True):
        if group_of_row(row).passes or is_stale_alone(row):
            continue
        bad = [turn for turn in judged(row) if not group_of_turn(turn).passes]
        turns: list[Row | None] = [turn for turn in bad if turn["verdict"] != Verdict.NOT_REPLAYED]
        for turn in turns or [*bad[:1], None][:1]:
            stem = re.sub(r"[^a-z0-9]+", "-", cassette_name(row).lower())[:40].strip("-") or "session"
            last = f"turn-{int(turn['turn'])}" if turn else "replay"
            yield _Page(f"{stem}-{anchor.removeprefix('s-')}-{last}.md", row, turn, anchor)


def _chosen(rows: Sequence[Row], pages: Sequence[_Page]) -> list[_Page]:
    """Those that get a file: one of each cause first, then one of each session, then others of the same."""
    if len(pages) <= _FILES:
        return list(pages)
    firsts = {page.name for _, found in _by_reason(rows, pages) for page in found[:1]}
    sessions = {page.anchor: page.name for page in reversed(pages)}
    order = sorted(pages, key=lambda page: (page.name not in firsts, page.name != sessions[page.anchor]))
    names = {page.name for page in order[:_FILES]}
    return [page for page in pages if page.name in names]


def _by_reason(rows: Sequence[Row], pages: Sequence[_Page]) -> Iterator[tuple[Failure, list[_Page]]]:
    """Each cause once, with the files of the turns that it is in."""
    files = {(id(page.row), id(page.turn) if page.turn else None): page for page in pages}
    for failure in failures(rows):
        found = [files.get((id(row), id(turn) if turn else None)) for row, turn in failure.places]
        yield failure, [page for page in found if page is not None]


def _index(made: Run, pages: Sequence[_Page], left: int) -> str:
    rows = made.rows
    bad = sum(not group_of_row(row).passes for row in rows)
    told = sessions_text(rows)
    head = f"{bad:,} of {told} did not pass" if bad else passing(made.run, len(rows), told)
    parts = [f"# {headline(made.run, head)}", *_facts(made)]
    if pages:
        parts += ["## Why", *_reasons(rows, pages), "## Files", *_files(made, pages, left)]
    return "\n\n".join(parts) + "\n"


def _facts(made: Run) -> Iterator[str]:
    counted = totals(made.rows)
    yield f"Recorded sessions were replayed against an agent. {DATA}"
    run = made.run
    lines = [f"- {name}: {span(str(run[key]))}" for name, key in _FACTS.items() if run.get(key)]
    lines += [f"- report: {span(made.url, 2_000)}"] if made.url else []
    lines += [f"- turns: {span(tally_text(counted.turns))}"] if counted.turns else []
    lines += [f"- warning: {span(str(text), 1_000)}" for text in run.get("warnings", ())]
    lines += [f"- all sessions again: {span(replay_command(made.rows), 2_000)}"]
    yield "\n".join(lines)
    stale = stale_text(made.rows)
    if stale:
        yield f"Prompts that moved: {span(stale, 1_000)}"


_FACTS = {"agent": "agent", "started": "started_at"}


def _reasons(rows: Sequence[Row], pages: Sequence[_Page]) -> Iterator[str]:
    """However many sessions have a cause, to begin with its first file is enough."""
    lines = []
    for failure, found in _by_reason(rows, pages):
        links = ", ".join(_link(page) for page in found[:3])
        more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
        if links:
            lines.append(f"- {_reason(failure)}, in {plural(failure.sessions, 'session')}: {links}{more}")
    yield "\n".join(lines)


def _link(page: _Page) -> str:
    return f"[`{page.name}`]({page.name})"


def _reason(failure: Failure) -> str:
    found = failure.found
    if found is None:
        return span(failure.why)
    sides = [f"{side} {span(one_line(found[side]), 120)}" for side in ("recorded", "replayed") if side in found]
    sides += [OTHER_VALUES] if sides and failure.parts else []
    told = f" ({', '.join(sides)})" if sides and not found.get("detail") else ""
    return f"{span(found['path'])} {span(found.get('detail') or found['kind'])}{told}"


def _files(made: Run, pages: Sequence[_Page], left: int) -> Iterator[str]:
    against = made.against
    marked = dict.fromkeys(map(id, against.failing), "newly failing") if against else {}
    marked |= dict.fromkeys(map(id, against.lost), "passed before") if against else {}
    lines = []
    for page in pages:
        row = page.row
        marks = [marked[id(row)]] if id(row) in marked else []
        marks += ["`gate: warn`"] if row.get("gate") == "warn" else []
        marks += [f"owner {span(row['owner'])}"] if row.get("owner") else []
        turn = f" turn {int(page.turn['turn'])}" if page.turn else ""
        told = ", ".join([span(name_of(row)) + turn, *marks])
        lines.append(f"- {_link(page)}: {told}: {span(in_one_line(row))}")
    if left:
        lines.append(f"- {left:,} more have no file: mend these first, and run again")
    yield "\n".join(lines)
