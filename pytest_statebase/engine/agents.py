"""The agent under test: what it may be, what it is handed, and what it may answer."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import AgentError
from ..values import ABSENT, fields_of
from .asked import Entry, entry_of, whole
from .tools import import_remedy

PARAMETERS = ("session_id", "user_input", "state", "history", "messages", "tools", "statebase", "turn")
"""What an agent can ask for by naming a parameter so."""
ENTRY_POINTS = ("run", "arun", "invoke", "ainvoke")
"""By which an object is called that cannot be called itself."""
OUTPUT_TYPES = ("text", "data", "error", "audio", "image", "tool_result", "tool_response")
"""Of contents that are replies as they stand; any other mapping is data."""
_MEMORY = frozenset({"state", "history", "messages", "statebase"})


@dataclass(frozen=True, slots=True)
class AgentReply:
    """A reply with more than its output.

    output: text or a mapping; left out where the agent gives none.
    state: the whole new state, which replaces the old one; left out where it stays.
    """

    output: Any = ABSENT
    state: Any = ABSENT
    reasoning: str | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """Something that replays can call, with a name for messages and results."""

    source: Any
    """A function, a class (instantiated for every replay) or an object."""
    name: str

    def fresh(self) -> BoundAgent:
        """The agent for one replay.

        Raises AgentError where it cannot be called or asks for what nobody can hand it.
        """
        target = self.source
        if isinstance(target, type):
            try:
                target = target()
            except Exception as error:
                raise AgentError(
                    f"the agent {self.name} cannot be instantiated: {type(error).__name__}: {error}",
                    remedy="A class is instantiated without arguments for every replay; a function will do too.",
                ) from error
        entry = _entry_point(target, self.name)
        asked = entry_of(entry)
        names, alone = _parameters(entry, asked, self.name)
        return BoundAgent(target, entry, names, alone, asked)


@dataclass(frozen=True, slots=True)
class BoundAgent:
    """One agent object with the entry point and the parameters that were found."""

    target: Any
    entry: Callable[..., Any]
    names: tuple[str, ...]
    """The known names that it asks for."""
    takes_input: bool
    """No known name: its one parameter gets the input, by position."""
    asked: Entry

    def call(self, offered: Mapping[str, Callable[[], Any]]) -> Any:
        """Call the agent with what it asks for. A stream is read to its end; an async agent gives an awaitable."""
        if self.takes_input:
            return whole(self.entry(offered["user_input"]()), self.asked)
        own = {known: name for name, known in self.asked.names.items()}
        return whole(self.entry(**{own.get(name, name): offered[name]() for name in self.names}), self.asked)

    @property
    def keeps_memory_itself(self) -> bool:
        """It is handed neither history nor state and cannot be told them."""
        return not (_MEMORY.intersection(self.names) or hasattr(self.target, "restore"))


def as_agent(source: Any) -> Agent:
    """An agent from an object or from `module:attribute`.

    Raises AgentError where the name does not import or what it names cannot be called.
    """
    if isinstance(source, Agent):
        return source
    if isinstance(source, str):
        return Agent(import_attribute(source, what="agent"), source)
    if source is None:
        raise AgentError("there is no agent to replay against", remedy=HOW_TO_NAME_AN_AGENT)
    name = getattr(source, "__qualname__", None) or type(source).__qualname__
    module = getattr(source, "__module__", None) or type(source).__module__
    return Agent(source, f"{module}:{name}")


HOW_TO_NAME_AN_AGENT = (
    "Name it with --statebase-agent module:attribute, the ini key statebase_agent, the fixture statebase_agent or the "
    "hook pytest_statebase_agent."
)


def import_attribute(name: str, *, what: str) -> Any:
    """What `module:attribute` names.

    what: the word for messages, such as `agent`. Raises AgentError where it cannot be imported.
    """
    module_name, colon, path = name.partition(":")
    if not colon or not module_name or not path:
        raise AgentError(f"{name!r} names no {what}", remedy="Write module:attribute, such as myapp.support:answer.")
    try:
        value: Any = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        found = f"the {what} {name!r} does not import: {type(error).__name__}: {error}"
        raise AgentError(found, remedy=import_remedy(error)) from error
    for part in path.split("."):
        if not hasattr(value, part):
            raise AgentError(f"the {what} {name!r} does not exist: {module_name} has no {path!r}")
        value = getattr(value, part)
    return value


def _entry_point(target: Any, name: str) -> Callable[..., Any]:
    if callable(target):
        return target  # type: ignore[no-any-return]
    for method in ENTRY_POINTS:
        found = getattr(target, method, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    raise AgentError(
        f"the agent {name} is not callable: it is a {type(target).__name__}",
        remedy="An agent is a function, a class or an object that can be called or has run, arun, invoke or ainvoke.",
    )


def _parameters(entry: Callable[..., Any], asked: Entry, name: str) -> tuple[tuple[str, ...], bool]:
    try:
        parameters = list(inspect.signature(entry).parameters.values())
    except (TypeError, ValueError):
        return (), True
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    names = {p.name: asked.names.get(p.name, p.name) for p in named}
    known = tuple(name for name in names.values() if name in PARAMETERS)
    required = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    unknown = [p.name for p in required if names.get(p.name) not in known]
    if known and not unknown:
        return known, False
    if not known and (len(unknown) == 1 or (not unknown and _takes_one(parameters))):
        return (), True
    if not known and not unknown:
        return (), False
    raise AgentError(
        f"the agent {name} asks for {', '.join(map(repr, unknown))}, which a replay cannot hand it",
        remedy=f"It can ask for {', '.join(PARAMETERS)} by name, or take the input as its one parameter.",
    )


def _takes_one(parameters: list[inspect.Parameter]) -> bool:
    first = parameters[0] if parameters else None
    return first is not None and first.kind in (
        first.VAR_POSITIONAL,
        first.POSITIONAL_ONLY,
        first.POSITIONAL_OR_KEYWORD,
    )


def as_reply(value: Any, name: str) -> AgentReply:
    """What an agent returned, as an AgentReply whose output is `{type, content}` or ABSENT.

    Text, mappings, dataclasses, pydantic models and AgentReply are replies; raises AgentError for anything else.
    """
    if isinstance(value, AgentReply):
        if value.output is ABSENT or value.output is None:
            return AgentReply(ABSENT, value.state, value.reasoning, value.metadata)
        return AgentReply(_content(value.output, name), value.state, value.reasoning, value.metadata)
    return AgentReply(_content(value, name))


def _content(value: Any, name: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"type": "text", "content": value}
    if isinstance(value, Mapping):
        if value.get("type") in OUTPUT_TYPES:
            return dict(value)
        return {"type": "data", "content": dict(value)}
    if not isinstance(value, type):
        fields = fields_of(value)
        if fields is not None:
            return {"type": "data", "content": {key: _plain(item) for key, item in fields.items()}}
    raise AgentError(
        f"the agent {name} returned {'nothing' if value is None else f'a {type(value).__name__}'}, which is no reply",
        remedy="A reply is text, a mapping, a dataclass, a pydantic model or an AgentReply. An agent that returns "
        "nothing replies with the output that it gives to StateBase's add_turn.",
    )


def _plain(value: Any) -> Any:
    if isinstance(value, type):
        return value
    fields = fields_of(value)
    if fields is not None:
        return {key: _plain(item) for key, item in fields.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def is_awaitable(value: Any) -> bool:
    """Whether a reply must be awaited first."""
    return isinstance(value, Awaitable)


def loop_is_running() -> bool:
    """Whether this thread is inside an asyncio or trio event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio = sys.modules.get("trio")
        return bool(trio is not None and trio.lowlevel.in_trio_run())
    return True
