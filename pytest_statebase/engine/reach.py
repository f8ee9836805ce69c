"""Tools that the recording knows and no stub stands for: a function of that name would run live."""

from __future__ import annotations

import dis
import inspect
import json
import os
import sys
import sysconfig
from collections.abc import Container, Iterable, Iterator
from difflib import get_close_matches
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

from ..cassette import Cassette
from ..cassette.plan import tool_of
from ..errors import ToolError
from ..ledger import Ledger
from .agents import BoundAgent
from .finding import shadowed
from .holdings import Held, enclosed_in, held_in
from .inside import functions_of, inside, own_name
from .mcp_log import names_of, unstubbed_servers
from .tools import Tool, is_stubbed, original_code


def refuse_live_tools(cassette: Cassette, ledger: Ledger, tools: Iterable[Tool], agent: BoundAgent) -> frozenset[str]:
    """Make sure that the tools which recording and plan name are stubbed, before the agent is called at all.

    An agent that calls its tools through the parameter `tools` is answered by name and needs no function: of such a one
    only the functions that its own code calls are looked at.
    Returns the names for which there is neither stub nor function: a module imported later may bring one (`late`).
    Raises ToolError for a function of that name within reach of the agent that is not stubbed.
    """
    tools = list(tools)
    stubs = {tool.name for tool in tools}
    if "mcp:call_tool" in stubs:
        stubs |= names_of(ledger)
    elif "tools" not in agent.names:
        _refuse_servers(ledger, stubs)
    tools = [tool for tool in tools if tool.adapter is None]
    _refuse_shadowed(tools, agent)
    named = _named(cassette, ledger) - stubs
    if not named:
        return frozenset()
    entry = inspect.unwrap(getattr(agent.entry, "__func__", agent.entry))
    if "tools" in agent.names:
        _check(_called_by(entry), named)
        return frozenset()
    for module in _modules(tools, agent):
        check_module(module, named)
    _check(_held_by(entry, agent.target), named)
    return frozenset(named)


def check_module(module: ModuleType, named: Container[str]) -> None:
    """Raise ToolError where a module has a function under one of these names that is not stubbed."""
    _check(_functions(module), named)


def _check(functions: Iterable[tuple[str, tuple[str, ...], FunctionType]], named: Container[str]) -> None:
    for where, names, function in functions:
        name = next((name for name in names if name in named), None)
        if name is not None and not is_stubbed(function):
            raise ToolError(
                f"{name} is a tool of the recording, and {where} is not stubbed: the replay would run it live",
                remedy=f"Name it in `statebase_tools`: {where.partition('[')[0].partition(' (')[0]}",
            )


def _refuse_servers(ledger: Ledger, stubs: set[str]) -> None:
    servers = unstubbed_servers(ledger, stubs)
    if servers:
        raise ToolError(
            f"the session was recorded with MCP servers ({', '.join(servers)}), and `mcp` is none of the tools: "
            "the replay would start or reach them",
            remedy="Add `mcp` to `statebase_tools`.",
        )


def _refuse_shadowed(tools: Iterable[Tool], agent: BoundAgent) -> None:
    """Raise ToolError for an object in reach that calls something of its own in place of a stubbed method."""
    owners = {tool.owner: set[str]() for tool in tools if tool.owner is not None}
    for tool in tools:
        if tool.owner is not None:
            owners[tool.owner].add(tool.function.__name__)
    homes = {owner.__module__ for owner in owners}
    for name in (*homes, getattr(agent.entry, "__module__", None)) if owners else ():
        module = sys.modules.get(name or "")
        for held in held_in(vars(module), lambda _: False) if module is not None else ():
            names = set[str]().union(*(owners[base] for base in type(held.value).__mro__ if base in owners))
            found = shadowed(held.value, names.__contains__) if names else None
            own = None if found is None else inside(vars(held.value)[found])
            if found is not None and (own is None or not is_stubbed(own.function)):
                where = f"{name}:{held.place}.{found}"
                raise ToolError(
                    f"{where} is set on the object, in place of the tool {found}: the replay would run it live",
                    remedy=f"Name it in `statebase_tools` instead of the method of the class: {where}",
                )


def misspelt_tools(cassette: Cassette, ledger: Ledger, tools: Iterable[Tool]) -> list[str]:
    """Warnings for `not_called` rules that name a tool which nobody knows: they can never fail."""
    known = {call.tool for turn in ledger.turns for call in turn.calls} | {tool.name for tool in tools}
    known.update(answer.tool for answer in cassette.plan.answers)
    warnings = []
    for number, expect in cassette.plan.expect.items():
        for name in map(tool_of, expect.tools.not_called) if expect.tools is not None else ():
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                warnings.append(f"`not_called` of turn {number} names {name}, a tool that nobody knows{hint}")
    return warnings


def doubtful_moves(cassette: Cassette, tools: Iterable[Tool]) -> list[str]:
    """Warnings for a `was` that takes the recordings of a tool which is still there."""
    stubs = {tool.name for tool in tools}
    return [
        f"{name} takes over the recordings of {old} (`was`), which statebase_tools has as well"
        for name, rules in cassette.plan.tools.items()
        for old in rules.was
        if old in stubs
    ]


def texts_for_objects(ledger: Ledger, tools: Iterable[Tool]) -> list[str]:
    """Warnings for tools that are annotated to return an object and whose recorded results are JSON texts.

    Chat logs hold results as the text that the model saw; the agent's own code is then handed that text.
    """
    by_name = {tool.name: tool for tool in tools if _gives_objects(tool)}
    told: dict[str, str] = {}
    for turn in ledger.turns if by_name else ():
        for call in turn.calls:
            if call.tool in by_name and call.tool not in told and _is_json_text(call.result):
                told[call.tool] = (
                    f"{call.tool} is annotated to return an object, and its recorded results are JSON text; "
                    f"to hand the agent objects, say in statebase.yaml: tools: {{{call.tool}: {{result: json:loads}}}}"
                )
    return list(told.values())


