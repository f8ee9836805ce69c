"""Keeps what a live answer brings while the client reads it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace

from .encoding import decoded
from .exchange import Answer, Response, header_of
from .streams import EVENTS, kind_of

UNREAD = "the client read no further"
_LAST = re.compile(rb"(?:^|\n)(?:data: ?\[DONE\]|event: ?(?:message_stop|response\.completed|done))\r?(?:\n|$)")


class Tee:
    """Gathers the body of one answer, and tells once what it was.

    head: the answer without its body.
    """

    def __init__(self, head: Response, done: Callable[[Answer], None] | None) -> None:
        self._head = head
        self._done = done
        self._chunks: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        """The client has read this, still encoded."""
        if self._done is not None:
            self._chunks.append(bytes(chunk))

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
        raw, self._chunks = b"".join(self._chunks), []
        headers, body = decoded(self._head.headers, raw, is_raw=True)
        is_encoded = bool(body) and header_of(headers, "content-encoding") not in (None, "identity")
        found = replace(self._head, headers=headers, body=body, cut=cut, is_encoded=is_encoded)
        if cut == UNREAD and self._is_whole(found, len(raw)):
            found = replace(found, cut=None)
        done(found)

    def _is_whole(self, found: Response, length: int) -> bool:
        """Whether there was nothing more to read: clients stop at the last event, before the end of the connection."""
        if self._head.header("content-length") == str(length):
            return True
        return kind_of(found) == EVENTS and _LAST.search(found.body[-4096:]) is not None

    def __del__(self) -> None:
        # A client may let go of a body without a word.
        if self._done is not None and not sys.is_finalizing():
            self.dropped()
