"""The tools of an agent: found by name, and reached wherever the agent holds them.

A tool is stubbed by exchanging the code of the function object itself, so that every place that holds the function
(its module, `from tools import f`, registries, partials, bound methods) reaches the stub, whatever was imported when.
Name, signature, defaults, annotations, documentation and being async belong to the function object and stay.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol

from ..errors import ToolError, UnrecordedCall

_CONTEXT_NAMES = frozenset({"self", "cls", "ctx", "context", "run_context", "tool_context", "runtime"})
_PLAIN = (str, int, float, bool, bytes, type(None), dict, list, tuple, set, frozenset)


class Handler(Protocol):
    """What answers the calls of stubbed tools while it is current: a replay or a recording."""

    def call(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any: ...

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any: ...


_current: ContextVar[Handler | None] = ContextVar("statebase_replay", default=None)
_active: list[Handler] = []
_lock = threading.RLock()


@contextmanager
def current(handler: Handler) -> Iterator[None]:
    """Have `handler` answer the calls of stubbed tools that are made inside."""
    token = _current.set(handler)
    with _lock:
        _active.append(handler)
    try:
        yield
    finally:
        with _lock:
            _active.remove(handler)
        _current.reset(token)


def _handler(tool: Tool) -> Handler:
    found = _current.get()
    if found is not None:
        return found
    # Bare threads and executors do not inherit the context; where only one replay runs, it is theirs.
    with _lock:
        if len({id(handler) for handler in _active}) == 1:
            return _active[0]
    raise UnrecordedCall(f"{tool.name} was called outside of any replay; a stubbed tool never runs live by accident")


@dataclass(eq=False, slots=True)
class Tool:
    """One function that the agent calls as a tool."""

    name: str
    """As it stands in recordings: the function's own name."""
    function: FunctionType
    where: str
    """`module:qualified.name`, for messages."""
    is_method: bool = False
    """The first parameter is `self` or `cls` and no argument of the call."""
    is_async: bool = False
    signature: inspect.Signature = field(init=False)
    _defaults: dict[str, Any] = field(init=False)
    _wraps: bool = field(init=False)
    _stub: tuple[CodeType, CodeType] | None = field(init=False, default=None)
    """The code that was stubbed last and the code that stubs it."""

    def __post_init__(self) -> None:
        self.signature = inspect.signature(self.function)
        parameters = list(self.signature.parameters.values())[1 if self.is_method else 0 :]
        self.signature = self.signature.replace(parameters=parameters)
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._defaults |= {p.name: [] for p in parameters if p.kind is p.VAR_POSITIONAL}
        self._wraps = hasattr(self.function, "__wrapped__")

    def bind(self, named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The call's arguments by parameter name: positional equals keyword; what equals its default is left out."""
        if self._wraps:
            bound = self.signature.bind(*args[1 if self.is_method else 0 :], **kwargs)
            named = dict(bound.arguments)
            named = self._flatten(named)
        return self.canonical({name: value for name, value in named.items() if not _is_context(name, value)})

    def _flatten(self, named: dict[str, Any]) -> dict[str, Any]:
        for parameter in self.signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                named |= named.pop(parameter.name, {})
            elif parameter.kind is parameter.VAR_POSITIONAL and parameter.name in named:
                named[parameter.name] = list(named[parameter.name])
        return named

    def canonical(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """`arguments` without those that equal their default."""
        for name, default in self._defaults.items():
            if name in arguments:
                value = arguments[name]
                if value is default or (type(value) is type(default) and value == default):
                    arguments = {key: item for key, item in arguments.items() if key != name}
        return arguments


def _is_context(name: str, value: Any) -> bool:
    """Whether an argument is the machinery of a framework rather than something the model chose."""
    return name in _CONTEXT_NAMES and not isinstance(value, _PLAIN)


# --- finding -----------------------------------------------------------------------------------------------------


def find_tools(patterns: Iterable[str]) -> list[Tool]:
    """The tools that `patterns` name: `module:name`, `module:Class.method`, `module:*`.

    A pattern takes the public functions that the module defines.

    Raises ToolError where a pattern matches nothing or a tool that cannot be stubbed.
    """
    found: dict[int, Tool] = {}
    for pattern in patterns:
        for tool in _find(pattern.strip()):
            found.setdefault(id(tool.function), tool)
    by_name: dict[str, Tool] = {}
    for tool in found.values():
        other = by_name.setdefault(tool.name, tool)
        if other is not tool:
            raise ToolError(
                f"two tools are called {tool.name!r}: {other.where} and {tool.where}",
                remedy="Recordings tell tools apart by name: name one of them only in `statebase_tools`.",
            )
    return list(found.values())


def _find(pattern: str) -> list[Tool]:
    module, rest = _import(pattern)
    if "*" in rest or "?" in rest or "[" in rest:
        tools = [
            _tool(pattern, module, name, value)
            for name, value in vars(module).items()
            if not name.startswith("_") and fnmatch.fnmatchcase(name, rest) and _defined_in(module, value)
        ]
        if not tools:
            raise ToolError(
                f"the tool pattern {pattern!r} matches nothing",
                remedy=f"{module.__name__} defines no such public function; name the module that defines the tools.",
            )
        return tools
    return [_resolve(pattern, module, rest)]


def _import(pattern: str) -> tuple[ModuleType, str]:
    if ":" in pattern:
        name, rest = pattern.split(":", 1)
        return _import_module(pattern, name), rest
    parts = pattern.split(".")
    for size in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:size])
        if _is_module(name):
            return _import_module(pattern, name), ".".join(parts[size:])
    raise ToolError(f"the tool {pattern!r} names no module", remedy="Write `module:function` or `module:*`.")


