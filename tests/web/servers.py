"""Servers on loopback that count who reaches them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok"


class Counting:
    """A server of TCP, that answers any request with `ok`, and of UDP, both at one port of 127.0.0.1."""

    def __init__(self) -> None:
        self._tcp = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port: int = self._tcp.getsockname()[1]
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind(("127.0.0.1", self.port))
        self._udp.setblocking(False)
        self._connections = 0
        self._own: set[int] = set()
        self._seen = threading.Condition()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def where(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, address = self._tcp.accept()
                with self._seen:
                    self._connections += 1
                    self._own.add(address[1])
                    self._seen.notify_all()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    @staticmethod
    def _serve(client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            client.settimeout(5)
            if client.recv(65536):
                client.sendall(_ANSWER)

    def hits(self) -> int:
        """How many connections and datagrams came so far, from anybody but this method."""
        # Connections come in the order in which they were made: after this one, all those before are counted.
        with socket.create_connection(("127.0.0.1", self.port)) as last, self._seen:
            mine = last.getsockname()[1]
            assert self._seen.wait_for(lambda: mine in self._own, timeout=10)
            self._connections -= 1
            count = self._connections
        with contextlib.suppress(BlockingIOError):
            while self._udp.recv(65536) is not None:
                count += 1
        return count

    def close(self) -> None:
        # Closing alone does not wake who waits to accept.
        with contextlib.suppress(OSError):
            self._tcp.shutdown(socket.SHUT_RDWR)
        self._tcp.close()
        self._udp.close()


@contextmanager
def counting() -> Iterator[Counting]:
    """A counting server for the time inside."""
    server = Counting()
    try:
        yield server
    finally:
        server.close()
