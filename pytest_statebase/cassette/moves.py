"""Tools that moved on: what was recorded under an old name or with old arguments is read as today's.

The record stays as it was sealed. What is read of it, and of a plan, has today's names from here on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import PlanError
from ..ledger import Event, Ledger, ToolCalled, TurnStarted
from ..values import copy_value
from .accepted import Accepted, AcceptedCall
from .plan import ANY, Answer, CallExpect, Expect, ToolRules

_KEY = r'(?:"(?:[^"\\]|\\.)*"|[^.\[\]"*#]+)'
_PATH = re.compile(
    rf"\s*tools\.(?P<tool>{_KEY})(?P<number>#\d+)?(?:\.arguments\.(?P<argument>{_KEY}))?(?P<rest>.*)", re.S
)
_ARGUMENT = re.compile(rf"\s*(?P<prefix>arguments\.)?(?P<argument>{_KEY})(?P<rest>.*)", re.S)
_PLACE = re.compile(rf"\s*(?P<argument>{_KEY})(?P<rest>.*)", re.S)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)


_Call = TypeVar("_Call", ToolCalled, AcceptedCall)


def rules_over(outer: ToolRules | None, inner: ToolRules) -> ToolRules:
    """The rules of a tool in two files: what the inner one says wins, key by key."""
    if outer is None:
        return inner
    own = {key: getattr(inner, key) for key in inner.given}
    return replace(outer, **own, given=outer.given | inner.given, where=inner.where)


@dataclass(frozen=True, slots=True)
class Moves:
    """The way from each recorded name of a tool to today's. Falsy where no tool moved."""

    ways: Mapping[str, tuple[tuple[str, ToolRules], ...]]
    """By recorded name, today's names among them: each name that the tool had from then on, with its rules."""

    @classmethod
    def of(cls, tools: Mapping[str, ToolRules]) -> Moves:
        """What the rules of tools say.

        Raises PlanError where two tools claim one old name, or a tool is its own ancestor.
        """
        if not any(rules.was or rules.rename or rules.added for rules in tools.values()):
            return cls({})
        heirs = _heirs(tools)
        for name, rules in tools.items():
            _check_arguments(name, rules)
        return cls({name: tuple(_way(name, heirs, tools)) for name in dict.fromkeys((*tools, *heirs))})

    def __bool__(self) -> bool:
        return bool(self.ways)

    def tool(self, name: str) -> str:
        """Today's name of a tool."""
        way = self.ways.get(name)
        return way[-1][0] if way else name

    def argument(self, tool: str, name: str) -> str:
        """Today's name of an argument of the tool with that recorded name."""
        for _, rules in self.ways.get(tool, ()):
            name = rules.rename.get(name, name)
        return name

    def arguments(self, tool: str, arguments: Any) -> Any:
        """Recorded arguments as today's; the same object where nothing moved.

        Raises PlanError where an argument would get a name that another one has.
        """
        if type(arguments) is not dict:
            return arguments
        for name, rules in self.ways.get(tool, ()):
            if rules.rename and not rules.rename.keys().isdisjoint(arguments):
                arguments = _renamed(name, rules, arguments)
            for key, value in rules.added.items():
                if value != ANY and key not in arguments:
                    arguments = {**arguments, key: copy_value(value)}
        return arguments

    def call(self, event: _Call) -> _Call:
        """A recorded or accepted call as today's; the same object where nothing moved."""
        if event.tool not in self.ways:
            return event
        tool, arguments = self.tool(event.tool), self.arguments(event.tool, event.arguments)
        if tool == event.tool and arguments is event.arguments:
            return event
        return replace(event, tool=tool, arguments=arguments)

    def path(self, rule: str) -> str:
        """An `ignore` rule that names a tool, with today's names; any other one as it is."""
        match = _PATH.fullmatch(rule)
        tool = _unquoted(match["tool"]) if match else None
        if match is None or tool is None or tool not in self.ways:
            return rule
        argument = _unquoted(match["argument"]) if match["argument"] else None
        inner = f".arguments.{_quoted(self.argument(tool, argument))}" if argument else ""
        rest = match["rest"] if argument or not match["argument"] else f".arguments.{match['argument']}{match['rest']}"
        return f"tools.{_quoted(self.tool(tool))}{match['number'] or ''}{inner}{rest}"

    def tool_path(self, tool: str, rule: str) -> str:
        """A rule of a tool's own `ignore`, with today's names."""
        match = _ARGUMENT.fullmatch(rule)
        argument = _unquoted(match["argument"]) if match else None
        if match is None or argument is None or (argument == "arguments" and not match["prefix"]):
            return rule
        name = self.argument(tool, argument)
        return rule if name == argument else f"{match['prefix'] or ''}{_quoted(name)}{match['rest']}"

    def place(self, tool: str, path: str) -> str:
        """An argument's name, or a path inside the arguments of a tool, with today's name of the argument."""
        name = self.argument(tool, path)
        match = _PLACE.fullmatch(path) if name == path else None
        argument = _unquoted(match["argument"]) if match else None
        if match is None or argument is None:
            return path if name == path else _quoted(name)
        today = self.argument(tool, argument)
        return path if today == argument else f"{_quoted(today)}{match['rest']}"