def _gives_objects(tool: Tool) -> bool:
    annotation = tool.signature.return_annotation
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.strip("'\"").partition("[")[0] in ("dict", "list", "Dict", "List", "Mapping", "Sequence")


def _is_json_text(value: Any) -> bool:
    if not (isinstance(value, str) and value[:1] in ("{", "[")):
        return False
    try:
        json.loads(value)
    except ValueError:
        return False
    return True


def _named(cassette: Cassette, ledger: Ledger) -> set[str]:
    names = {call.tool for turn in ledger.turns for call in turn.calls}
    names.update(answer.tool for answer in cassette.plan.answers)
    for expect in cassette.plan.expect.values():
        if expect.tools is not None:
            names.update(map(tool_of, (*expect.tools.called, *expect.tools.not_called)))
    return names


def _modules(tools: Iterable[Tool], agent: BoundAgent) -> list[ModuleType]:
    """The modules of the agent and of its tools, and what these refer to, as far as it is the project's own code."""
    entry = inspect.unwrap(agent.entry)
    homes = [getattr(entry, "__module__", None), type(agent.target).__module__]
    pending = [home for home in (*homes, *(tool.function.__module__ for tool in tools)) if home]
    roots = {home.partition(".")[0] for home in pending}
    found: dict[str, ModuleType] = {}
    while pending:
        name = pending.pop()
        module = sys.modules.get(name)
        if module is None or name in found or not (name.partition(".")[0] in roots or is_own(module)):
            continue
        found[name] = module
        for value in list(vars(module).values()):
            pending += _homes(value, module)
    return list(found.values())


def _homes(value: Any, module: ModuleType) -> Iterator[str]:
    """The modules that a value of a module's namespace is, comes from, or imports when it is called."""
    if isinstance(value, ModuleType):
        yield value.__name__
    elif isinstance(value, (FunctionType, type)):
        yield value.__module__
        if value.__module__ == module.__name__:
            for held in [value] if isinstance(value, FunctionType) else list(vars(value).values()):
                if (found := inside(held)) is not None:
                    yield from _imported_by(original_code(found.function), module)


def _imported_by(code: CodeType, module: ModuleType) -> Iterator[str]:
    package = module.__package__ or ""
    for name in code.co_names:
        yield from (full for full in (name, f"{package}.{name}") if full in sys.modules and is_own(sys.modules[full]))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _imported_by(const, module)


_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def is_own(module: ModuleType) -> bool:
    """Whether a module is the project's: neither installed, nor Python's, nor ours."""
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not file.startswith((*_INSTALLED, _HERE, "<"))


_Functions: TypeAlias = Iterator[tuple[str, tuple[str, ...], FunctionType]]
"""Where it is, the names that it may have as a tool, and the function."""


def _functions(module: ModuleType) -> _Functions:
    """What the module holds that can be called."""
    home = module.__name__
    for held in held_in(vars(module), lambda function: function.__module__ == home and not is_stubbed(function)):
        if not held.depth and isinstance(held.value, type):
            for method, value in list(vars(held.value).items()) if held.value.__module__ == home else ():
                found = inside(value)
                if found is not None:
                    yield f"{home}:{held.name}.{method}", (found.function.__name__,), found.function
        else:
            yield from _callables(held, f"{home}:{held.place}")


def _callables(held: Held, where: str) -> _Functions:
    value, name = held.value, held.name
    if isinstance(value, FunctionType):
        yield where, (name, value.__name__), value
    elif not isinstance(value, type) and (callable(value) or own_name(value) is not None):
        for found in [one] if (one := inside(value)) is not None else functions_of(value):
            yield where, (name, own_name(value) or name, found.function.__name__), found.function


def _held_by(entry: Any, target: Any) -> _Functions:
    """What the agent itself holds: its attributes, and what its function encloses."""
    own = inspect.getattr_static(target, "__dict__", None) if not isinstance(target, FunctionType) else None
    helds = list(held_in(vars(target), lambda _: True)) if own is not None else []
    if isinstance(entry, FunctionType):
        enclosed = {held.name: held.value for held in enclosed_in(entry, "")}
        helds += held_in(enclosed, lambda function: not is_stubbed(function))
    for held in helds:
        for _, names, function in _callables(held, ""):
            yield f"{function.__module__}:{function.__qualname__} (the agent's {held.place})", names, function


def _called_by(entry: Any) -> _Functions:
    """The functions that an agent's code calls by their own names, rather than through its `tools`."""
    pending, seen = [entry], set()
    while pending:
        function = pending.pop()
        if not isinstance(function, FunctionType) or function in seen:
            continue
        seen.add(function)
        for name, value in _loaded_by(original_code(function), function.__globals__):
            if isinstance(value, FunctionType) and "tools" not in inspect.signature(value).parameters:
                yield f"{value.__module__}:{value.__qualname__}", (name, value.__name__), value
                pending += [value] if value.__module__ == function.__module__ else []


def _loaded_by(code: CodeType, namespace: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The globals that code names, and what it names of modules among them."""
    module: Any = None
    for instruction in dis.get_instructions(code):
        name, held = instruction.argval, None
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            held = namespace.get(name)
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and module is not None:
            held = vars(module).get(name)
        if held is not None:
            yield name, held
        module = held if isinstance(held, ModuleType) else None
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _loaded_by(const, namespace)
