"""Recordings that were made from a trace: they answer whoever says the same, in whichever API, streamed or not.

The trace tells what was said, not how it stood on the wire. So only that counts, and of it only what the trace told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...compare import IgnoreRules
from ...compare.diff import plain_equal
from ...wire.exchange import Exchange, Request, Response
from .keys import Form
from .models import ModelRequest
from .talk import answer_of, reply_of, talk_of


def derived_form(talk: ModelRequest, unknown: Iterable[str]) -> Form:
    """What of a request counts when its recording is looked for: conversation and system text, where that is known.

    talk: what it says, by `talk_of`.
    """
    said: list[Any] = [talk.endpoint, *(piece.value for piece in talk.messages)]
    system = [] if "system" in unknown else [piece.value for piece in talk.system]
    return Form("POST", "derived:", {}, {}, "json", [sorted(unknown), system, said])


def told_parts(recorded: Exchange, requested: Request, rules: IgnoreRules | None) -> tuple[ModelRequest, ModelRequest]:
    """What a recording that was made from a trace and a request say, without what the trace did not tell."""
    return _as_far_as_told(talk_of(recorded.request, rules), talk_of(requested, rules), recorded.derived or ())


def _as_far_as_told(old: ModelRequest, new: ModelRequest, unknown: Iterable[str]) -> tuple[ModelRequest, ModelRequest]:
    if "system" in unknown:
        new = replace(new, system=old.system)
    if "tools" in unknown:
        new = replace(new, tools=old.tools)
    tools = {name: _as_told(tool, old.tools.get(name)) for name, tool in new.tools.items()}
    # Tracers fill in what is so by default: what only one side names, nobody knows of the other.
    both = old.parameters.keys() & new.parameters.keys()
    old = replace(old, parameters={name: old.parameters[name] for name in sorted(both)})
    new = replace(new, tools=tools, parameters={name: new.parameters[name] for name in sorted(both)})
    if old.model is None or new.model is None:
        new = replace(new, model=old.model)
    return old, new


def _as_told(tool: Any, told: Any) -> Any:
    if not isinstance(told, Mapping) or not isinstance(tool, Mapping):
        return tool
    return {key: value for key, value in tool.items() if key in told}


def is_told_alike(recorded: ModelRequest, requested: ModelRequest, unknown: Iterable[str]) -> bool:
    """Whether model, tools and parameters are those of the recording, as far as they are known."""
    old, new = _as_far_as_told(recorded, requested, unknown)
    return old.model == new.model and all(
        plain_equal(was, now) for was, now in ((old.tools, new.tools), (old.parameters, new.parameters))
    )


def unknowns(exchanges: Iterable[Exchange]) -> Iterator[tuple[str, ...]]:
    """The different sets of what traces did not tell, each once."""
    yield from dict.fromkeys(one.derived for one in exchanges if one.derived is not None)


def served(answer: Response, recorded: Request, requested: Request) -> Response:
    """A recorded answer in the form in which the request wants it; as it is where it cannot be had in that."""
    reply = reply_of(answer, recorded)
    return (None if reply is None else answer_of(reply, requested)) or answer
