"""An HTTP server on loopback that sends what a test gives it, byte by byte."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pytest_statebase.wire.framing import unchunked


@dataclass
class Got:
    """A request as the server got it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Script = Callable[[Got], "list[bytes | Callable[[], Any]]"]
"""What is sent, part by part; a callable among them is called: to wait, for one. Last None: the connection is cut."""


def plain(body: bytes, *headers: str, status: str = "200 OK") -> list[Any]:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", *headers, "", ""]
    return ["\r\n".join(lines).encode() + body]


def chunks(*parts: bytes | Callable[[], Any] | None, kind: str = "text/event-stream") -> list[Any]:
    """An answer in chunks."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode()
    framed = [b"%x\r\n%b\r\n" % (len(part), part) if isinstance(part, bytes) else part for part in parts]
    return [head, *framed] if parts and parts[-1] is None else [head, *framed, b"0\r\n\r\n"]


@dataclass
class Server:
    """What a test knows of the server."""

    port: int
    script: Script
    got: list[Got] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def _serve(server: Server, client: socket.socket) -> None:
    with contextlib.suppress(OSError), client, client.makefile("rb") as file:
        while (got := _read(file, client)) is not None:
            server.got.append(got)
            for part in server.script(got):
                if part is None:
                    return
                if isinstance(part, bytes):
                    client.sendall(part)
                else:
                    part()


def _read(file: Any, client: socket.socket) -> Got | None:
    line = file.readline().decode("latin-1").split()
    if not line:
        return None
    headers: dict[str, str] = {}
    while one := file.readline().decode("latin-1").strip():
        name, _, value = one.partition(":")
        headers[name.lower()] = value.strip()
    if headers.get("expect"):
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if headers.get("transfer-encoding") == "chunked":
        raw = b""
        while not unchunked(raw)[1]:
            raw += file.readline()
        file.readline()
        return Got(line[0], line[1], headers, unchunked(raw)[0])
    return Got(line[0], line[1], headers, file.read(int(headers.get("content-length", "0"))))


@contextmanager
def serving(script: Script) -> Iterator[Server]:
    """A server for the time inside."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=100)
    server = Server(listening.getsockname()[1], script)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listening.accept()
                server.connections += 1
                threading.Thread(target=_serve, args=(server, client), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield server
    finally:
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        listening.close()
