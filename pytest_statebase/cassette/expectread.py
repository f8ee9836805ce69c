"""Reads what a plan expects of its turns."""

from __future__ import annotations

import re
from typing import Any

from .plan import CallExpect, Expect, OutputExpect, ToolsExpect
from .reading import Keys, Reading, Table, anything, shown, text, texts


def _patterns(reading: Reading, value: Any, keys: Keys) -> tuple[str, ...]:
    patterns = reading.texts(value, keys)
    for at, pattern in enumerate(patterns):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            place = (*keys, at) if type(value) is list else keys
            raise reading.wrong(f"{pattern!r:.60} is no regular expression: {error}", place, "Correct it.") from None
    return patterns


OUTPUT: Table = {"contains": texts, "not_contains": texts, "matches": _patterns, "equals": anything}


def _by_path(reading: Reading, value: Any, keys: Keys) -> dict[str, Any]:
    for key in reading.mapping(value, keys, " of paths to values"):
        reading.text(key, (*keys, key))
    return dict(value)


CALL: Table = {"tool": text, "arguments": _by_path}


def _calls(reading: Reading, value: Any, keys: Keys) -> tuple[str | CallExpect, ...]:
    """One tool or call, or a list of them."""
    if type(value) is not list:
        return (_call(reading, value, keys),)
    return tuple([_call(reading, item, (*keys, at)) for at, item in enumerate(value)])


def _call(reading: Reading, value: Any, keys: Keys) -> str | CallExpect:
    if type(value) is not dict:
        if type(value) is str and value:
            return value
        remedy = "Write its name, or `{tool: NAME, arguments: {…}}`."
        raise reading.wrong(f"{reading.name(keys)} must be a tool, not {shown(value)}", keys, remedy)
    fields = reading.fields(value, keys, CALL)
    if "tool" not in fields:
        raise reading.wrong(f"{reading.name(keys)} has no `tool`", keys, "Add the name of the tool.")
    if not fields.get("arguments"):
        return str(fields["tool"])
    return CallExpect(**fields, where=reading.positions.at(*keys))


TOOLS: Table = {"called": _calls, "not_called": _calls}


def _expect_output(reading: Reading, value: Any, keys: Keys) -> OutputExpect:
    return OutputExpect(**_some(reading, value, keys, OUTPUT))


def _expect_tools(reading: Reading, value: Any, keys: Keys) -> ToolsExpect:
    return ToolsExpect(**_some(reading, value, keys, TOOLS))


EXPECT: Table = {"output": _expect_output, "tools": _expect_tools, "state": _by_path}


def _some(reading: Reading, value: Any, keys: Keys, table: Table) -> dict[str, Any]:
    fields = reading.fields(value, keys, table)
    if not fields:
        raise reading.wrong(
            f"{reading.name(keys)} expects nothing", keys, f"Add one of {', '.join(table)}, or leave it out."
        )
    return fields


def expects(reading: Reading, value: Any, keys: Keys) -> dict[int, Expect]:
    turns = reading.mapping(value, keys, " of turns")
    return {
        reading.turn(turn, (*keys, turn)): Expect(**_some(reading, item, (*keys, turn), EXPECT))
        for turn, item in turns.items()
    }
