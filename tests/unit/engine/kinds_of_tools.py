"""One tool of every kind. Each says in LIVE that it ran."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from pytest_statebase import tool as marked

LIVE: list[str] = []


def ran(name: str) -> None:
    LIVE.append(name)


def plain(order: str, depth: int = 1) -> dict[str, Any]:
    """Look an order up."""
    ran("plain")
    return {"order": order, "depth": depth}


async def later(order: str) -> dict[str, Any]:
    """Look an order up, slowly."""
    ran("later")
    await asyncio.sleep(0)
    return {"order": order}


def chunks(order: str, count: int = 3) -> Iterator[str]:
    """Read an order out."""
    ran("chunks")
    for number in range(count):
        yield f"{order}-{number}"


async def chunks_later(order: str, count: int = 3) -> AsyncIterator[str]:
    """Read an order out, slowly."""
    ran("chunks_later")
    for number in range(count):
        await asyncio.sleep(0)
        yield f"{order}-{number}"


class Shop:
    """A class whose public methods are tools."""

    def __init__(self, name: str) -> None:
        self.name_of_shop = name

    def refund(self, order: str) -> str:
        ran("refund")
        return f"{self.name_of_shop} refunds {order}"

    @classmethod
    def named(cls, order: str) -> str:
        ran("named")
        return f"{cls.__name__} {order}"

    @staticmethod
    def checked(order: str) -> str:
        ran("checked")
        return f"checked {order}"

    async def ship(self, order: str) -> str:
        ran("ship")
        return f"shipped {order}"

    def read(self, order: str) -> Iterator[str]:
        ran("read")
        yield from order

    def _private(self) -> None: ...


SHOP = Shop("ours")
bound = SHOP.refund


class Counter:
    """A callable object without a name: it is called as it is named in its module."""

    def __call__(self, what: str) -> int:
        ran("count")
        return len(what)


count = Counter()


@dataclasses.dataclass
class Named:
    """Callable objects that share their code, as frameworks make them: told apart by `name`."""

    name: str
    factor: int

    def __call__(self, amount: int) -> int:
        ran(self.name)
        return amount * self.factor


double, triple, unnamed = Named("double", 2), Named("triple", 3), Named("quadruple", 4)


class FunctionTool:
    """How most frameworks wrap a function."""

    def __init__(self, name: str, func: Callable[..., Any], coroutine: Callable[..., Any] | None = None) -> None:
        self.name = name
        self.func = func
        self.coroutine = coroutine

    def invoke(self, arguments: dict[str, Any]) -> Any:
        return self.func(**arguments)

    async def ainvoke(self, arguments: dict[str, Any]) -> Any:
        assert self.coroutine is not None
        return await self.coroutine(**arguments)


def _weather(city: str) -> str:
    ran("weather")
    return f"rain in {city}"


async def _weather_later(city: str) -> str:
    ran("weather")
    return f"rain in {city}"


weather = FunctionTool("weather", _weather, _weather_later)


class SearchTool:
    """A tool class in the way of others: it has a name and a method to fill in."""

    name = "search"

    def run(self, query: str) -> str:
        return self._run(query)

    def _run(self, query: str) -> str:
        ran("search")
        return f"found {query}"


def priced(currency: str, item: str, client: Any = None) -> str:
    ran("priced")
    return f"{item}: 3 {currency}"


in_euro = functools.partial(priced, "EUR", client=object())


@functools.lru_cache
def cached(item: str) -> str:
    """From a cache."""
    ran("cached")
    return f"cached {item}"


class CWrapper:
    """As wrappers written in C: an object with `__wrapped__`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__wrapped__(*args, **kwargs)


def _inner(item: str) -> str:
    ran("wrapped")
    return f"wrapped {item}"


wrapped = CWrapper(_inner)


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@logged
async def logged_later(item: str) -> str:
    ran("logged_later")
    return f"logged {item}"


def hands_out(item: str) -> Any:
    """A plain function that hands out a coroutine."""
    return later(item)


def _stock(item: str) -> int:
    ran("stock")
    return len(item)


def cancel(order: str) -> str:
    ran("cancel")
    return f"cancelled {order}"


REGISTRY: dict[str, Any] = {
    "stock": _stock,
    "shout": lambda text: (ran("shout"), text.upper())[1],
    "quote": {"function": functools.partial(cancel), "description": "cancels"},
    "rain": FunctionTool("forecast", lambda city: (ran("forecast"), f"sun in {city}")[1]),
}


@marked(reads=True)
def marked_read(item: str) -> str:
    """Marked."""
    ran("marked_read")
    return f"read {item}"


class MarkedShop:
    @marked
    def marked_method(self, item: str) -> str:
        ran("marked_method")
        return f"method {item}"

    @marked
    @staticmethod
    def marked_static(item: str) -> str:
        ran("marked_static")
        return f"static {item}"
