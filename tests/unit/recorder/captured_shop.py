"""A small service: an agent with tools of every kind, as production runs it."""

from __future__ import annotations

import asyncio
import datetime
import enum
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pytest_statebase import AgentReply, capture

LIVE: list[str] = []


class Colour(enum.Enum):
    RED = "red"


@dataclass
class Price:
    amount: Decimal
    currency: str = "EUR"


class SoldOutError(Exception):
    def __init__(self, item: str) -> None:
        super().__init__(f"{item} is sold out")
        self.item = item


def look_up(order: str) -> dict[str, Any]:
    LIVE.append("look_up")
    return {
        "z": Decimal("1.10"),
        "a": (1, 2),
        "s": frozenset({1}),
        "e": Colour.RED,
        "d": datetime.timedelta(1),
        "b": b"\xff",
        (1, 2): 3,
        "order": order,
    }


async def price_of(item: str) -> Price:
    LIVE.append("price_of")
    await asyncio.sleep(0)
    return Price(Decimal("8.50"))


def buy(item: str, price: Price) -> str:
    LIVE.append("buy")
    if item == "kite":
        raise SoldOutError(item)
    return f"bought {item} for {price.amount}"


def pages(count: int) -> Iterator[str]:
    LIVE.append("pages")
    for number in range(count):
        yield f"page {number}"


def connection(name: str) -> dict[str, Any]:
    LIVE.append("connection")
    return {"name": name, "handles": [{"lock": threading.Lock()}]}


def other(name: str) -> dict[str, Any]:
    return {"inside": {threading.Lock()}}


def sign_in(user: str) -> dict[str, Any]:
    LIVE.append("sign_in")
    return {
        "user": user,
        "api_key": "sk-proj-" + "a1B2c3D4e5" * 4,
        "authorization": "Bearer " + "0f1e2d3c4b5a6978" * 2,
        "email": "maria.gonzalez@posteo-mail.de",
        "card": "4539 1488 0343 6467",
        "password": "hunter2-correct-horse",
        "note": "AKIAIOSFODNN7EXAMPLF is the key of the cloud",
    }


def whoami(token: str, email: str) -> str:
    LIVE.append("whoami")
    return f"signed in as {email}"


@capture.agent(agent_id="shop")
def answer(session_id: str, user_input: str, state: dict[str, Any]) -> Any:
    state["turns"] = state.get("turns", 0) + 1
    match user_input.split():
        case ["look", order]:
            found = look_up(order)
            kinds = [type(one).__name__ for one in found.values()]
            return f"{list(found)} {kinds} {found['z'] + 1} {found['e'].name}"
        case ["buy", *items]:
            prices = asyncio.run(_prices(items))
            bought = []
            for item, price in zip(items, prices, strict=True):
                try:
                    bought.append(buy(item, price))
                except SoldOutError as error:
                    bought.append(f"no {error.item}")
            return AgentReply("; ".join(bought), state={**state, "bought": bought}, reasoning="As asked.")
        case ["read", count]:
            with ThreadPoolExecutor(2) as pool:
                halves = list(pool.map(lambda part: list(pages(part)), [int(count), 1]))
            return {"pages": halves}
        case ["sign", user]:
            account = sign_in(user)
            return whoami(account["api_key"], account["email"])
        case ["fail"]:
            raise SoldOutError("everything")
    return "?"


async def _prices(items: list[str]) -> list[Price]:
    return await asyncio.gather(*map(price_of, items))


@capture.agent
async def stream(session_id: str, user_input: str) -> AsyncIterator[str]:
    price = await price_of(user_input)
    yield "It costs "
    yield f"{price.amount} {price.currency}."
    for page in pages(2):
        yield f" {page}"


TOOLS = [
    f"{__name__}:{name}" for name in ("look_up", "price_of", "buy", "pages", "connection", "other", "sign_in", "whoami")
]
