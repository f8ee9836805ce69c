"""The HTTP exchanges of a session that is being recorded, as they were made."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from ..events import timestamp
from ..wire.doors import Live
from ..wire.exchange import Exchange, Request, Response
from ..wire.watch import Told


def timed(turn: int | None, during: int | None, keep: Callable[[Exchange], None]) -> Told:
    """What keeps a request that begins here and now, once it is told with what came back.

    turn: its number; during: the position of the tool call, from 0, inside of which the request is made.
    """
    at, began = timestamp(), time.perf_counter()
    return lambda request, answer: keep(
        Exchange(request, answer, turn, during, at, round((time.perf_counter() - began) * 1000))
    )


def bytes_of(exchange: Exchange) -> int:
    """How long the bodies of an exchange are."""
    answer = exchange.answer
    return len(exchange.request.body) + (len(answer.body) if isinstance(answer, Response) else 0)


def without_bodies(exchange: Exchange) -> Exchange:
    """An exchange of which only the heads are kept, as it says itself."""
    request, answer = replace(exchange.request, body=b""), exchange.answer
    if isinstance(answer, Response):
        answer = replace(answer, body=b"", cut="not kept: the turn has more bodies than are kept of one")
    return replace(exchange, request=request, answer=answer)


class Traffic:
    """Lets every request out and keeps it with what came back, in the order of the requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Exchange | None] = []

    def let_out(self, request: Request, turn: int, during: int | None) -> Live:
        """turn: its number; during: the position of the tool call, from 0, inside of which the request is made."""
        with self._lock:
            place = len(self._kept)
            self._kept.append(None)

        def keep(exchange: Exchange) -> None:
            with self._lock:
                self._kept[place] = exchange

        told = timed(turn, during, keep)
        return Live(lambda answer: told(request, answer))

    def exchanges(self) -> list[Exchange]:
        """What came to an end."""
        with self._lock:
            return [exchange for exchange in self._kept if exchange is not None]
