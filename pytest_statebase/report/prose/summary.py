"""The results of a run as Markdown: for a comment on a pull request, and for the summary page of a CI job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...compare.model import Group
from ..against import Against
from ..grouping import (
    DIFFERENCES,
    Write,
    calls_line,
    group_of_row,
    group_of_turn,
    judged,
    plural,
    sessions_text,
    short_name,
    tally,
    totals,
    writes,
)
from ..incomplete import failing, headline, missing_of, passing
from ..notes import known_text
from ..page.view import anchors_of
from ..results import replace_file
from ..rows import Row
from ..runs import Run
from ..show import one_line
from ..traffic import ONCE_LIVE, stale_text, traffic_texts
from .commands import reproduce_command
from .failuretext import detail_lines, headed, turns_text, verdict_text, what_differs
from .identical import Failure, failures
from .markdown import Part, code, fitted, linked, page_link, table_head, table_row

MARKER = "<!-- pytest-statebase -->"
"""The first line of a comment, by which the next run finds it and puts its own in its place."""
COMMENT_LIMIT = 65_000
"""Bytes; GitHub takes 65,536 characters in a comment."""
JOB_LIMIT = 900_000
"""Bytes; GitHub takes 1 MiB of a step and shows nothing of a longer one."""
_STEP_LIMIT = 1_048_576 - 16_384
_LEAST = 4_000


def write_summary(path: Path, made: Run) -> None:
    """Write the text of a comment on a pull request to `path`, atomically. It begins with `MARKER`."""
    replace_file(path, render_comment(made).encode("utf-8", "backslashreplace"))


def render_comment(made: Run, limit: int = COMMENT_LIMIT) -> str:
    """The text of a comment of at most `limit` bytes: what matters first, long lists cut."""
    page = _Page(made)
    return fitted(f"{MARKER}\n{page.opening()}", list(page.parts(causes=15, sessions=25)), page.closing(), limit)


def render_job_summary(made: Run, limit: int = JOB_LIMIT) -> str:
    """The same with every difference of the turns that fail, for a page that has the room."""
    page = _Page(made)
    return fitted(page.opening(), [*page.parts(), page.details()], page.closing(), limit)


def append_job_summary(path: Path, made: Run) -> bool:
    """Append to the file that a CI service offers; whether there was room for it.

    What other commands of the same step wrote stays, and counts: of a step with too much nothing is shown.
    """
    there = path.stat().st_size if path.exists() else 0
    limit = min(JOB_LIMIT, _STEP_LIMIT - there)
    if limit < _LEAST:
        return False
    text = render_job_summary(made, limit - 1)
    with path.open("ab") as file:
        file.write((("\n" if there else "") + text).encode("utf-8", "backslashreplace"))
    return True


_SIGNS = {Group.FAIL: "❌", Group.COULD_NOT_RUN: "⚠️", Group.REVIEW: "👀", Group.OK: "✅"}


class _Page:
    """The sections of one run."""

    def __init__(self, made: Run) -> None:
        self.made = made
        self.rows = made.rows
        self.counted = totals(made.rows)
        self.anchors = {id(row): anchor for row, anchor in zip(made.rows, anchors_of(made.rows), strict=True)}
        self.base = _beside_base(made.against) if made.against else {}
        self.new = {id(row) for row in made.against.failing} if made.against else set()
        found = [failure.led_by(self.new) for failure in failures(made.rows)]
        self.failures = sorted(found, key=lambda one: (one.is_unfinished, not self._new_in(one)))
        bad = [row for row in made.rows if not group_of_row(row).passes]
        self.bad = sorted(bad, key=self._rank)

    def _rank(self, row: Row) -> tuple[bool, ...]:
        """What did not begin was stopped by another, what blocks nothing can wait, and so can what is old."""
        return bool(row.get("unfinished")), row.get("gate") == "warn", id(row) not in self.new

    def _new_in(self, failure: Failure) -> int:
        """In how many sessions that are not known to have failed before it is."""
        return len({id(row) for row, _ in failure.places} & self.new)

    def opening(self) -> str:
        """The run in one line, and where the report is."""
        sign, words = self._headline()
        agent = self.made.run.get("agent")
        facts = [linked("Open the report", page_link(self.made.url))] if page_link(self.made.url) else []
        facts += [f"agent {code(agent, 80)}"] if agent else []
        facts += [f"{self.counted.to_the_end:,} of {sessions_text(self.rows)} ran to the end"]
        return "\n\n".join([f"### {sign} {words}", " · ".join(facts), *self._stale(), "\n".join(self._groups())])

    def _headline(self) -> tuple[str, str]:
        run, against = self.made.run, self.made.against
        if not self.bad:
            words = passing(run, len(self.rows), sessions_text(self.rows))
            return "⚠️" if missing_of(run) or not self.rows else "✅", headline(run, words)
        words = failing(len(self.bad), len(self.rows), sessions_text(self.rows))
        blocking = [row for row in self.bad if row.get("gate") != "warn"]
        if against is not None:
            words = _blamed(against) or self._known_before(words)
            blocking = against.blocking
        return "❌" if blocking else "⚠️", headline(run, words[:1].upper() + words[1:])

    def _known_before(self, words: str) -> str:
        """Of a change that nothing is blamed on. What did not finish may hide that it breaks more than before."""
        lost = sum(bool(row.get("unfinished")) for row in self.bad)
        if lost:
            return f"{words}; {plural(lost, 'session')} that did not pass before did not finish"
        return f"nothing fails that did not fail before; {words}"

    def _stale(self) -> Iterator[str]:
        told = stale_text(self.rows)
        if told:
            yield told.replace(ONCE_LIVE, f"`{ONCE_LIVE}`").replace("--statebase-accept", "`--statebase-accept`")

    def _groups(self) -> Iterator[str]:
        yield from table_head("Sessions", "#", "Turns")
        for group in Group:
            number = self.counted.replays[group]
            if number:
                turns = totals(row for row in self.rows if group_of_row(row) is group).turns
                known = Counter(turn["verdict"] for row, turn in self._known() if group_of_row(row) is group)
                words = {name: f" ({number:,} known)" for name, number in known.items()}
                told = ", ".join(f"{count:,} {verdict_text(name)}{words.get(name, '')}" for name, count in tally(turns))
                yield table_row(f"{_SIGNS[group]} {group.value}", f"{number:,}", told or "none")

    def parts(self, causes: int = 1_000_000, sessions: int = 1_000_000) -> Iterator[Part]:
        """Every section, what matters most first."""
        if self.made.against is not None:
            yield self._against(self.made.against, sessions)
        if self._is_one_each():
            yield from self._explained(sessions)
        else:
            yield from self._causes(causes)
            yield from self._sessions(sessions)
            yield from self._owners()
        yield from self._known_parts(sessions)
        yield from self._writes(sessions)
        yield self._numbers()
        yield from self._warnings()

    def _against(self, against: Against, most: int) -> Part:
        """How many are in which list, and those that pass or are gone: the others are told with their failures."""
        counts = [("newly failing", against.newly_failing), ("newly passing", against.newly_passing)]
        counts += [("still failing", against.still_failing), ("new", against.new), ("removed", against.removed)]
        counts += [("not finished", against.unknown)] if against.unknown else []
        told = ", ".join(f"**{len(rows):,}** {name}{_warning(name, rows)}" for name, rows in counts)
        told += ", compared with the base branch."
        told += f" {against.doubt}." if against.doubt else ""
        bad = set(map(id, self.bad))
        listed = [(name, row) for name, rows in counts for row in rows if id(row) not in bad]
        items = (f"- {name}: {self._place(row)}" for name, row in listed)
        return Part("What this change did", [told, *([""] if listed else [])], items, len(listed), "sessions", most)

    def _place(self, row: Row, turn: Row | None = None) -> str:
        """A session, or one of its turns, as a link into the report."""
        number = _number(turn)
        return self._linked(code(short_name(row), 80) + (f" turn {number}" if number is not None else ""), row, turn)

    def _linked(self, words: str, row: Row, turn: Row | None) -> str:
        anchor, number = self.anchors.get(id(row)), _number(turn)
        if anchor is None:
            return words
        return linked(words, page_link(self.made.url, anchor if number is None else f"{anchor}-{number}"))

    def _is_one_each(self) -> bool:
        """Whether each session has its own reason, so that one table says all of them."""
        return len(self.failures) == len(self.bad) and all(failure.sessions == 1 for failure in self.failures)

    def _explained(self, most: int) -> Iterator[Part]:
        """The sessions that do not pass, each with the reason that it alone has."""
        reasons = {id(failure.places[0][0]): failure for failure in self.failures}
        told = ((row, reasons[id(row)]) for row in self.bad)
        cells = ((*self._facts_of(row, one.places[0][1]), *what_differs(one)) for row, one in told)
        yield from self._listed(cells, ("What differs", "Recorded → now"), most)

    def _causes(self, most: int) -> Iterator[Part]:
        new = ["Not failing before#"] if self.made.against else []
        lines = table_head("Sessions#", *new, "What differs", "Recorded → now", "Where")
        items = map(self._cause, self.failures)
        yield Part("Why sessions fail", lines, items, len(self.failures), "reasons", most)

    def _cause(self, failure: Failure) -> str:
        more = len(failure.places) - 1
        where = self._place(*failure.places[0]) + (f" and {more:,} more" if more else "")
        where += f", {_WARN}" if all(row.get("gate") == "warn" for row, _ in failure.places) else ""
        new = [f"{self._new_in(failure):,}"] if self.made.against else []
        return table_row(f"{failure.sessions:,}", *new, *what_differs(failure), where)

    def _sessions(self, most: int) -> Iterator[Part]:
        yield from self._listed(map(self._facts_of, self.bad), (), most, is_folded=len(self.bad) > _OPEN)

    def _listed(
        self, cells: Iterable[tuple[str, ...]], further: tuple[str, ...], most: int, *, is_folded: bool = False
    ) -> Iterator[Part]:
        """A table of the sessions that do not pass. further: the titles beyond those of `_facts_of`."""
        if self.bad:
            number = len(self.bad)
            again = f"To replay one again: {code(reproduce_command(self.bad[0]), 600)}"
            lines = [again, "", *table_head(*self._titles(), *further)]
            title = f"{plural(number, 'session')} that {'does' if number == 1 else 'do'} not pass"
            items = (table_row(*told) for told in cells)
            yield Part(title, lines, items, number, "sessions", most, is_folded=is_folded)

    def _titles(self) -> list[str]:
        owner = ["Owner"] if any(row.get("owner") for row in self.bad) else []
        return ["Session", *owner, *(["Base branch"] if self.made.against else []), "Turns"]

    def _facts_of(self, row: Row, turn: Row | None = None) -> tuple[str, ...]:
        """What stands below `_titles`. turn: the one to which the link leads."""
        told = {
            "Session": self._linked(code(short_name(row), 80), row, turn),
            "Owner": code(row["owner"], 60) if row.get("owner") else "",
            "Base branch": self.base.get(id(row), ""),
            "Turns": turns_text(row) + (f", {_WARN}" if row.get("gate") == "warn" else ""),
        }
        return tuple(told[title] for title in self._titles())

    def _owners(self) -> Iterator[Part]:
        """How many sessions each has, where these are too many to be shown at once."""
        owners = Counter(str(row.get("owner") or "") for row in self.bad)
        if any(owners) and len(self.bad) > _OPEN:
            told = [
                f"- {code(name, 60) if name else 'without an owner'}: {plural(number, 'session')}"
                for name, number in owners.most_common()
            ]
            yield Part("Owners", (), told, len(told), "owners", 30)

    def _known(self) -> Iterator[tuple[Row, Row]]:
        """The turns that pass because what differs in them is known."""
        yield from ((row, turn) for row in self.rows for turn in judged(row) if turn.get("excused"))

    def _known_parts(self, most: int) -> Iterator[Part]:
        """Each entry that excuses a turn, with what it excuses, until when, and in which turns."""
        found: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
        for row, turn in self._known():
            for entry in turn.get("known", ()):
                key = (known_text(entry), str(entry.get("fingerprint")))
                found.setdefault(key, []).append((row, turn))
        if found:
            entries = sorted(found.items(), key=lambda one: -len(one[1]))
            items = (self._known_entry(said, name, places) for (said, name), places in entries)
            yield Part("Known differences, which fail nothing", (), items, len(found), "entries", most)

    def _known_entry(self, said: str, fingerprint: str, places: list[tuple[Row, Row]]) -> str:
        row, turn = places[0]
        found = next((one for one in turn["divergences"] if str(one.get("fingerprint")) == fingerprint), None)
        more = f" and {plural(len(places) - 1, 'more turn')}" if len(places) > 1 else ""
        what = f"{headed(found, 120)}, " if found else ""
        return f"- {code(said, 200)}: {what}in {self._place(row, turn)}{more}"

    def _writes(self, most: int) -> Iterator[Part]:
        found = list(writes(self.rows))
        if not found:
            return
        counts = Counter((str(one.call["tool"]), one.state) for one in found)
        states = [state for state in _STATES if any(one == state for _, one in counts)]
        tools = sorted(
            {tool for tool, _ in counts}, key=lambda tool: (-sum(counts[tool, one] for one in _TROUBLE), tool)
        )
        lines = [*table_head("Tool", *(f"{state}#" for state in states))]
        lines += [table_row(code(tool, 80), *(f"{counts[tool, one]:,}" for one in states)) for tool in tools[:_TOOLS]]
        lines += ["", f"… and {len(tools) - _TOOLS:,} more tools."] if len(tools) > _TOOLS else []
        troubled = _alike(one for one in found if one.state in _TROUBLE and group_of_turn(one.turn) is not Group.OK)
        items = (self._write(*alike) for alike in troubled)
        title = "Calls that change something"
        yield Part(title, [*lines, *([""] if troubled else [])], items, len(troubled), "such calls", min(most, 10))

    def _write(self, one: Write, number: int) -> str:
        more = f" and {plural(number - 1, 'more time')}" if number > 1 else ""
        call = f"{code(one.call['tool'], 80)} {code(_said(one), 120)}"
        known = " (known)" if one.turn.get("excused") else ""
        return f"- {one.state}{known}: {call} in {self._place(one.row, one.turn)}{more}"

    def _numbers(self) -> Part:
        differ = [
            f"{self.counted.differences[name]:,} {name}" for name in DIFFERENCES if self.counted.differences[name]
        ]
        lines = [f"- turns: {', '.join(differ) or 'none'}", f"- calls: {calls_line(self.counted.calls)}"]
        lines += [f"- {label}: {text}" for label, text in traffic_texts(self.counted.requests)]
        return Part("Turns and calls", lines, is_folded=True)

    def _warnings(self) -> Iterator[Part]:
        found: dict[str, list[Row]] = {str(warning): [] for warning in self.made.run.get("warnings", ())}
        for row in self.rows:
            for warning in row["warnings"]:
                found.setdefault(str(warning), []).append(row)
        if found:
            items = (f"- {code(warning, 400)}{self._warned(rows)}" for warning, rows in found.items())
            yield Part(plural(len(found), "warning"), (), items, len(found), "warnings", 50, is_folded=True)

    def _warned(self, rows: list[Row]) -> str:
        """In which sessions; nothing where the whole run is warned."""
        more = len(rows) - 1
        return f" in {self._place(rows[0])}" + (f" and {plural(more, 'more session')}" if more else "") if rows else ""

    def details(self) -> Part:
        """Every difference of a turn for each reason."""
        told = [(row, turn) for row, turn in (failure.places[0] for failure in self.failures) if turn is not None]
        texts = ("\n".join([f"##### {self._place(row, turn)}\n", *detail_lines(turn)]) for row, turn in told)
        items = (f"\n{text}" if number else text for number, text in enumerate(texts))
        return Part("One turn for each reason", (), items, len(told), "turns")

    def closing(self) -> str:
        """Who says all this, and what the words mean."""
        version = self.made.run.get("pytest_statebase")
        name = "pytest-statebase" + (f" {code(version, 30)}" if version else "")
        return f"{name}. Recorded is what production did, now is what the agent under test did."


_WARN = "blocks nothing (`gate: warn`)"
_STATES = ("made", "moved", "elsewhere", "changed", "missing", "extra", "unrecorded", "not reached")
_TROUBLE = ("changed", "missing", "extra", "unrecorded")
_TOOLS = 30
_OPEN = 10
"""As many sessions are shown at once; more are folded, the reasons say what matters."""


def _number(turn: Row | None) -> int | None:
    return turn["turn"] if turn and isinstance(turn["turn"], int) else None


def _said(one: Write) -> str:
    """The arguments with which it was called, or would have been."""
    sides = [one.call["replayed"], one.call["recorded"]]
    arguments = next((side["arguments"] for side in sides if side and "arguments" in side), None)
    return arguments if isinstance(arguments, str) else one_line(arguments)


def _alike(found: Iterable[Write]) -> list[tuple[Write, int]]:
    """The first of each that are the same in many sessions, and how many there are; the most frequent first."""
    counts: dict[tuple[object, ...], tuple[Write, int]] = {}
    for one in found:
        key = (one.state, bool(one.turn.get("excused")), str(one.call["tool"]), _said(one))
        counts[key] = (counts[key][0] if key in counts else one, counts.get(key, (one, 0))[1] + 1)
    return sorted(counts.values(), key=lambda told: -told[1])


def _warning(name: str, rows: Sequence[Row]) -> str:
    """How many of the replays in a list fail, and block nothing."""
    number = name != "removed" and sum(row.get("gate") == "warn" and not group_of_row(row).passes for row in rows)
    return f" ({number:,} with `gate: warn`)" if number else ""


def _blamed(against: Against) -> str | None:
    """What does not pass and is not known to have failed before, in words."""
    old, untold, lost = map(len, (against.newly_failing, against.untold, against.lost))
    new = len(against.failing) - old - untold - lost
    told = [f"this change makes {plural(old, 'session')} fail"] if old else []
    told += [f"{plural(new, 'new session')} {'does' if new == 1 else 'do'} not pass"] if new else []
    told += [f"{plural(lost, 'session')} that passed before did not finish"] if lost else []
    fail = "fails" if untold == 1 else "fail"
    told += [f"{plural(untold, 'session')} that did not finish before {fail}"] if untold else []
    words = ", and ".join(told)
    return words if against.blocking or not words else f"{words}; this {_WARN}"


def _beside_base(against: Against) -> dict[int, str]:
    """By the row: what the base branch's results say of a session; in bold what is not known to have failed."""
    told = dict.fromkeys(map(id, against.unknown), "did not pass")
    told |= dict.fromkeys(map(id, against.untold), "**did not finish**")
    told |= dict.fromkeys(map(id, against.lost), "**passed**")
    told |= dict.fromkeys(map(id, against.still_failing), "failed")
    told |= dict.fromkeys(map(id, against.newly_failing), "**passed**")
    return told | dict.fromkeys(map(id, against.new), "**new**")
