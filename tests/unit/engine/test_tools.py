"""Tools are found by name and reached wherever the agent holds them; everything about the function stays."""

from __future__ import annotations

import asyncio
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from pytest_statebase.engine.tools import Tool, current, find_tools, stubbed
from pytest_statebase.errors import ToolError, UnrecordedCall

SOURCE = '''
import functools
LIVE = []

def look(order: str, /, depth: int = 1, *rest, flag: bool = False, **more) -> dict:
    """Look an order up."""
    LIVE.append(order)
    return {"order": order}

async def fetch(order: str) -> dict:
    LIVE.append(order)
    return {"order": order}

def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        LIVE.append("wrapper")
        return function(*args, **kwargs)
    return wrapper

@logged
def pay(amount, currency="EUR"):
    LIVE.append(amount)

def _private(): ...

def stream():
    yield 1

class Shop:
    def refund(self, order): LIVE.append(order)
    @classmethod
    def named(cls, order): LIVE.append(order)
    @staticmethod
    def checked(order): LIVE.append(order)

cached = functools.lru_cache(pay)
partial = functools.partial(pay, 1)
'''


class Echo:
    """A handler that answers with the call itself."""

    def call(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        return (tool.name, arguments)

    async def call_async(self, tool: Tool, arguments: dict[str, Any], live: Callable[[], Any]) -> Any:
        return (tool.name, arguments)


@pytest.fixture
def module() -> Iterator[Any]:
    made = ModuleType("shop_tools")
    sys.modules["shop_tools"] = made
    exec(compile(SOURCE, "shop_tools.py", "exec"), made.__dict__)
    yield made
    del sys.modules["shop_tools"]


NAMES = [
    "shop_tools:look",
    "shop_tools:fetch",
    "shop_tools:pay",
    *(f"shop_tools:Shop.{n}" for n in ("refund", "named", "checked")),
]


def test_every_way_to_hold_a_function_reaches_the_stub(module: Any) -> None:
    registry = {"look": module.look}
    bound, later = module.Shop().refund, functools.partial(module.pay, 3)
    with stubbed(find_tools(NAMES)), current(Echo()):
        assert registry["look"]("A", 2, 7, flag=True, x=1) == (
            "look",
            {"depth": 2, "rest": [7], "flag": True, "x": 1, "order": "A"},
        )
        assert module.look("A") == ("look", {"order": "A"})
        assert bound("B") == ("refund", {"order": "B"})
        assert module.Shop.named("C") == ("named", {"order": "C"})
        assert module.Shop.checked(order="D") == ("checked", {"order": "D"})
        assert later() == module.pay(amount=3, currency="EUR") == ("pay", {"amount": 3})
        assert asyncio.run(module.fetch("E")) == ("fetch", {"order": "E"})
    assert module.LIVE == []


def test_shape_and_original_are_kept(module: Any) -> None:
    functions = [module.look, module.fetch, module.pay, module.Shop.refund]
    before = [
        (f.__code__, inspect.signature(f), f.__doc__, f.__name__, inspect.iscoroutinefunction(f)) for f in functions
    ]
    with stubbed(find_tools(NAMES)), current(Echo()):
        during = [(inspect.signature(f), f.__doc__, f.__name__, inspect.iscoroutinefunction(f)) for f in functions]
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            module.look()
    assert during == [one[1:] for one in before]
    assert [f.__code__ for f in functions] == [one[0] for one in before]
    module.look("live")
    assert module.LIVE == ["live"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_originals_are_restored_after_any_ending(module: Any, error: type[BaseException]) -> None:
    code = module.look.__code__
    with pytest.raises(error), stubbed(find_tools(NAMES)):
        raise error
    assert module.look.__code__ is code


def test_nested_replays_restore_once(module: Any) -> None:
    code = module.look.__code__
    tools = find_tools(NAMES)
    with stubbed(tools):
        with stubbed(find_tools(NAMES)), current(Echo()):
            assert module.look("A") == ("look", {"order": "A"})
        assert module.look.__code__ is not code
    assert module.look.__code__ is code


def test_bare_threads_find_the_only_replay_and_nobody_runs_live_outside(module: Any) -> None:
    got: list[Any] = []

    def work() -> None:
        try:
            got.append(module.look("A"))
        except UnrecordedCall as error:
            got.append(str(error))

    with stubbed(find_tools(NAMES)):
        for handlers in (1, 0):
            with current(Echo()) if handlers else current_nothing():
                thread = threading.Thread(target=work)
                thread.start()
                thread.join()
    assert got[0] == ("look", {"order": "A"})
    assert "called outside of any replay" in got[1]
    assert module.LIVE == []


def current_nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


def test_star_means_public_functions_defined_there(module: Any) -> None:
    module.borrowed = inspect.cleandoc
    assert sorted(tool.name for tool in find_tools(["shop_tools:*"])) == ["fetch", "logged", "look", "pay", "stream"]
    assert [tool.name for tool in find_tools(["shop_tools:l*k"])] == ["look"]
    assert [tool.name for tool in find_tools(["shop_tools.look", "shop_tools:look"])] == ["look"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("shop_tools:lok", "has no 'lok'"),
        ("shop_tools:x*", "matches nothing"),
        ("shop_tools:LIVE", r"the registry shop_tools:LIVE \(from 'shop_tools:LIVE'\) is empty"),
        ("shop_tools:functools", "is a module, which cannot be stubbed"),
        ("no_such_module:look", "does not import"),
        ("look", "names no module"),
    ],
)
def test_what_cannot_be_reached_fails_by_name(module: Any, pattern: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        find_tools([pattern])


def test_two_tools_of_one_name_are_refused(module: Any) -> None:
    module.Shop.look = lambda self: None
    module.Shop.look.__name__ = "look"
    with pytest.raises(ToolError, match="two tools are called 'look'"):
        find_tools(["shop_tools:look", "shop_tools:Shop.look"])
