"""A scripted model provider on loopback: OpenAI chat completions and responses, Anthropic messages, plain and streamed.

with ModelServer() as server:
    client = OpenAI(base_url=server.url + "/v1", api_key="test")
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from .dialects import DIALECTS, Event
from .script import Script, shop


class ModelServer:
    """A real HTTP server with as many threads as requests, from the `with` on until its end or `stop`."""

    def __init__(self, script: Script = shop) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        """Every request that came: path, headers (lower case), body."""
        self.compressed = False
        """Whether plain answers are gzipped, for clients that take that."""
        self._failures: list[tuple[int, dict[str, str]]] = []
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.model = self
        self.port: int = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread: threading.Thread | None = None

    @property
    def count(self) -> int:
        """How many requests came."""
        return len(self.requests)

    def fail(self, times: int, status: int = 429, **headers: str) -> None:
        """Answer the next `times` requests with `status`; headers as `retry_after="0.1"`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self._failures += [(status, named)] * times

    def taken(self, request: dict[str, Any]) -> tuple[int, tuple[int, dict[str, str]] | None]:
        """Count a request; its number and how it has to fail, if it has to."""
        with self._lock:
            self.requests.append(request)
            return len(self.requests), self._failures.pop(0) if self._failures else None

    def __enter__(self) -> ModelServer:
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Close the port and every connection; whoever connects from now on is refused."""
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
            self._thread = None
        self._http.server_close()
        self._http.cut_off()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    model: ModelServer

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def cut_off(self) -> None:
        """Have every open connection end."""
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the server."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_POST(self) -> None:
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        headers = {name.lower(): value for name, value in self.headers.items()}
        number, failure = model.taken({"path": self.path, "headers": headers, "body": body})
        dialect = DIALECTS.get(self.path.partition("?")[0])
        if failure is not None:
            status, extra = failure
            self._json(status, {"error": {"message": f"told to fail with {status}", "type": "test"}}, extra)
        elif dialect is None:
            self._json(404, {"error": {"message": f"no such address: {self.path}", "type": "test"}})
        else:
            move = model.script(dialect.read(body))
            if body.get("stream"):
                self._events(dialect.events(body, move, number))
            else:
                self._json(200, dialect.answer(body, move, number))

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        if self.server.model.compressed and "gzip" in self.headers.get("accept-encoding", ""):
            data = gzip.compress(data, mtime=0)
            self.send_header("content-encoding", "gzip")
        for name, value in {"content-type": "application/json", "content-length": str(len(data))}.items():
            self.send_header(name, value)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events: Iterator[Event]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            text = data if isinstance(data, str) else json.dumps(data)
            event = f"event: {name}\ndata: {text}\n\n" if name else f"data: {text}\n\n"
            self.wfile.write(f"{len(event.encode()):x}\r\n{event}\r\n".encode())
        self.wfile.write(b"0\r\n\r\n")
