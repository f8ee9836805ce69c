"""What rules do in one recording: which values an `ignore` hides, which calls a tool's rule is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..cassette import Cassette, read_record
from ..cassette.moves import Moves
from ..cassette.plan import Answer, ToolRules
from ..compare import IgnoreRules
from ..compare.expect import recorded_state
from ..compare.paths import DEEP, Call, Path, Step, children, render
from ..ledger import Ledger, ToolCalled, Turn
from ..values import ABSENT, same


class Effects:
    """The effects of rules on the turns of a cassette, or on turn `only`."""

    def __init__(self, cassette: Cassette, only: int | None = None) -> None:
        self.ledger = cassette.ledger
        self.turns = [turn for turn in self.ledger.turns if only in (None, turn.number)]
        self.only = only
        self.moves = Moves.of(cassette.plan.tools)
        as_recorded = self.ledger
        if self.moves and cassette.record_path is not None:
            as_recorded = read_record(cassette.record_path)
        self.recorded = [turn for turn in as_recorded.turns if only in (None, turn.number)]
        """With the names of tools and arguments that the record has."""

    def concerns(self, turn: int) -> bool:
        """Whether a turn is among those that are told of."""
        return self.only in (None, turn)

    def hidden_by(self, text: str) -> list[str]:
        """Where an `ignore` entry hides recorded values, one line a turn."""
        return self._hidden(IgnoreRules.parse([self.moves.path(text)]))

    def of_tool(self, tool: str, name: str, setting: Any, rules: Mapping[str, Any]) -> list[str]:
        """Where one rule of a tool applies, one line a turn or one for all."""
        was = rules.get("was", ())
        names = {tool, *([was] if isinstance(was, str) else was)}
        if name == "ignore":
            texts = setting if isinstance(setting, list) else [setting]
            own = ToolRules(ignore=tuple(self.moves.tool_path(tool, text) for text in texts))
            return self._hidden(IgnoreRules.of_tools({self.moves.tool(tool): own}))
        wanted = _concerned(name, setting)
        told = [
            (turn.number, sum(call.tool in names and wanted(call, tool) for call in turn.calls))
            for turn in self.recorded
        ]
        return _counted([(number, calls) for number, calls in told if calls], name, setting)

    def of_answer(self, answer: Answer) -> str:
        """Whether the recording answers the same call."""
        for turn in self.ledger.turns:
            for call in turn.calls:
                if call.tool == answer.tool and same(dict(answer.arguments), call.arguments):
                    return f"goes before the recorded answer of turn {turn.number}"
        known = any(call.tool == answer.tool for turn in self.ledger.turns for call in turn.calls)
        return "recorded only with other arguments" if known else "the tool was never called in the recording"

    def _hidden(self, rules: IgnoreRules) -> list[str]:
        told = []
        for turn in self.turns:
            places = list(
                dict.fromkeys(place for rule in rules.rules for place in _in_turn(self.ledger, turn, rule.steps))
            )
            if places:
                more = f" and {len(places) - 3:,} more" if len(places) > 3 else ""
                told.append(f"turn {turn.number}: {', '.join(places[:3])}{more}")
        return told


def _concerned(name: str, setting: Any) -> Callable[[ToolCalled, str], bool]:
    """Which calls, as they were recorded, a rule of their tool does something to."""
    if name == "was":
        return lambda call, tool: call.tool != tool
    if name == "rename":
        return lambda call, tool: isinstance(call.arguments, Mapping) and any(old in call.arguments for old in setting)
    if name == "added":
        return lambda call, tool: (
            isinstance(call.arguments, Mapping) and any(new not in call.arguments for new in setting)
        )
    if name == "result":
        return lambda call, tool: call.result is not ABSENT
    return lambda call, tool: True


_DONE = {
    "was": ": read under the new name",
    "rename": ": read with the new names",
    "added": ": read with what they lack",
    "result": ": their results are made anew",
    "live": ": the tool may run where a call has no answer",
}


def _counted(told: list[tuple[int, int]], name: str, setting: Any) -> list[str]:
    """`3 calls in turns 1, 4 may be answered again`."""
    if not told:
        return []
    total = sum(calls for _, calls in told)
    turns = ", ".join(str(number) for number, _ in told[:12]) + (", …" if len(told) > 12 else "")
    done = (" may be answered again" if setting else ": a write") if name == "reads" else _DONE.get(name, "")
    return [f"{total:,} call{'' if total == 1 else 's'} in turn{'' if len(told) == 1 else 's'} {turns}{done}"]


def _in_turn(ledger: Ledger, turn: Turn, steps: tuple[Step, ...]) -> Iterator[str]:
    for start, value in _compared(ledger, turn):
        if steps[0] is DEEP:
            found = _places(value, steps, start)
        else:
            found = _places(_nested(start, value), steps, ())
        yield from (render(path) for path in found)


def _compared(ledger: Ledger, turn: Turn) -> Iterator[tuple[Path, Any]]:
    """What of a turn is compared, with the path at which it is."""
    yield from _of_calls(turn.calls)
    state = recorded_state(ledger, turn)
    if state is not ABSENT:
        yield ("state",), state
    if turn.output is not ABSENT:
        output = turn.output
        yield ("output",), output.get("content") if isinstance(output, Mapping) and "content" in output else output
    if turn.error is not None:
        yield ("error",), turn.error


def _of_calls(calls: list[ToolCalled]) -> Iterator[tuple[Path, Any]]:
    seen: dict[str, int] = {}
    for call in calls:
        seen[call.tool] = seen.get(call.tool, 0) + 1
        at = ("tools", Call(call.tool, seen[call.tool]))
        yield (*at, "arguments"), call.arguments
        yield (*at, "order"), None
        yield (*at, "agent"), call.agent


def _nested(path: Path, value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _places(value: Any, steps: tuple[Step, ...], path: Path) -> Iterator[Path]:
    """Every path below `path` at which the steps end."""
    if not steps:
        yield path
    elif steps[0] is DEEP:
        for at, item in _descendants(value, path):
            yield from _places(item, steps[1:], at)
    else:
        for segment, child in children(value):
            if steps[0].matches(segment):
                yield from _places(child, steps[1:], (*path, segment))


def _descendants(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The value and everything in it, however deep."""
    pending = [(path, value)]
    while pending:
        at, item = pending.pop()
        yield at, item
        pending.extend(((*at, segment), child) for segment, child in reversed(children(item)))
