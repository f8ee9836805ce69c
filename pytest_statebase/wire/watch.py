"""Requests that are watched on their way out: none of it is changed, held back or waited for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .encoding import decoded
from .exchange import GAVE_UP, Answer, Exchange, Failure, Headers, Request, Response
from .tee import Gathered, Tee, limited, settled

Told: TypeAlias = Callable[[Request, Answer], None]
"""Gets a request with what came back, both as they were on the wire: see `settled_exchange`."""
Head: TypeAlias = Callable[[], tuple[str, str, Headers]]
"""Tells method, address and headers of a request."""
MOST = 4 << 20
"""Bytes that are kept of one body."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A door that every request passes just as it is.

    begun: asked with a request, without its body and maybe without its headers, when it begins; who is to be told of
    it, None where nobody is. broken: told of an exception of whoever watches. Neither of them reaches a client.
    """

    begun: Callable[[Request], Told | None]
    broken: Callable[[Exception], None]
    most: int = MOST

    def sight(self, head: Head) -> Sight | None:
        """A look at the request that begins; None where it passes unseen."""
        try:
            request = _request(head)
            told = self.begun(request)
            return None if told is None else Sight(request, told, self.broken, self.most)
        except Exception as error:
            self._broken(error)
            return None

    def _broken(self, error: Exception) -> None:
        _quietly(self.broken, error)


class Sight:
    """A look at one request: what its client sends of it, and what comes back. It never raises."""

    def __init__(self, request: Request, told: Told, broken: Callable[[Exception], None], most: int = MOST) -> None:
        self._request = request
        self._told: Told | None = told
        self._broken = broken
        self.most = most
        """Bytes of a body that are kept."""
        self._body = Gathered(most)

    def head(self, head: Head) -> None:
        """This is what the request says of itself, now that all of it is known."""
        try:
            self._request = _request(head)
        except Exception as error:
            self._fail(error)

    def begins(self) -> None:
        """The body is sent from its beginning, maybe not for the first time."""
        self._body = Gathered(self.most)

    def sent(self, chunk: Any, of: int | None = None) -> None:
        """The client has sent this of the body, as it is on the wire. of: it is what was kept of so many bytes."""
        if self._told is None:
            return
        try:
            self._body.add(chunk, of)
        except Exception as error:
            self._fail(error)

    def answered(self, head: Callable[[], Response]) -> Tee | None:
        """What gathers the body of the answer, whose `head` tells the rest; None where nobody wants it any more."""
        if self._told is None:
            return None
        try:
            return Tee(head(), self._tell, most=self.most, is_raw=True)
        except Exception as error:
            self._fail(error)
            return None

    def failed(self, failure: Callable[[], Failure]) -> None:
        """No answer came."""
        try:
            self._tell(failure())
        except Exception as error:
            self._fail(error)

    def _tell(self, answer: Answer) -> None:
        told, self._told = self._told, None
        if told is None:
            return
        try:
            sent = self._body
            told(replace(self._request, body=sent.taken()), _marked(answer, sent.told() if sent.is_cut else None))
        except Exception as error:
            self._fail(error)

    def __del__(self) -> None:
        # A client may let go of a request without a word.
        if self._told is not None and not sys.is_finalizing():
            self.failed(lambda: GAVE_UP)

    def _fail(self, error: Exception) -> None:
        self._told = None
        _quietly(self._broken, error)


def _request(head: Head) -> Request:
    """A request of plain texts: clients have texts of their own kinds."""
    method, url, headers = head()
    return Request(_plain(method), _plain(url), tuple((_plain(name), _plain(value)) for name, value in headers))


def _plain(text: str) -> str:
    return text if type(text) is str else str.__str__(text)


def _quietly(broken: Callable[[Exception], None], error: Exception) -> None:
    try:
        broken(error)
    except Exception:  # whoever watches has no say in what its agent does
        return


def _marked(answer: Answer, cut: str | None) -> Answer:
    """The answer to a request of which not all was kept says so: nothing else of an exchange does."""
    if cut is None:
        return answer
    why = f"of the request {cut}"
    if isinstance(answer, Failure):
        return replace(answer, message=f"{answer.message}; {why}" if answer.message else why)
    return replace(answer, cut=f"{answer.cut}; {why}" if answer.cut else why)


def settled_exchange(exchange: Exchange, most: int = MOST) -> Exchange:
    """An exchange that a watch was told of, its bodies decoded. most: bytes that a body may have then."""
    request, answer = exchange.request, exchange.answer
    if request.header("content-encoding") is not None:
        headers, body = decoded(request.headers, request.body, most=most)
        request = replace(request, headers=headers, body=body[:most])
        answer = _marked(answer, limited(most) if len(body) > most else None)
    if isinstance(answer, Response):
        answer = settled(answer, most)
    return replace(exchange, request=request, answer=answer)
