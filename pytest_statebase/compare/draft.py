"""Drafts what to expect of a turn from what its replay did: the recording breaks it, and so does doing nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import PlanError, UnstorableError
from ..ledger import Ledger, ToolCalled
from ..values import ABSENT, same
from .diff import Difference, diff
from .expect import brief, check, is_refused_call, recorded_state
from .ids import Ids
from .model import Divergence, Facet, ReplayedCall, TurnResult
from .pairing import Bind
from .paths import Call, IgnoreRules, lookup, numbered, parse_steps, render, render_key
from .pieces import Grounds, distinctive, words_of

if TYPE_CHECKING:
    from ..cassette.plan import CallExpect, Expect, Plan

_LAST = re.compile(r"(?:\[\d+\]|(?:^|\.)(?:\"(?:[^\"\\]|\\.)*\"|[^.\[\]\"]+))$")
"""The last step of a path."""
_TO_FILL_IN = 'output: {contains: "…"}  # what a right answer says and the recorded one does not'
_LEAVES = 4
"""Differences inside one argument, beyond which it is expected as a whole."""
_SIZE = 400
"""Characters of a value, beyond which it is no rule that a person reads."""


def draft_expect(
    result: TurnResult, *, ledger: Ledger, plan: Plan, ids: Ids | None = None, bind: Bind | None = None
) -> str:
    """The `expect` block of a changed turn, as YAML to paste: what makes it right now and the recorded one wrong.

    It holds for the replayed turn, and neither for the recorded one nor for one in which nothing is done. What it
    leaves out is told in comments. Where no such rules can be found, the block has an `…` to be filled in.
    ids: translates what is this replay's own; bind: see `judge`.
    """
    draft = _Draft(result, ledger, plan, ids or Ids(), bind)
    for attempt in (draft.writes, draft.reads, draft.words, draft.data):
        attempt()
        text = draft.text()
        if draft.proves(text):
            return text + draft.comments()
    draft.output = {}
    known = draft.text() or f"expect:\n  {result.turn}:"
    return f"{known}\n    {_TO_FILL_IN}{draft.comments()}"


@dataclass(slots=True)
class _Draft:
    """One draft as it grows."""

    result: TurnResult
    ledger: Ledger
    plan: Plan
    ids: Ids
    bind: Bind | None
    called: list[str | CallExpect] = field(default_factory=list)
    not_called: list[str | CallExpect] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    output: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    about_output: str | None = None
    about_reads: list[str] = field(default_factory=list)
    grounds: Grounds = field(init=False)

    def __post_init__(self) -> None:
        self.grounds = Grounds(self.ledger, self.plan, self.ids, self.result.calls)

    def _is_read(self, tool: str) -> bool:
        rules = self.plan.tools.get(tool)
        return rules is not None and rules.reads

    # the attempts, each adding to the one before

    def writes(self) -> None:
        """The writes, the state, and of the text a piece that tells it from the recording."""
        self._calls(reads=False)
        found = self.result.divergences if self.result.accepted is None else self.result.from_record
        self._state([one for one in found if one.facet is Facet.STATE and not one.note])
        text, others = self._texts()
        if text is not None and text not in others:
            piece = distinctive(text, others, self.grounds)
            if piece is not None:
                self.output = {"contains": piece}
            else:
                self.about_output = "no number, id or quoted word tells it from the recording: add what it must say"

    def reads(self) -> None:
        """The calls of tools that only look, where the writes do not prove anything."""
        self.about_reads = []
        self._calls(reads=True)

    def words(self) -> None:
        text, others = self._texts()
        words = words_of(text, others, self.grounds) if text is not None and not self.output else None
        if words is not None:
            self.output = {"contains": words}
            self.about_output = "the words of one answer: keep of them what every right one says"

    def data(self) -> None:
        """An output that is no text, whole."""
        seen = self.result.replayed
        content = _content(seen.output) if seen else ABSENT
        if isinstance(content, str) or content is ABSENT or same(content, _content(self.result.recorded.output)):
            return
        if self._can_be_told("output", content):
            self.output = {"equals": content}

    # calls

    def _calls(self, *, reads: bool) -> None:
        """The rules about the calls of tools that only look, or about those of all others."""
        recorded, replayed = self.result.recorded.calls, self.result.calls
        pairs = {
            row.replayed: row.recorded
            for row in self.result.aligned
            if row.replayed is not None
            and row.recorded is not None
            and recorded[row.recorded].tool == replayed[row.replayed].tool
        }
        for j, call in enumerate(replayed):
            if not is_refused_call(call) and self._is_read(call.tool) == reads:
                self._made(call, recorded[pairs[j]] if j in pairs else None, self._ordinal(j))
            elif not is_refused_call(call) and not reads:
                self._note_read(call, recorded[pairs[j]] if j in pairs else None)
        paired = set(pairs.values())
        for i, gone in enumerate(recorded):
            if i in paired or gone.during is not None:
                continue
            if self._is_read(gone.tool) == reads:
                self._not_made(gone)
            elif not reads:
                self.about_reads.append(f"no longer looks: {_call_text(gone)}")

    def _ordinal(self, j: int) -> int:
        return numbered(call.tool for call in self.result.calls)[j].ordinal

    def _note_read(self, call: ReplayedCall, beside: ToolCalled | None) -> None:
        if beside is None:
            self.about_reads.append(f"now looks as well: {_call_text(call)}")
        elif self._differences(call, beside, 1):
            self.about_reads.append(f"now looks: {_call_text(call)}, recorded {_call_text(beside)}")

    def _made(self, call: ReplayedCall, beside: ToolCalled | None, ordinal: int) -> None:
        """Expect a call with the arguments in which it differs; all of them where it is a new one."""
        from ..cassette.plan import CallExpect

        arguments: dict[str, Any] = {}
        if isinstance(call.arguments, Mapping):
            found = self._differences(call, beside, ordinal)
            for name in dict.fromkeys(one.path[0] for one in found):
                arguments.update(_argument(call.arguments, name, [one for one in found if one.path[0] == name]))
        pinned = {path: value for path, value in arguments.items() if self._can_be_told(f"{call.tool}: {path}", value)}
        if beside is not None and isinstance(beside.arguments, Mapping) and isinstance(call.arguments, Mapping):
            removed = self._bound(beside).keys() - call.arguments.keys()
            self._without(call.tool, {name: value for name, value in beside.arguments.items() if name in removed})
        _add(self.called, CallExpect(call.tool, pinned) if pinned else call.tool)
        if pinned and beside is not None and not self._is_read(call.tool):
            self._not_as_before(call, beside)

    def _not_as_before(self, call: ReplayedCall, beside: ToolCalled) -> None:
        """Expect no write with the recorded arguments beside the right one: both together would be wrong as well."""
        found = self._differences(call, beside, 1)
        old = self._bound(beside)
        before = {name: old[name] for name in dict.fromkeys(one.path[0] for one in found) if name in old}
        again = any(
            other.tool == call.tool and all(same(other.arguments.get(name), value) for name, value in before.items())
            for other in self.result.calls
            if isinstance(other.arguments, Mapping)
        )
        if before and not again:
            self._without(call.tool, before)

    def _without(self, tool: str, removed: dict[Any, Any]) -> None:
        """Expect no call with arguments that are no longer given."""
        from ..cassette.plan import CallExpect

        known = {render_key(name): value for name, value in removed.items()}
        known = {path: value for path, value in known.items() if self._can_be_told(f"{tool}: {path}", value)}
        if known:
            _add(self.not_called, CallExpect(tool, known))

    def _not_made(self, call: ToolCalled) -> None:
        """Expect the tool not to be called; not like that, where it still is in another way."""
        if all(other.tool != call.tool for other in self.result.calls if not is_refused_call(other)):
            _add(self.not_called, call.tool)
        elif isinstance(call.arguments, Mapping):
            self._without(call.tool, dict(call.arguments))

    def _bound(self, call: ToolCalled | ReplayedCall) -> Any:
        return self.bind(call.tool, call.arguments) if self.bind else call.arguments

    def _differences(self, call: ReplayedCall, beside: ToolCalled | None, ordinal: int) -> list[Difference]:
        """What differs from a recorded call, with paths that begin with the argument's name; all of a new call's."""
        theirs, ours = self._bound(call), self._bound(beside) if beside else {}
        if not (isinstance(theirs, Mapping) and isinstance(ours, Mapping)):
            return []
        known = self.plan.tools.get(call.tool)
        new = {name for name, value in known.added.items() if value == "any"} - ours.keys() if known else set()
        prefix = ("tools", Call(call.tool, ordinal), "arguments")
        rules = IgnoreRules.of_plan(self.plan)
        found = diff(ours, theirs, prefix=prefix, ignore=rules, translate=self.ids.renamed)
        inner = [one._replace(path=one.path[len(prefix) :]) for one in found if len(one.path) > len(prefix)]
        return [one for one in inner if one.path[0] in theirs and not (beside and one.path[0] in new)]

    # state, output

    def _state(self, found: Iterable[Divergence]) -> None:
        state = self.result.replayed.state if self.result.replayed else ABSENT
        for divergence in found:
            path, value = divergence.path.removeprefix("state").removeprefix("."), divergence.replayed
            if value is ABSENT:  # what is gone shows in what it was a part of
                path = _LAST.sub("", path)
                inside = lookup(state, parse_steps(path)) if path else []
                value = inside[0] if len(inside) == 1 else ABSENT
            if not path or value is ABSENT:
                self.notes.append(f"{divergence.path}: no longer as recorded, and no path says so")
            elif self._can_be_told(f"state.{path}", value) and _stands(state, path, value):
                self.state[path] = value

    def _texts(self) -> tuple[str | None, list[str]]:
        """The text of the output, and those that say nothing of it: the recorded one, what the user said."""
        recorded = _content(self.result.recorded.output)
        text = _content(self.result.replayed.output) if self.result.replayed else ABSENT
        said = self.plan.inputs.get(self.result.turn) or self.result.recorded.text
        others = [recorded, said] if isinstance(recorded, str) else [said]
        return (text if isinstance(text, str) and text.strip() else None), others

    def _can_be_told(self, what: str, value: Any) -> bool:
        """Whether a value can be a rule; a note says why not."""
        why = None
        if len(brief(value)) > 79 and len(repr(value)) > _SIZE:
            why = "too long to be expected as it is"
        elif self.grounds.is_made_up(value):
            why = "made up anew on each run"
        elif not _can_be_written(value):
            why = "cannot be written into a plan"
        if why is not None and f"{what}: {why}" not in self.notes:
            self.notes.append(f"{what}: {why}")
        return why is None

    # the block

    def expect(self) -> Expect:
        """The rules so far, without those that the replayed turn itself does not meet."""
        from ..cassette.plan import Expect, OutputExpect, ToolsExpect

        called = [one for one in self.called if self._holds(Expect(tools=ToolsExpect(called=(one,))))]
        not_called = [one for one in self.not_called if self._holds(Expect(tools=ToolsExpect(not_called=(one,))))]
        named = {one.tool for one in called if not isinstance(one, str)}
        called = [one for one in called if not isinstance(one, str) or one not in named]
        tools = ToolsExpect(tuple(called), tuple(not_called)) if called or not_called else None
        output = None
        if self.output:
            contains = (self.output["contains"],) if "contains" in self.output else ()
            output = OutputExpect(contains, equals=self.output.get("equals", ABSENT))
            output = output if self._holds(Expect(output=output)) else None
        return Expect(output, tools, self.state)

    def text(self) -> str:
        """The block as YAML; without any rule, the empty text."""
        from ..cassette.canonical import parts_of
        from ..cassette.planwrite import expect_form
        from ..cassette.yamlwrite import document_text

        form = expect_form(self.expect())
        ordered = {key: form[key] for key in ("tools", "state", "output") if key in form}
        lines = [f"expect:\n  {self.result.turn}:"]
        for key, rules in ordered.items():
            lines += document_text(parts_of({key: rules})).rstrip("\n").split("\n")
        return "\n    ".join(lines) if ordered else ""

    def proves(self, text: str) -> bool:
        """Whether the block, read back, holds on the replayed turn and neither on the recorded nor on an idle one."""
        if not text:
            return False
        expect, turn = read_draft(text, self.result.turn), self.result.recorded
        wrong = turn.error is not None or bool(
            check(expect, turn.output, turn.calls, recorded_state(self.ledger, turn))
        )
        before = recorded_state(self.ledger, replace(turn, version_after=turn.version_before))
        # Who has done nothing in earlier turns either is left with the first state.
        idle = all(check(expect, ABSENT, (), state) for state in (before, self.ledger.created.state))
        return self._holds(expect) and wrong and idle

    def _holds(self, expect: Expect) -> bool:
        seen = self.result.replayed
        return seen is not None and not check(expect, seen.output, seen.calls, seen.state)

    def comments(self) -> str:
        """What is left out, and what to look at, a line each."""
        about = [f"output: {self.about_output}"] if self.about_output else []
        lines = [*self.notes, *self.about_reads, *about]
        return "".join(f"\n    # {_one_line(line)}" for line in lines)


def read_draft(text: str, turn: int) -> Expect:
    """What a drafted block says of a turn."""
    from ..cassette.planread import PLAN
    from ..cassette.reading import Reading
    from ..cassette.yamlread import parse

    document = next(iter(parse(text.encode("utf-8", "surrogatepass"), where="the draft", marks=True)))
    fields = Reading("the draft", document).fields(document.value, (), PLAN)
    found: Expect = fields["expect"][turn]
    return found


def _add(entries: list[str | CallExpect], entry: str | CallExpect) -> None:
    if not any(type(entry) is type(other) and same(_plain(entry), _plain(other)) for other in entries):
        entries.append(entry)


def _plain(entry: str | CallExpect) -> Any:
    return entry if isinstance(entry, str) else [entry.tool, dict(entry.arguments)]


def _argument(arguments: Mapping[Any, Any], name: Any, found: list[Difference]) -> dict[str, Any]:
    """An argument's leaves that differ, each by its path, or the whole where paths do not say it."""
    leaves = {render(one.path): one.replayed for one in found}
    if len(leaves) <= _LEAVES and all(_stands(arguments, path, value) for path, value in leaves.items()):
        return leaves
    return {render_key(name): arguments[name]} if name in arguments else {}


def _stands(state: Any, path: str, wanted: Any) -> bool:
    try:
        found = lookup(state, parse_steps(path))
    except PlanError:
        return False
    return bool(found) and all(same(wanted, value) for value in found)


def _can_be_written(value: Any) -> bool:
    from ..cassette.canonical import parts_of

    try:
        parts_of(value)
    except UnstorableError:
        return False
    return True


def _content(output: Any) -> Any:
    return output.get("content", ABSENT) if isinstance(output, Mapping) else output


def _call_text(call: ToolCalled | ReplayedCall) -> str:
    if not isinstance(call.arguments, Mapping):
        return f"{call.tool}({brief(call.arguments)})"
    return f"{call.tool}({', '.join(f'{name}={brief(value)}' for name, value in call.arguments.items())})"


def _one_line(text: str) -> str:
    """As a comment can hold it."""
    return "".join(char if char.isprintable() else "�" for char in text)