def _is_module(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _import_module(pattern: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise ToolError(
            f"the tool pattern {pattern!r} does not import: {type(error).__name__}: {error}",
            remedy="Is the module's directory on the path (pytest's ini `pythonpath`)?",
        ) from error


def _defined_in(module: ModuleType, value: Any) -> bool:
    if isinstance(value, (type, ModuleType)) or not callable(value):
        return False
    inner = inspect.unwrap(value)
    return isinstance(inner, FunctionType) and inner.__module__ == module.__name__


def _resolve(pattern: str, module: ModuleType, rest: str) -> Tool:
    holder: Any = module
    value: Any = module
    for part in rest.split("."):
        holder = value
        value = inspect.getattr_static(holder, part, None)
        if value is None:
            raise ToolError(
                f"the tool {pattern!r} does not exist: {getattr(holder, '__name__', holder)} has no {part!r}",
                remedy="Write `module:function`, `module:Class.method` or `module:*`.",
            )
    return _tool(pattern, holder, rest, value)


def _tool(pattern: str, holder: Any, name: str, value: Any) -> Tool:
    is_method = isinstance(holder, type) and not isinstance(value, staticmethod)
    function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    where = f"{getattr(holder, '__module__', None) or holder.__name__}:{name}"
    if not isinstance(function, FunctionType):
        raise ToolError(
            f"the tool {where} (from {pattern!r}) is a {type(function).__name__}, which cannot be stubbed",
            remedy="Name the function that it wraps or calls; functions, async functions and methods can be stubbed.",
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolError(
            f"the tool {where} (from {pattern!r}) is a generator function, which cannot be stubbed",
            remedy="Name the function that collects what it yields.",
        )
    return Tool(function.__name__, function, where, is_method, inspect.iscoroutinefunction(function))


# --- reaching ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Patch:
    code: CodeType
    count: int = 0


_patches: dict[FunctionType, _Patch] = {}


@contextmanager
def stubbed(tools: Iterable[Tool]) -> Iterator[None]:
    """Have the current handler answer every call of `tools` made inside; the functions are restored afterwards."""
    done: list[FunctionType] = []
    try:
        with _lock:
            for tool in tools:
                _install(tool)
                done.append(tool.function)
        yield
    finally:
        with _lock:
            for function in done:
                _restore(function)


def _install(tool: Tool) -> None:
    patch = _patches.get(tool.function)
    if patch is None:
        patch = _patches[tool.function] = _Patch(tool.function.__code__)
        if tool._stub is None or tool._stub[0] is not patch.code:
            tool._stub = (patch.code, _trampoline(tool))
        tool.function.__code__ = tool._stub[1]
    patch.count += 1


def _restore(function: FunctionType) -> None:
    patch = _patches[function]
    patch.count -= 1
    if not patch.count:
        function.__code__ = patch.code
        del _patches[function]


_PLACEHOLDER = "statebase: the dispatcher stands here"


def _trampoline(tool: Tool) -> CodeType:
    """Code with the parameters, flags and free variables of the tool's own that hands every call to the dispatcher."""
    code = tool.function.__code__
    template = _compile(code, tool)
    consts = tuple(_dispatcher(tool) if const == _PLACEHOLDER else const for const in template.co_consts)
    return template.replace(co_consts=consts)


def _compile(code: CodeType, tool: Tool) -> CodeType:
    names = code.co_varnames
    positional = list(names[: code.co_argcount])
    keyword = list(names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    rest = iter(names[code.co_argcount + code.co_kwonlyargcount :])
    star = next(rest) if code.co_flags & inspect.CO_VARARGS else None
    stars = next(rest) if code.co_flags & inspect.CO_VARKEYWORDS else None
    shown = [f"{name!r}: {name}" for name in positional[1 if tool.is_method else 0 :] + keyword]
    if star:
        shown.append(f"{star!r}: list({star})")
    named = ", ".join([*shown, f"**{stars}"] if stars else shown)
    args = "".join(f"{name}, " for name in [*positional, f"*{star}"][: None if star else -1])
    kwargs = ", ".join([f"{name!r}: {name}" for name in keyword] + ([f"**{stars}"] if stars else []))
    free = "; ".join(code.co_freevars)
    parameters = _parameters(code, positional, keyword, star, stars)
    source = (
        "def factory():\n"
        + "".join(f"    {name} = None\n" for name in code.co_freevars)
        + f"    {'async ' if tool.is_async else ''}def trampoline({parameters}):\n"
        + f"        dispatch_ = {_PLACEHOLDER!r}\n"
        + (f"        if 0: {free}\n" if free else "")
        + f"        return {'await ' if tool.is_async else ''}dispatch_({{{named}}}, ({args}), {{{kwargs}}})\n"
    )
    factory = next(
        const for const in compile(source, code.co_filename, "exec").co_consts if isinstance(const, CodeType)
    )
    inner = next(const for const in factory.co_consts if isinstance(const, CodeType))
    return inner.replace(co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno)


def _parameters(code: CodeType, positional: list[str], keyword: list[str], star: str | None, stars: str | None) -> str:
    parts = positional[: code.co_posonlyargcount]
    if parts:
        parts = [*parts, "/"]
    parts = parts + positional[code.co_posonlyargcount :]
    if star or keyword:
        parts = [*parts, f"*{star or ''}", *keyword]
    return ", ".join([*parts, f"**{stars}"] if stars else parts)


def _original(tool: Tool) -> FunctionType:
    """A twin of the tool's function that runs the code which the stub replaced."""
    function = tool.function
    code = _patches[function].code
    twin = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__dict__.update(function.__dict__)
    return twin


def _dispatcher(tool: Tool) -> Callable[..., Any]:
    original = _original(tool)

    def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = tool.bind(named, args, kwargs)
        return _handler(tool).call(tool, arguments, lambda: original(*args, **kwargs))

    async def dispatch_async(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = tool.bind(named, args, kwargs)
        return await _handler(tool).call_async(tool, arguments, lambda: original(*args, **kwargs))

    return dispatch_async if tool.is_async else dispatch


class ToolCaller:
    """Handed to an agent as `tools`: every tool of the session by name, whether Python knows it or not.

    `tools.lookup_order(order_id="1047")`, `tools["lookup_order"](order_id="1047")`, `tools.call("lookup_order", {…})`.
    """

    __slots__ = ("_call",)

    def __init__(self, call: Callable[[str, Mapping[str, Any]], Any]) -> None:
        self._call = call

    def call(self, name: str, arguments: Mapping[str, Any] | Any) -> Any:
        """Call tool `name`; returns the recorded result or raises the recorded error."""
        return self._call(name, arguments)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return lambda **arguments: self._call(name, arguments)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]
