"""The HTTP exchanges of a session that is being recorded."""

from __future__ import annotations

import threading
import time

from ..cassette.redaction import Echoes, all_known, redacted_exchange
from ..events import timestamp
from ..wire.doors import Live
from ..wire.exchange import Answer, Exchange, Request


class Traffic:
    """Lets every request out and keeps it with what came back, secrets taken out, in the order of the requests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: list[Exchange | None] = []
        self.secrets: Echoes = ()
        """Keys that a request had in its headers."""

    def let_out(self, request: Request, turn: int, during: int | None) -> Live:
        """turn: its number; during: the position of the tool call, from 0, inside of which the request is made."""
        at, began = timestamp(), time.perf_counter()
        with self._lock:
            self.secrets = all_known(self.secrets, request)
            place = len(self._kept)
            self._kept.append(None)

        def done(answer: Answer) -> None:
            latency = round((time.perf_counter() - began) * 1000)
            exchange = redacted_exchange(Exchange(request, answer, turn, during, at, latency))
            with self._lock:
                self._kept[place] = exchange

        return Live(done)

    def exchanges(self) -> list[Exchange]:
        """What came to an end, without the keys of any of them."""
        with self._lock:
            return [redacted_exchange(exchange, self.secrets) for exchange in self._kept if exchange is not None]
