"""Keeps what a live answer brings while the client reads it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .encoding import decoded
from .exchange import Answer, Response, header_of
from .streams import EVENTS, kind_of

UNREAD = "the client read no further"
_LAST = re.compile(rb"(?:^|\n)(?:data: ?\[DONE\]|event: ?(?:message_stop|response\.completed|done))\r?(?:\n|$)")


class Gathered:
    """Bytes that come in pieces, the first `most` of which are kept; without it all are."""

    __slots__ = ("_most", "_pieces", "size")

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._pieces: list[bytes] = []
        self.size = 0
        """How many came."""

    def add(self, piece: Any, of: int | None = None) -> None:
        """These came. of: they are what was kept of so many."""
        piece = bytes(piece)
        room = None if self._most is None else max(self._most - self.size, 0)
        self.size += len(piece) if of is None else of
        if room != 0:
            self._pieces.append(piece if room is None else piece[:room])

    def taken(self) -> bytes:
        """What was kept, which is handed over."""
        found, self._pieces = b"".join(self._pieces), []
        return found

    @property
    def is_cut(self) -> bool:
        """Whether more came than is kept."""
        return self._most is not None and self.size > self._most

    def told(self) -> str:
        """Why not all of it is there."""
        return limited(self._most or 0, self.size)


def limited(most: int, size: int | None = None) -> str:
    """How a body tells that it was longer than what is kept of one. size: how long it was."""
    return f"only the first {most:,} bytes{'' if size is None else f' of {size:,}'} were kept"


class Tee:
    """Gathers the body of one answer, and tells once what it was.

    head: the answer without its body. most: bytes of the body that are kept. is_raw: tell of the body as it came, for
    who makes it `settled` later and elsewhere.
    """

    def __init__(
        self,
        head: Response,
        done: Callable[[Answer], None] | None,
        *,
        most: int | None = None,
        is_raw: bool = False,
    ) -> None:
        self._head = head
        self._done = done
        self._body = Gathered(most)
        self._is_raw = is_raw

    def add(self, chunk: Any, of: int | None = None) -> None:
        """The client has read this, still encoded. of: it is what was kept of so many bytes."""
        if self._done is not None:
            self._body.add(chunk, of)

    def end(self) -> None:
        """The body is complete."""
        self._tell(None)

    def cut(self, error: BaseException | str) -> None:
        """The body ended before its time."""
        self._tell(error if isinstance(error, str) else f"{type(error).__name__}: {error}")

    def dropped(self) -> None:
        """The client is done. Unless the body had ended, it read no further."""
        self._tell(UNREAD)

    def _tell(self, cut: str | None) -> None:
        done, self._done = self._done, None
        if done is None:
            return
        body = self._body
        if body.is_cut:
            cut = body.told()
        elif cut == UNREAD and self._head.header("content-length") == str(body.size):
            cut = None
        raw = body.taken()
        is_encoded = bool(raw) and header_of(self._head.headers, "content-encoding") not in (None, "identity")
        found = replace(self._head, body=raw, cut=cut, is_encoded=is_encoded)
        done(found if self._is_raw else settled(found))

    def __del__(self) -> None:
        # A client may let go of a body without a word.
        if self._done is not None and not sys.is_finalizing():
            self.dropped()


def settled(response: Response, most: int | None = None) -> Response:
    """An answer that is as it came, its body decoded. most: bytes that a body may have then."""
    headers, body = decoded(response.headers, response.body, is_raw=True, most=most)
    cut = response.cut
    if most is not None and len(body) > most:
        body, cut = body[:most], cut or limited(most)
    elif cut == UNREAD and _is_at_its_end(replace(response, body=body)):
        cut = None
    is_encoded = bool(body) and header_of(headers, "content-encoding") not in (None, "identity")
    return replace(response, headers=headers, body=body, cut=cut, is_encoded=is_encoded)


def _is_at_its_end(response: Response) -> bool:
    """Whether there was nothing more to read: clients stop at the last event, before the end of the connection."""
    return kind_of(response) == EVENTS and _LAST.search(response.body[-4096:]) is not None