def _heirs(tools: Mapping[str, ToolRules]) -> dict[str, str]:
    """Old name → the tool that claims it."""
    heirs: dict[str, str] = {}
    for name, rules in tools.items():
        for old in rules.was:
            other = heirs.setdefault(old, name)
            if other != name:
                raise PlanError(
                    f"the tools `{other}` and `{name}` both say that they were `{old}`",
                    where=rules.where or None,
                    remedy="Recorded calls can become those of one tool only: let one of the two have the name.",
                )
    return heirs


def _way(name: str, heirs: Mapping[str, str], tools: Mapping[str, ToolRules]) -> Iterator[tuple[str, ToolRules]]:
    seen = {name}
    yield name, tools.get(name) or ToolRules()
    while name in heirs:
        name = heirs[name]
        if name in seen:
            raise PlanError(
                f"the tool `{name}` was, by its `was`, itself",
                where=tools[name].where or None,
                remedy="Follow the names from the oldest to today's: one of them leads back.",
            )
        seen.add(name)
        yield name, tools[name]


def _check_arguments(name: str, rules: ToolRules) -> None:
    both = rules.added.keys() & {*rules.rename, *rules.rename.values()}
    if both:
        raise PlanError(
            f"`added` and `rename` of `{name}` both speak of `{min(both)}`",
            where=rules.where or None,
            remedy="An argument that got another name was there before: it is not an added one.",
        )


