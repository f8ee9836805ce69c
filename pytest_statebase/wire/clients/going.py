"""What every client does with a request that goes live."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from ..doors import Live, let_pass
from ..encoding import decoded
from ..exchange import Answer, Headers, Request
from ..guard import letting


@contextlib.contextmanager
def going_out(*targets: tuple[str, int]) -> Iterator[None]:
    """What is sent inside passes, and these hosts may be reached by whoever looks them up for it."""
    with let_pass(), contextlib.ExitStack() as stack:
        for host, port in targets:
            stack.enter_context(letting(host, port))
        yield


class Tries:
    """The tries at one live request."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._tries = 0

    def wait(self, answer: Answer) -> float | None:
        """Seconds until the next try; None where this answer is the client's."""
        self._tries += 1
        return self._live.again(answer, self._tries) if self._live.again is not None else None

    def tell(self, answer: Answer) -> None:
        """This is what came back."""
        if self._live.done is not None:
            self._live.done(answer)


def asked(method: str, url: str, headers: Headers, body: bytes) -> Request:
    """A request as a door sees it, its body decoded."""
    if any(name.lower() == "content-encoding" for name, _ in headers):
        headers, body = decoded(headers, body)
    return Request(method, url, headers, body)


async def sleep(seconds: float) -> None:
    """Wait in whatever loop this is."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_task():
        await trio.sleep(seconds)
        return
    import asyncio

    await asyncio.sleep(seconds)
