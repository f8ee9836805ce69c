"""Tool calls as the API knows them: turns that were logged before the turn they belong to."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from ..ledger import ToolCalled
from ..values import ABSENT, copy_value

_LONGEST = 100_000
"""Characters of a written call that is read."""


def logged_call(turn_input: Any, turn_output: Any, at: str | None = None) -> ToolCalled | None:
    """The tool call that a turn logs; None where it is a turn of its own.

    Its name and arguments are in `tool_metadata`, in `tool` and `arguments`, or written in the content as
    `get_weather(city='Paris')`; its result is the output's `output`, else its content. An output of type `error`
    is an exception of the tool.
    """
    if not isinstance(turn_input, Mapping) or turn_input.get("type") != "tool_call":
        return None
    name, arguments, call_id = _asked(turn_input)
    if not name:
        return None
    output = turn_output if isinstance(turn_output, Mapping) else {"content": turn_output}
    error = _error(output)
    result = ABSENT if error is not None else _result(output)
    return ToolCalled(
        name, arguments, copy_value(result), error, is_error=output.get("is_error") is True, id=call_id, at=at
    )


def _asked(turn_input: Mapping[str, Any]) -> tuple[str | None, Any, str | None]:
    told = turn_input.get("tool_metadata")
    if not isinstance(told, Mapping):
        told = {"name": turn_input.get("tool") or turn_input.get("name"), **turn_input}
    name, arguments, call_id = told.get("name"), told.get("arguments"), told.get("id")
    content = turn_input.get("content")
    if (not name or arguments is None) and isinstance(content, str):
        written = written_call(content)
        if written is not None and name in (None, "", written[0]):
            name, arguments = written
    return (
        name if isinstance(name, str) else None,
        {} if arguments is None else _read(arguments),
        call_id if isinstance(call_id, str) else None,
    )


def _read(given: Any) -> Any:
    """Arguments by name, which may have been sent as JSON text; what holds no names is a text."""
    if isinstance(given, Mapping):
        return copy_value(given)
    if not isinstance(given, str):
        return json.dumps(given)
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return given
    return value if isinstance(value, dict) else given


def written_call(text: str) -> tuple[str, dict[str, Any]] | None:
    """Name and arguments of `get_weather(city='Paris')`; None for anything else."""
    if len(text) > _LONGEST or not text.rstrip().endswith(")"):
        return None
    try:
        call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, (ast.Name, ast.Attribute)):
            return None
        arguments = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None
    return (ast.unparse(call.func), arguments) if len(arguments) == len(call.keywords) else None


def _error(output: Mapping[str, Any]) -> dict[str, Any] | None:
    if output.get("type") != "error":
        return None
    message = output.get("message", output.get("content"))
    kind = output.get("error_type")
    return {"type": kind if isinstance(kind, str) else "Exception", "message": str(message)}


def _result(output: Mapping[str, Any]) -> Any:
    if "output" in output:
        return output["output"]
    content = output.get("content")
    return ABSENT if content is None else content
