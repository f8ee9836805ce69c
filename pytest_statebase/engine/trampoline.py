"""Code that stands in for a function's own: same parameters, same kind, and every call goes to a dispatcher."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

_PLACEHOLDER = "statebase: the dispatcher stands here"
_BODIES = {
    0: "        return dispatch_({call})\n",
    inspect.CO_COROUTINE: "        return await dispatch_({call})\n",
    inspect.CO_GENERATOR: "        return (yield from dispatch_({call}))\n",
    # An async generator cannot delegate: what is sent, thrown or closed is handed on step by step. The event loop does
    # not get to know of the one inside: when it ends, it would close both at once, which neither allows.
    inspect.CO_ASYNC_GENERATOR: """
        import sys as sys_
        stream_ = dispatch_({call})
        hooks_ = sys_.get_asyncgen_hooks()
        sys_.set_asyncgen_hooks(None, None)
        try:
            step_ = stream_.__anext__()
        finally:
            sys_.set_asyncgen_hooks(*hooks_)
        try:
            item_ = await step_
            while True:
                try:
                    sent_ = yield item_
                except GeneratorExit:
                    await stream_.aclose()
                    raise
                except BaseException as error_:
                    item_ = await stream_.athrow(error_)
                else:
                    item_ = await stream_.asend(sent_)
        except StopAsyncIteration:
            return
""",
}
_KINDS = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def kind_of(code: CodeType) -> int:
    """CO_COROUTINE, CO_GENERATOR, CO_ASYNC_GENERATOR, or 0 for a plain function."""
    return code.co_flags & _KINDS


def trampoline(code: CodeType, dispatcher: Callable[..., Any], *, is_method: bool) -> CodeType:
    """Code with the parameters, flags and free variables of `code` that hands every call to `dispatcher`.

    It is called with the arguments by parameter name (without `self` where `is_method`), then with positional and
    keyword arguments as they would be passed on.
    """
    if code.co_flags & inspect.CO_VARKEYWORDS and (taken := _unnamed(code, is_method)):
        dispatcher = _kept_apart(dispatcher, _stars(code), taken)
    template = _compile(code, is_method)
    consts = tuple(dispatcher if const == _PLACEHOLDER else const for const in template.co_consts)
    return template.replace(co_consts=consts)


def kept_apart(named: dict[str, Any], extra: dict[str, Any], stars: str, taken: frozenset[str]) -> dict[str, Any]:
    """`named` with `extra`, which a call passed for the parameter `**stars`.

    taken: names of parameters that no keyword reaches. What `extra` has under these is another argument, and stands
    under `"**stars"`.
    """
    own = f"**{stars}"
    hidden = {name: value for name, value in extra.items() if name in taken or name == own} if taken else {}
    if not hidden:
        return named | extra
    return named | {name: value for name, value in extra.items() if name not in hidden} | {own: hidden}


def _kept_apart(dispatcher: Callable[..., Any], stars: str, taken: frozenset[str]) -> Callable[..., Any]:
    def dispatch(named: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return dispatcher(kept_apart(named, named.pop(f"**{stars}"), stars, taken), args, kwargs)

    return dispatch


def _stars(code: CodeType) -> str:
    """The name of the parameter that takes any keyword."""
    return code.co_varnames[code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)]


def _unnamed(code: CodeType, is_method: bool) -> frozenset[str]:
    """The parameters that no keyword reaches."""
    found = list(code.co_varnames[1 if is_method else 0 : code.co_posonlyargcount])
    if code.co_flags & inspect.CO_VARARGS:
        found.append(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    return frozenset(found)


def _compile(code: CodeType, is_method: bool) -> CodeType:
    names = code.co_varnames
    positional = list(names[: code.co_argcount])
    keyword = list(names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
    rest = iter(names[code.co_argcount + code.co_kwonlyargcount :])
    star = next(rest) if code.co_flags & inspect.CO_VARARGS else None
    stars = next(rest) if code.co_flags & inspect.CO_VARKEYWORDS else None
    free = "; ".join(code.co_freevars)
    kind = kind_of(code)
    keeps_async = kind in (inspect.CO_COROUTINE, inspect.CO_ASYNC_GENERATOR)
    parameters = _parameters(code, positional, keyword, star, stars)
    source = (
        "def factory():\n"
        + "".join(f"    {name} = None\n" for name in code.co_freevars)
        + f"    {'async ' if keeps_async else ''}def trampoline({parameters}):\n"
        + f"        dispatch_ = {_PLACEHOLDER!r}\n"
        + (f"        if 0: {free}\n" if free else "")
        + _BODIES[kind].format(call=_call(positional, keyword, star, stars, is_method, _unnamed(code, is_method)))
    )
    factory = next(
        const for const in compile(source, code.co_filename, "exec").co_consts if isinstance(const, CodeType)
    )
    inner = next(const for const in factory.co_consts if isinstance(const, CodeType))
    return inner.replace(co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno)


def _call(
    positional: list[str],
    keyword: list[str],
    star: str | None,
    stars: str | None,
    is_method: bool,
    unnamed: frozenset[str],
) -> str:
    shown = [f"{name!r}: {name}" for name in positional[1 if is_method else 0 :] + keyword]
    if star:
        shown.append(f"{star!r}: list({star}{'[1:]' if is_method and not positional else ''})")
    if stars:
        shown.append(f"'**{stars}': {stars}" if unnamed else f"**{stars}")
    named = ", ".join(shown)
    args = "".join(f"{name}, " for name in [*positional, f"*{star}"][: None if star else -1])
    kwargs = ", ".join([f"{name!r}: {name}" for name in keyword] + ([f"**{stars}"] if stars else []))
    return f"{{{named}}}, ({args}), {{{kwargs}}}"


def _parameters(code: CodeType, positional: list[str], keyword: list[str], star: str | None, stars: str | None) -> str:
    parts = positional[: code.co_posonlyargcount]
    if parts:
        parts = [*parts, "/"]
    parts = parts + positional[code.co_posonlyargcount :]
    if star or keyword:
        parts = [*parts, f"*{star or ''}", *keyword]
    return ", ".join([*parts, f"**{stars}"] if stars else parts)


def twin(function: FunctionType, code: CodeType) -> FunctionType:
    """A function like `function` that runs `code`, the code that a stub replaced."""
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    return made