def _renamed(tool: str, rules: ToolRules, arguments: dict[Any, Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, value in arguments.items():
        name = rules.rename.get(key, key)
        if name in made:
            raise PlanError(
                f"`rename` of `{tool}` gives an argument the name `{name}`, and the call has that one as well",
                where=rules.where or None,
                remedy="Correct `rename`: recorded name first, today's name second.",
            )
        made[name] = value
    return made


def _unquoted(key: str) -> str | None:
    if not key.startswith('"'):
        return key
    try:
        return str(json.loads(key, strict=False))
    except ValueError:
        return None


def _quoted(key: str) -> str:
    return key if _PLAIN.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def moved_ledger(ledger: Ledger, tools: Mapping[str, ToolRules]) -> Ledger:
    """The ledger with every recorded call as today's; the same one where nothing moved.

    Raises PlanError where an argument would get a name that another one has; it names turn and call.
    """
    moves = Moves.of(tools)
    if not moves:
        return ledger
    events = list(_moved(ledger, moves))
    return ledger if all(map(_is, events, ledger.events)) else Ledger(events)


def _is(left: object, right: object) -> bool:
    return left is right


def _moved(ledger: Ledger, moves: Moves) -> Iterator[Event]:
    for event, place in placed_events(ledger):
        if type(event) is ToolCalled:
            try:
                event = moves.call(event)
            except PlanError as error:
                what = f"{error.what} (session {ledger.id}, turn {place[0]}, call {place[1]})"
                raise PlanError(what, where=error.where, remedy=error.remedy) from None
        yield event


def placed_events(ledger: Ledger) -> Iterator[tuple[Event, tuple[int, int]]]:
    """The events of a session, each with the number of its turn and how many calls of that turn were made by then."""
    turn, call = 0, 0
    for event in ledger.events:
        if type(event) is TurnStarted:
            turn, call = event.number, 0
        elif type(event) is ToolCalled:
            call += 1
        yield event, (turn, call)


def moved_accepted(accepted: Accepted, tools: Mapping[str, ToolRules]) -> Accepted:
    """The accepted baseline with every call as today's.

    Raises PlanError where an argument would get a name that another one has.
    """
    moves = Moves.of(tools)
    if not moves:
        return accepted
    turns = {number: replace(turn, calls=tuple(map(moves.call, turn.calls))) for number, turn in accepted.turns.items()}
    return replace(accepted, turns=turns)


def with_todays_names(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a plan with today's names of tools and arguments in answers, `expect`, `ignore` and the rules.

    A tool's rules include what was said of it under its old names, where it says nothing of that itself.
    """
    made, tools = dict(fields), fields["tools"]
    moves = Moves.of(tools)
    if not moves:
        return made
    made["tools"] = _inherited(tools, moves)
    made["ignore"] = tuple([moves.path(rule) for rule in fields.get("ignore", ())])
    made["answers"] = tuple([_answer(answer, moves) for answer in fields.get("answers", ())])
    made["expect"] = {turn: _expect(expect, moves) for turn, expect in fields.get("expect", {}).items()}
    return made


def _inherited(tools: Mapping[str, ToolRules], moves: Moves) -> dict[str, ToolRules]:
    made = {}
    for name, rules in tools.items():
        own = tuple([moves.tool_path(name, rule) for rule in rules.ignore])
        made[name] = rules if own == rules.ignore else replace(rules, ignore=own)
    for old, way in sorted(moves.ways.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        if old in made and len(way) > 1:
            made[way[1][0]] = _inherit(made[old], old, made[way[1][0]], moves)
    return made


def _inherit(old: ToolRules, name: str, heir: ToolRules, moves: Moves) -> ToolRules:
    """What an old name's rules say and its heir's do not."""
    told = old.given - heir.given
    return replace(
        heir,
        reads=old.reads if "reads" in told else heir.reads,
        live=old.live if "live" in told else heir.live,
        ignore=tuple([moves.tool_path(name, rule) for rule in old.ignore]) if "ignore" in told else heir.ignore,
        given=heir.given | (told & {"reads", "live", "ignore"}),
    )


def _answer(answer: Answer, moves: Moves) -> Answer:
    if answer.tool not in moves.ways:
        return answer
    try:
        arguments = moves.arguments(answer.tool, dict(answer.arguments))
    except PlanError as error:
        raise PlanError(error.what, where=answer.where or error.where, remedy=error.remedy) from None
    return replace(answer, tool=moves.tool(answer.tool), arguments=arguments)


def _expect(expect: Expect, moves: Moves) -> Expect:
    rules = expect.tools
    if rules is None:
        return expect
    called, not_called = ([_entry(entry, moves) for entry in some] for some in (rules.called, rules.not_called))
    return replace(expect, tools=replace(rules, called=tuple(called), not_called=tuple(not_called)))


def _entry(entry: str | CallExpect, moves: Moves) -> str | CallExpect:
    if isinstance(entry, str):
        return moves.tool(entry)
    if entry.tool not in moves.ways:
        return entry
    arguments = {moves.place(entry.tool, path): value for path, value in entry.arguments.items()}
    if len(arguments) < len(entry.arguments):
        raise PlanError(
            f"two arguments that are expected of `{entry.tool}` have one name today",
            where=entry.where or None,
            remedy="Keep the one with today's name.",
        )
    return replace(entry, tool=moves.tool(entry.tool), arguments=arguments)
