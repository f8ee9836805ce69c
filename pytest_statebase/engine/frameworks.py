"""Where the objects of agent frameworks keep their tools. None of the frameworks is imported here."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from types import FunctionType
from typing import Any

from .acting import acting_as

_PACKAGES = frozenset({"pydantic_ai", "agents", "langchain", "langchain_core", "langgraph", "langchain_community"})
_HOLDERS = (
    "_function_toolset", "_user_toolsets", "toolsets", "wrapped", "tools_by_name", "tools", "nodes", "bound",
)  # fmt: skip
"""Where agents, toolsets and graphs keep tools, or what keeps them."""
_DEPTH = 6
_INJECTED = re.compile(
    r"\b(Injected(ToolArg|ToolCallId|State|Store)|RunnableConfig|ToolRuntime|RunContext|RunContextWrapper|ToolContext"
    r"|(Async)?CallbackManager\w*)\b"
)
"""Types of parameters that the framework fills in, not the model."""


def tools_within(value: Any) -> list[tuple[str | None, Any]] | None:
    """The tools of an agent, a toolset or a graph of a framework, with the names that it has for them.

    None for anything else.
    """
    if not _is_of_framework(value) or _is_tool(value) or all(_own(value, name) is None for name in _HOLDERS):
        return None
    return list(_walk(value, _DEPTH, set()))


def _walk(value: Any, depth: int, seen: set[int]) -> Iterator[tuple[str | None, Any]]:
    if not depth or id(value) in seen or not _is_of_framework(value):
        return
    seen.add(id(value))
    for name in _HOLDERS:
        held = _own(value, name)
        if isinstance(held, Mapping):
            entries: Iterable[tuple[Any, Any]] = list(held.items())
        elif isinstance(held, (list, tuple)):
            entries = [(None, entry) for entry in held]
        else:
            entries = [] if held is None else [(None, held)]
        for key, entry in entries:
            if name in ("tools", "tools_by_name"):
                yield (key if isinstance(key, str) else None), entry
            else:
                yield from _walk(entry, depth - 1, seen)


def _own(value: Any, name: str) -> Any:
    try:
        held = getattr(value, name, None)
    except Exception:  # a property of a stranger may raise anything
        return None
    return None if callable(held) and not _is_of_framework(held) else held


def _is_of_framework(value: Any) -> bool:
    roots = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    found = roots & _PACKAGES
    # `agents` is what people call packages of their own as well.
    return bool(found) and (found != {"agents"} or hasattr(sys.modules.get("agents"), "FunctionTool"))


def _is_tool(value: Any) -> bool:
    return any(base.__name__ == "BaseTool" for base in type(value).__mro__)


def injected(function: FunctionType) -> frozenset[str]:
    """The parameters that a framework fills in, by their annotations: a run's context, its configuration, its state."""
    return frozenset(
        name for name, annotation in function.__annotations__.items() if _is_injected(_text(function, annotation))
    )


def _is_injected(text: str) -> bool:
    return _INJECTED.search(text) is not None and "Callable" not in text


def _text(function: FunctionType, annotation: Any) -> str:
    if isinstance(annotation, str) and annotation.isidentifier():
        annotation = function.__globals__.get(annotation, annotation)
    return getattr(annotation, "__qualname__", None) or str(annotation)


def is_invoker(value: Any) -> bool:
    """Whether this is a function tool of openai-agents."""
    return _is_of_framework(value) and hasattr(value, "on_invoke_tool")


def invoked(invoker: Any) -> tuple[FunctionType | None, Any]:
    """What an openai-agents tool calls, and the function inside of it that does the work (None: there is none)."""
    outer = getattr(invoker, "_invoke_tool_impl", invoker)
    return (outer, _enclosed(outer, 3)) if isinstance(outer, FunctionType) else (None, None)


def _enclosed(function: FunctionType, depth: int) -> Any:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if "the_func" in cells:
        return cells["the_func"].cell_contents
    inner = (cell.cell_contents for cell in cells.values() if depth and cell != type(cell)())
    found = (_enclosed(one, depth - 1) for one in inner if isinstance(one, FunctionType))
    return next((one for one in found if one is not None), None)


def naming_the_agent(original: FunctionType) -> Callable[..., Any]:
    """For what calls a tool of openai-agents: calls made inside carry the name of the agent that acts."""

    async def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        context = args[0] if args else next(iter(kwargs.values()), None)
        agent = getattr(getattr(context, "agent", None), "name", None)
        with acting_as(agent) if isinstance(agent, str) else nullcontext():
            return await original(*args, **kwargs)

    return dispatch
