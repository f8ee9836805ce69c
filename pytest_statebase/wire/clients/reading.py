"""Answers as `http.client` reads them: from the file of a socket."""

from __future__ import annotations

import http.client
import io
from collections.abc import Callable
from typing import Any

from ..exchange import Failure, Response
from ..framing import has_body, rendered, unchunked
from ..tee import Gathered, Tee

_FRAMES = 1 << 16
"""Bytes that the frames of chunks may take."""


class Recorded:
    """Stands for the socket that a recorded answer comes from."""

    def __init__(self, answer: Response, method: str) -> None:
        self._wire = rendered(answer, method)

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        """The answer, as a server sends it."""
        return io.BufferedReader(io.BytesIO(self._wire))


def head_of(response: http.client.HTTPResponse) -> Response:
    """A live answer without its body."""
    return Response(response.status, response.reason or "", tuple(response.headers.items()))


def failed(error: BaseException, is_connect: bool = False) -> Failure:
    """What an error says of the answer."""
    kind: Any = "timeout" if isinstance(error, TimeoutError) else "connect" if is_connect else "closed"
    return Failure(kind, str(error) or type(error).__name__)


def keep(response: http.client.HTTPResponse, tee: Tee | None, most: int | None = None) -> None:
    """Keep the body of a live answer while it is read. most: bytes of it that are enough."""
    if tee is None:
        return
    if response.fp is None:
        tee.end()
    else:
        response.fp = _Kept(response.fp, tee, response, most)  # type: ignore[assignment]


class _Kept:
    """The file that a live body is read from. What chunks there are is seen at its end."""

    def __init__(self, file: Any, tee: Tee, response: http.client.HTTPResponse, most: int | None) -> None:
        self._file = file
        self._tee = tee
        self._raw = Gathered(None if most is None else most + _FRAMES)
        self._is_chunked = response.chunked
        self._length = response.length
        self._has_body = has_body(getattr(response, "_method", None) or "GET", response.status)
        self._ended = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def _read(self, read: Callable[..., bytes], *args: Any) -> bytes:
        try:
            part = read(*args)
        except Exception as error:
            self._finish(error)
            raise
        self._raw.add(part)
        if not part and args[:1] != (0,):
            self._ended = True
        return part

    def read(self, *args: Any) -> bytes:
        part = self._read(self._file.read, *args)
        # A file blocks until it has what was asked for, or there is no more.
        if not args or args[0] is None or len(part) < args[0] or args[0] < 0:
            self._ended = True
        return part

    def read1(self, *args: Any) -> bytes:
        return self._read(self._file.read1, *args)

    def readline(self, *args: Any) -> bytes:
        return self._read(self._file.readline, *args)

    def readinto(self, buffer: Any) -> int:
        size = 0

        def read(length: int) -> bytes:
            nonlocal size
            size = self._file.readinto(buffer)
            return bytes(memoryview(buffer)[:size])

        self._ended = len(self._read(read, len(buffer))) < len(buffer) or self._ended
        return size

    def __iter__(self) -> _Kept:
        return self

    def __next__(self) -> bytes:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def close(self) -> None:
        try:
            self._file.close()
        finally:
            self._finish(None)

    def _finish(self, error: Exception | None) -> None:
        size, raw = self._raw.size, self._raw.taken()
        body, is_whole = unchunked(raw) if self._is_chunked else (raw, self._is_whole(size))
        self._tee.add(body, size if size > len(raw) else None)
        if is_whole or not self._has_body:
            self._tee.end()
        elif error is not None:
            self._tee.cut(error)
        elif self._ended:
            self._tee.cut(http.client.IncompleteRead(body))
        else:
            self._tee.dropped()

    def _is_whole(self, size: int) -> bool:
        return self._ended if self._length is None else size >= self._length
