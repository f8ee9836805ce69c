"""Reads plans and `statebase.yaml`, strictly: what cannot be meant is an error with line, column and remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from ..errors import ForkError, FormatVersionError, PlanError
from ..ledger import ForkPoint
from ..values import ABSENT
from .files import read_bytes
from .plan import Answer, Expect, OutputExpect, Plan, Positions, ReplaySpec, ToolRules, ToolsExpect, path_of
from .yamlread import Document, parse

FORMAT = 1
MODES = ("continuous", "isolated")
_UNTIL = re.compile(r"turn ([1-9]\d{0,8})")

Keys = tuple[Any, ...]
_Table = Mapping[str, Callable[["Reading", Any, Keys], Any]]


class Reading:
    """One file being read: knows where everything stands."""

    def __init__(self, name: str, document: Document) -> None:
        self.document = document
        self.positions = Positions(name, document)

    def name(self, keys: Keys) -> str:
        """`expect.2.output.contains[0]`, as an error names it."""
        return f"`{path_of(self.document.value, keys)}`" if keys else "the file"

    def wrong(self, what: str, keys: Keys, remedy: str) -> PlanError:
        return PlanError(what, where=self.positions.at(*keys), remedy=remedy)

    def mapping(self, value: Any, keys: Keys, what: str = "") -> dict[Any, Any]:
        if type(value) is not dict:
            raise self.wrong(
                f"{self.name(keys)} must be a mapping{what}, not {_shown(value)}", keys, "Write it as `key: value`."
            )
        return value

    def text(self, value: Any, keys: Keys) -> str:
        if type(value) is not str or not value:
            raise self.wrong(
                f"{self.name(keys)} must be a text, not {_shown(value)}", keys, "Put it in quotes, if it is one."
            )
        return value

    def texts(self, value: Any, keys: Keys) -> tuple[str, ...]:
        """One text or a list of them."""
        if type(value) is not list:
            return (self.text(value, keys),)
        return tuple([self.text(item, (*keys, at)) for at, item in enumerate(value)])

    def turn(self, value: Any, keys: Keys) -> int:
        if type(value) is not int or value < 1:
            raise self.wrong(f"{_shown(value)} is no turn", keys, "Turns are integers from 1.")
        return value

    def one_of(self, value: Any, keys: Keys, allowed: Iterable[str]) -> Any:
        if value not in allowed:
            choice = " or ".join(allowed)
            raise self.wrong(f"{self.name(keys)} must be {choice}, not {_shown(value)}", keys, f"Write {choice}.")
        return value

    def fields(self, value: Any, keys: Keys, table: _Table) -> dict[str, Any]:
        """A mapping read key by key; an unknown key is an error that names those that there are."""
        read: dict[str, Any] = {}
        for key, item in self.mapping(value, keys).items():
            reader = table.get(key)
            if reader is None:
                raise self.unknown(key, (*keys, key), table)
            read[key] = reader(self, item, (*keys, key))
        return read

    def unknown(self, key: Any, keys: Keys, known: Iterable[str]) -> PlanError:
        near = get_close_matches(str(key), known, 1)
        hint = f"Did you mean `{near[0]}`? " if near else ""
        place = f" in {self.name(keys[:-1])}" if len(keys) > 1 else ""
        return self.wrong(f"unknown key `{key}`{place}", keys, f"{hint}Known keys: {', '.join(known)}.")


def _shown(value: Any) -> str:
    return "null" if value is None else f"{value!r:.60}"


def _text(reading: Reading, value: Any, keys: Keys) -> str:
    return reading.text(value, keys)


def _texts(reading: Reading, value: Any, keys: Keys) -> tuple[str, ...]:
    return reading.texts(value, keys)


def _any(reading: Reading, value: Any, keys: Keys) -> Any:
    return value


def _fork(reading: Reading, value: Any, keys: Keys) -> ForkPoint:
    try:
        return ForkPoint.parse(reading.text(value, keys))
    except ForkError as error:
        raise reading.wrong(error.what, keys, error.remedy or "") from None


def _until(reading: Reading, value: Any, keys: Keys) -> Any:
    match = _UNTIL.fullmatch(value) if type(value) is str else None
    if match is not None:
        return int(match[1])
    if value == "end" or (type(value) is int and value >= 1):
        return value
    raise reading.wrong(f"{_shown(value)} is no place to stop", keys, "Write `turn N` or `end`.")


def _mode(reading: Reading, value: Any, keys: Keys) -> Any:
    return reading.one_of(value, keys, MODES)


_REPLAY: _Table = {"fork": _fork, "until": _until, "mode": _mode}


def _replays(reading: Reading, value: Any, keys: Keys) -> tuple[ReplaySpec, ...]:
    if type(value) is not list:
        return (ReplaySpec(**reading.fields(value, keys, _REPLAY)),)
    if not value:
        raise reading.wrong("`replay` is an empty list", keys, "Leave it out to replay from the start, or name a fork.")
    return tuple([ReplaySpec(**reading.fields(item, (*keys, at), _REPLAY)) for at, item in enumerate(value)])


def _failing(reading: Reading, value: Any, keys: Keys) -> frozenset[int]:
    if type(value) is not list:
        return frozenset((reading.turn(value, keys),))
    return frozenset([reading.turn(item, (*keys, at)) for at, item in enumerate(value)])


def _patterns(reading: Reading, value: Any, keys: Keys) -> tuple[str, ...]:
    patterns = reading.texts(value, keys)
    for at, pattern in enumerate(patterns):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            place = (*keys, at) if type(value) is list else keys
            raise reading.wrong(f"{pattern!r:.60} is no regular expression: {error}", place, "Correct it.") from None
    return patterns


_OUTPUT: _Table = {"contains": _texts, "not_contains": _texts, "matches": _patterns, "equals": _any}
_TOOLS: _Table = {"called": _texts, "not_called": _texts}


def _expect_output(reading: Reading, value: Any, keys: Keys) -> OutputExpect:
    return OutputExpect(**_some(reading, value, keys, _OUTPUT))


def _expect_tools(reading: Reading, value: Any, keys: Keys) -> ToolsExpect:
    return ToolsExpect(**_some(reading, value, keys, _TOOLS))


def _expect_state(reading: Reading, value: Any, keys: Keys) -> dict[str, Any]:
    for key in reading.mapping(value, keys, " of paths to values"):
        reading.text(key, (*keys, key))
    return dict(value)


_EXPECT: _Table = {"output": _expect_output, "tools": _expect_tools, "state": _expect_state}


def _some(reading: Reading, value: Any, keys: Keys, table: _Table) -> dict[str, Any]:
    fields = reading.fields(value, keys, table)
    if not fields:
        raise reading.wrong(
            f"{reading.name(keys)} expects nothing", keys, f"Add one of {', '.join(table)}, or leave it out."
        )
    return fields


def _expects(reading: Reading, value: Any, keys: Keys) -> dict[int, Expect]:
    turns = reading.mapping(value, keys, " of turns")
    return {
        reading.turn(turn, (*keys, turn)): Expect(**_some(reading, item, (*keys, turn), _EXPECT))
        for turn, item in turns.items()
    }


def _mapping(reading: Reading, value: Any, keys: Keys) -> dict[Any, Any]:
    return reading.mapping(value, keys)


_ANSWER: _Table = {"tool": _text, "arguments": _mapping, "result": _any, "error": _mapping}


def _answers(reading: Reading, value: Any, keys: Keys) -> tuple[Answer, ...]:
    if type(value) is not list:
        raise reading.wrong("`answers` must be a list", keys, "Write `- {tool: …, arguments: {…}, result: …}`.")
    return tuple([_answer(reading, item, (*keys, at)) for at, item in enumerate(value)])


def _answer(reading: Reading, value: Any, keys: Keys) -> Answer:
    fields = reading.fields(value, keys, _ANSWER)
    if "tool" not in fields:
        raise reading.wrong("an answer without `tool`", keys, "Add the name of the tool that it answers for.")
    if ("result" in fields) == ("error" in fields):
        raise reading.wrong("an answer needs either `result` or `error`", keys, "`result: null` is a result.")
    return Answer(**fields, where=reading.positions.at(*keys))


def _inputs(reading: Reading, value: Any, keys: Keys) -> dict[int, str]:
    turns = reading.mapping(value, keys, " of turns")
    return {reading.turn(turn, (*keys, turn)): reading.text(item, (*keys, turn)) for turn, item in turns.items()}


def _output_mode(reading: Reading, value: Any, keys: Keys) -> str:
    return reading.one_of(value, keys, ("exact", "wording"))  # type: ignore[no-any-return]


def _compare(reading: Reading, value: Any, keys: Keys) -> dict[str, str]:
    return reading.fields(value, keys, {"output": _output_mode})


def _gate(reading: Reading, value: Any, keys: Keys) -> Any:
    return reading.one_of(value, keys, ("block", "warn"))


def _flag(reading: Reading, value: Any, keys: Keys) -> bool:
    if type(value) is not bool:
        raise reading.wrong(
            f"{reading.name(keys)} must be true or false, not {_shown(value)}", keys, "Write true or false."
        )
    return value


_RULES: _Table = {"reads": _flag, "ignore": _texts}


def _tools(reading: Reading, value: Any, keys: Keys) -> dict[str, ToolRules]:
    tools = reading.mapping(value, keys, " of tools")
    return {
        reading.text(name, (*keys, name)): ToolRules(**reading.fields(rules, (*keys, name), _RULES))
        for name, rules in tools.items()
    }


DEFAULTS: _Table = {
    "agent": _text,
    "replay": _replays,
    "ignore": _texts,
    "compare": _compare,
    "owner": _text,
    "gate": _gate,
    "tools": _tools,
}
"""What a `statebase.yaml` may hold."""

PLAN: _Table = {
    "cassette": _any,
    "session": _text,
    "record": _text,
    "title": _text,
    "failing": _failing,
    "expect": _expects,
    "answers": _answers,
    "inputs": _inputs,
    **DEFAULTS,
}


def read_plan(path: str | os.PathLike[str], *, defaults: Mapping[str, Any] | None = None) -> Plan:
    """The plan in a `NAME.session.yaml`, over defaults (see `defaults.defaults_for`).

    Raises FileError, PlanError or FormatVersionError with line and column.
    """
    name = os.fspath(path)
    document = _only_document(name, read_bytes(name))
    reading = Reading(name, document)
    _check_version(reading, document.value)
    return plan_of(reading.fields(document.value, (), PLAN), defaults or {}, reading.positions)


def plan_of(own: dict[str, Any], defaults: Mapping[str, Any], positions: Positions | None = None) -> Plan:
    """A plan of what was read, key by key over the defaults."""
    fields = merged(defaults, own)
    fields.pop("cassette", None)
    if "replay" in fields:
        fields["replays"] = fields.pop("replay")
    return Plan(**fields, where=Positions() if positions is None else positions)


def merged(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """`inner` over `outer`: key by key, also inside `tools` and `compare`; lists of `ignore` add up."""
    both = {**outer, **inner}
    for key in ("tools", "compare"):
        if key in outer and key in inner:
            both[key] = {**outer[key], **inner[key]}
    if "ignore" in outer and "ignore" in inner:
        both["ignore"] = tuple(dict.fromkeys((*outer["ignore"], *inner["ignore"])))
    return both


def read_defaults(path: str) -> dict[str, Any]:
    """What one `statebase.yaml` says.

    Raises FileError or PlanError with line and column.
    """
    data = read_bytes(path)
    if next(iter(parse(data, where=path)), None) is None:
        # Nothing but comments, as an import proposes it.
        return {}
    document = _only_document(path, data)
    return Reading(path, document).fields(document.value, (), DEFAULTS)


def _only_document(name: str, data: bytes) -> Document:
    documents = list(parse(data, where=name, marks=True))
    if len(documents) != 1:
        raise PlanError(
            f"there are {len(documents)} documents in the file",
            where=f"{name}:{documents[1].line}" if documents else name,
            remedy="Keep one: a plan is a single YAML document.",
        )
    return documents[0]


def _check_version(reading: Reading, value: Any) -> None:
    version = reading.mapping(value, ()).get("cassette", ABSENT)
    if type(version) is int and version != FORMAT:
        raise FormatVersionError(
            f"the plan is in format {version}; this version of pytest-statebase reads format {FORMAT}",
            where=reading.positions.at("cassette"),
            remedy="Upgrade pytest-statebase.",
        )
    if type(version) is not int:
        found = "this is a record, not a plan" if "record" in value and "kind" in value else "the plan has no format"
        raise reading.wrong(found, ("cassette",), f"A plan begins with `cassette: {FORMAT}`.")
