"""Reads plans and `statebase.yaml`, strictly: what cannot be meant is an error with line, column and remedy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

from ..errors import ForkError, FormatVersionError, PlanError
from ..ledger import ForkPoint
from ..values import ABSENT
from .expectread import expects
from .files import read_bytes
from .moves import rules_over, with_todays_names
from .plan import (
    Answer,
    HttpPlan,
    Known,
    Plan,
    Positions,
    ReplaySpec,
    Retention,
    StubsFrom,
    ToolRules,
)
from .reading import Keys, Reading, Table, anything, shown, text, texts
from .within import why_not_relative
from .yamlread import Document, parse

FORMAT = 1
MODES = ("continuous", "isolated")
_UNTIL = re.compile(r"turn ([1-9]\d{0,8})")
MAX_DAYS = 36_500
_FINGERPRINT = re.compile(r"[0-9a-f]{12}")
_CALLABLE = re.compile(r"[\w.]+:[\w.]+")


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
    raise reading.wrong(f"{shown(value)} is no place to stop", keys, "Write `turn N` or `end`.")


def _mode(reading: Reading, value: Any, keys: Keys) -> Any:
    return reading.one_of(value, keys, MODES)


_REPLAY: Table = {"fork": _fork, "until": _until, "mode": _mode}


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


def _mapping(reading: Reading, value: Any, keys: Keys) -> dict[Any, Any]:
    return reading.mapping(value, keys)


_ANSWER: Table = {"tool": text, "arguments": _mapping, "result": anything, "error": _mapping}


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
    if fields.get("result") == "...":
        raise reading.wrong("`result: ...` is a place to fill in", keys, "Write what the tool would have answered.")
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
            f"{reading.name(keys)} must be true or false, not {shown(value)}", keys, "Write true or false."
        )
    return value


def _names(reading: Reading, value: Any, keys: Keys) -> dict[str, str]:
    names = reading.mapping(value, keys, " of recorded arguments to today's")
    return {reading.text(old, (*keys, old)): reading.text(new, (*keys, old)) for old, new in names.items()}


def _added(reading: Reading, value: Any, keys: Keys) -> dict[str, Any]:
    for name in reading.mapping(value, keys, " of arguments to values"):
        reading.text(name, (*keys, name))
    return dict(value)


def _callable(reading: Reading, value: Any, keys: Keys) -> str:
    name = reading.text(value, keys)
    if not _CALLABLE.fullmatch(name):
        raise reading.wrong(f"{name!r:.60} names no function", keys, "Write `result: module:function`.")
    return name


def _not_in_a_plan(reading: Reading, value: Any, keys: Keys) -> Any:
    raise reading.wrong(
        f"{reading.name(keys)} stands in a plan", keys, "Move it to `statebase.yaml`: it names code that is run."
    )


_RULES: Table = {
    "reads": _flag,
    "ignore": texts,
    "was": texts,
    "rename": _names,
    "added": _added,
    "result": _callable,
    "live": _flag,
}
_RULES_OF_PLAN: Table = {**_RULES, "result": _not_in_a_plan}


def _tools(reading: Reading, value: Any, keys: Keys, table: Table = _RULES) -> dict[str, ToolRules]:
    return {
        reading.text(name, (*keys, name)): _tool(reading, rules, (*keys, name), table)
        for name, rules in reading.mapping(value, keys, " of tools").items()
    }


def _tool(reading: Reading, value: Any, keys: Keys, table: Table) -> ToolRules:
    fields = reading.fields(value, keys, table)
    return ToolRules(**fields, given=frozenset(fields), where=reading.positions.at(*keys))


def _tools_of_plan(reading: Reading, value: Any, keys: Keys) -> dict[str, ToolRules]:
    return _tools(reading, value, keys, _RULES_OF_PLAN)


def _fingerprint(reading: Reading, value: Any, keys: Keys) -> str:
    text = f"{value:012}" if type(value) is int else value
    if type(text) is not str or not _FINGERPRINT.fullmatch(text):
        what = f"{shown(value)} is no fingerprint"
        raise reading.wrong(what, keys, "Copy the 12 digits and letters from the report, in quotes.")
    return text


def _day(reading: Reading, value: Any, keys: Keys) -> date:
    if type(value) is date:
        return value
    try:
        if type(value) is str and len(value) == len("2026-11-01"):
            return date.fromisoformat(value)
    except ValueError:
        pass
    raise reading.wrong(f"{shown(value)} is no day", keys, "Write year, month and day: `until: 2026-11-01`.")


_KNOWN: Table = {"fingerprint": _fingerprint, "until": _day, "ticket": text}


def _known(reading: Reading, value: Any, keys: Keys) -> tuple[Known, ...]:
    if type(value) is not list:
        raise reading.wrong("`known` must be a list", keys, "Write `- {fingerprint: …, until: 2026-11-01, ticket: …}`.")
    return tuple([_known_one(reading, item, (*keys, at)) for at, item in enumerate(value)])


def _known_one(reading: Reading, value: Any, keys: Keys) -> Known:
    fields = reading.fields(value, keys, _KNOWN)
    for key, why in (("fingerprint", "which divergence it is"), ("until", "the last day on which it is excused")):
        if key not in fields:
            raise reading.wrong(f"an entry of `known` without `{key}`", keys, f"Add {why}.")
    return Known(**fields, where=reading.positions.at(*keys))


def _stubs_from(reading: Reading, value: Any, keys: Keys) -> tuple[StubsFrom, ...]:
    names = reading.texts(value, keys)
    places = [(*keys, at) if type(value) is list else keys for at in range(len(names))]
    return tuple([
        StubsFrom(name, reading.directory, reading.positions.at(*place))
        for name, place in zip(names, places, strict=True)
    ])  # fmt: skip


def _http_file(reading: Reading, value: Any, keys: Keys) -> str:
    name = reading.text(value, keys)
    if not name.endswith((".yaml", ".yml", ".json")):
        raise reading.wrong(f"{name!r:.60} is no HTTP recording", keys, "Name a YAML or JSON file of vcrpy's format.")
    why = why_not_relative(name)
    if why is not None:
        remedy = "Write it from the directory of the plan: `vcr/refund.yaml`, `../shared/refund.yaml`."
        raise reading.wrong(f"{name!r:.60} is no HTTP recording of the project: {why}", keys, remedy)
    return name


_HTTP: Table = {"headers": texts}
_HTTP_OF_PLAN: Table = {"file": _http_file, **_HTTP}


def _http(reading: Reading, value: Any, keys: Keys) -> HttpPlan:
    return HttpPlan(**reading.fields(value, keys, _HTTP))


def _http_of_plan(reading: Reading, value: Any, keys: Keys) -> HttpPlan:
    if type(value) is dict:
        return HttpPlan(**reading.fields(value, keys, _HTTP_OF_PLAN))
    return HttpPlan(_http_file(reading, value, keys))


def _days(reading: Reading, value: Any, keys: Keys) -> int:
    if type(value) is not int or not 1 <= value <= MAX_DAYS:
        raise reading.wrong(f"{shown(value)} is no number of days", keys, "Write `days: 90`.")
    return value


_RETENTION: Table = {"until": _day, "days": _days}


def _retention(reading: Reading, value: Any, keys: Keys) -> Retention:
    fields = reading.fields(value, keys, _RETENTION)
    if len(fields) != 1:
        raise reading.wrong("`retention` needs either `until` or `days`", keys, "Write `retention: {days: 90}`.")
    return Retention(**fields, where=reading.positions.at(*keys))


def _privacy(reading: Reading, value: Any, keys: Keys) -> Any:
    return reading.one_of(value, keys, ("default", "strict"))


DEFAULTS: Table = {
    "agent": text,
    "replay": _replays,
    "ignore": texts,
    "compare": _compare,
    "owner": text,
    "gate": _gate,
    "known": _known,
    "tools": _tools,
    "stubs_from": _stubs_from,
    "http": _http,
    "retention": _retention,
    "privacy": _privacy,
    "keep": texts,
}
"""What a `statebase.yaml` may hold."""

PLAN: Table = {
    "cassette": anything,
    "session": text,
    "record": text,
    "title": text,
    "failing": _failing,
    "expect": expects,
    "answers": _answers,
    "inputs": _inputs,
    **DEFAULTS,
    "tools": _tools_of_plan,
    "http": _http_of_plan,
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
    if "tools" in fields:
        fields = with_todays_names(fields)
    return Plan(**fields, where=Positions() if positions is None else positions)


def merged(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """`inner` over `outer`: key by key, also inside `tools` and `compare`; `ignore` and `known` add up."""
    both = {**outer, **inner}
    if "compare" in outer and "compare" in inner:
        both["compare"] = {**outer["compare"], **inner["compare"]}
    if "tools" in outer and "tools" in inner:
        tools = {name: rules_over(outer["tools"].get(name), rules) for name, rules in inner["tools"].items()}
        both["tools"] = {**outer["tools"], **tools}
    if "http" in outer and "http" in inner:
        both["http"] = HttpPlan(inner["http"].file, (*outer["http"].headers, *inner["http"].headers))
    for key in ("ignore", "known", "keep"):
        if key in outer and key in inner:
            both[key] = tuple(dict.fromkeys((*outer[key], *inner[key])))
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
