"""A toy agent of three turns with a state, a tool or two and a deterministic model, and one change of each sort."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from pytest_statebase import AgentReply

LIVE: list[str] = []
"""Names of tools that really ran."""


class PriceError(Exception):
    """What the tool raises for what it does not sell."""

    def __init__(self, item: str, *, code: int = 404) -> None:
        super().__init__(f"no {item} here")
        self.item = item
        self.code = code


def price(item: str, currency: str = "EUR", request_id: str = "", at: str = "") -> dict[str, Any]:
    """The price of an item."""
    LIVE.append("price")
    if item == "unicorn":
        raise PriceError(item, code=410)
    return {"item": item, "price": len(item), "currency": currency}


async def price_later(item: str, currency: str = "EUR") -> dict[str, Any]:
    """The price of an item, awaited."""
    LIVE.append("price_later")
    await asyncio.sleep(0)
    return {"item": item, "price": len(item), "currency": currency}


def stock(item: str) -> int:
    """How many there are."""
    LIVE.append("stock")
    return len(item) * 10


ITEMS = {1: ["apple"], 2: ["pear", "plum"], 3: ["fig"]}
TOOLS = ["tests.toy:price", "tests.toy:price_later", "tests.toy:stock"]
INPUTS = ["an apple?", "a pear and a plum?", "a fig?"]


class Toy:
    """The recorded version."""

    def items(self, turn: int) -> list[str]:
        return ITEMS[turn]

    def calls(self, turn: int) -> None:
        for item in self.items(turn):
            price(item)

    def text(self, turn: int) -> str:
        return f"That is turn {turn}."

    def state(self, turn: int) -> dict[str, Any]:
        return {"turns": turn, "cart": [name for number in range(1, turn + 1) for name in ITEMS[number]]}

    def __call__(self, user_input: str, turn: int) -> AgentReply:
        self.calls(turn)
        return AgentReply(self.text(turn), state=self.state(turn), reasoning=f"asked {user_input}")


class WrongArgument(Toy):
    def items(self, turn: int) -> list[str]:
        return ["pear", "peach"] if turn == 2 else super().items(turn)


class AnotherTool(Toy):
    def calls(self, turn: int) -> None:
        if turn == 2:
            price("pear")
            stock("plum")
        else:
            super().calls(turn)


class ExtraCall(Toy):
    def items(self, turn: int) -> list[str]:
        return [*super().items(turn), "kiwi"] if turn == 2 else super().items(turn)


class MissingCall(Toy):
    def items(self, turn: int) -> list[str]:
        return ["pear"] if turn == 2 else super().items(turn)


class Swapped(Toy):
    def items(self, turn: int) -> list[str]:
        return super().items(turn)[::-1]


class OtherText(Toy):
    def text(self, turn: int) -> str:
        return "This makes three turns." if turn == 3 else super().text(turn)


class OtherState(Toy):
    def state(self, turn: int) -> dict[str, Any]:
        state = super().state(turn)
        if turn == 3:
            state["cart"][1] = "quince"
        return state


class FreshIds(Toy):
    """Sends a new uuid and the time of day with every call."""

    def calls(self, turn: int) -> None:
        import uuid
        from datetime import UTC, datetime

        for item in self.items(turn):
            price(item, request_id=str(uuid.uuid4()), at=datetime.now(UTC).isoformat())


class AsyncToy(Toy):
    """The same, awaited."""

    async def __call__(self, user_input: str, turn: int) -> AgentReply:  # type: ignore[override]
        for item in self.items(turn):
            await price_later(item)
        return AgentReply(self.text(turn), state=self.state(turn))


class GatherToy(AsyncToy):
    """The same with the calls of a turn at once."""

    async def __call__(self, user_input: str, turn: int) -> AgentReply:  # type: ignore[override]
        await asyncio.gather(*(price_later(item) for item in reversed(self.items(turn))))
        return AgentReply(self.text(turn), state=self.state(turn))


class ThreadToy(Toy):
    """The same with the tool in a bare worker thread."""

    def calls(self, turn: int) -> None:
        for item in self.items(turn):
            thread = threading.Thread(target=price, args=(item,))
            thread.start()
            thread.join()


class RaisingToy(Toy):
    """Asks for something that makes the tool raise, and goes on."""

    def calls(self, turn: int) -> None:
        super().calls(turn)
        if turn == 2:
            caught: PriceError | None = None
            try:
                price("unicorn")
            except PriceError as error:
                caught = error
            assert caught is not None
            assert (caught.item, caught.code, str(caught)) == ("unicorn", 410, "no unicorn here")
