"""A service that answers what a test tells it, over a real connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

Answer: TypeAlias = tuple[int, dict[str, str], bytes]
Respond: TypeAlias = Callable[[str, dict[str, str]], Any]


def error(status: int, code: str = "x", headers: dict[str, str] | None = None, **more: Any) -> Answer:
    """The service's form of an error."""
    body = {"error": {"code": code, "message": "no", "type": "x", **more}}
    return status, headers or {}, json.dumps(body).encode()


def listed(*items: dict[str, Any], more: bool = False) -> dict[str, Any]:
    return {"object": "list", "data": list(items), "has_more": more}


@contextmanager
def answering(respond: Respond) -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and the targets that were asked for.

    respond: gets path and query, and gives the JSON to answer, or status, headers and body.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            asked.append(self.path)
            parts = urlsplit(self.path)
            found = respond(parts.path, dict(parse_qsl(parts.query)))
            status, headers, body = found if isinstance(found, tuple) else (200, {}, json.dumps(found).encode())
            self.send_response(status)
            for name, value in {"content-type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", headers.get("content-length", str(len(body))))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: tests look at `asked`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that hangs up is part of the test
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class OneSession:
    """Answers for the session `sess_1`; what a test gives by path goes first.

    count: of its turns, 20 on a page and newest first, whatever is asked for.
    """

    def __init__(self, count: int = 2, **paths: Any) -> None:
        self.session = {
            "id": "sess_1",
            "agent_id": "support",
            "created_at": "2026-11-29T10:00:00Z",
            "updated_at": "2026-11-29T11:00:00Z",
            "turn_count": count,
            "state": {"v": 0},
        }
        self.turns = [self.turn(number) for number in range(1, count + 1)]
        self.paths = paths

    @staticmethod
    def turn(number: int) -> dict[str, Any]:
        return {
            "id": f"turn_{number}",
            "session_id": "sess_1",
            "turn_number": number,
            "input": {"type": "text", "content": f"question {number}"},
            "output": {"type": "text", "content": f"answer {number}"},
        }

    def __call__(self, path: str, query: dict[str, str]) -> Any:
        name = path.removeprefix("/v1/").removeprefix("sessions/sess_1").strip("/") or "session"
        if name in self.paths:
            found = self.paths[name]
            return found(query) if callable(found) else found
        match name:
            case "session":
                return self.session
            case "sessions":
                return listed(self.session)
            case "turns":
                newest = self.turns[::-1]
                ids = [turn["id"] for turn in newest]
                start = ids.index(query["starting_after"]) + 1 if "starting_after" in query else 0
                return listed(*newest[start : start + 20], more=start + 20 < len(newest))
            case "state/history":
                return {**listed({"version": 0, "state": {"v": 0}}), "current_version": 0}
            case "traces" | "memories":
                return listed()
        return error(404, "path_not_found")
