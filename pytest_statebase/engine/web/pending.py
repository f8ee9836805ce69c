"""Answers of live runs until somebody accepts them: kept as they arrive, so that a run that ended early goes on."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import threading
from pathlib import Path
from typing import Any

from ...errors import StatebaseError
from ...wire.exchange import GAVE_UP, Answer, Exchange, Failure, Request, Response
from ...wire.tee import UNREAD

_COMPLETE = '{"complete":true}'
_held: dict[Path, tuple[int, int | None]] = {}
"""Files that this process writes: its id, for those that fork off it, and the lock, None where there are no locks."""
_lock = threading.RLock()


class Pending:
    """The live answers of one replay, a JSON line each, written as they come. Without any there is no file.

    directory: made where it is missing. cassette, fork, agent: which replay it is.
    """

    def __init__(self, directory: Path, cassette: str, fork: str, agent: str) -> None:
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(cassette).name)[:60].strip("-")
        digest = hashlib.sha256("\0".join((cassette, fork, agent)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.path = Path(os.path.abspath(directory)) / f"{name or 'session'}-{digest}.jsonl"

    def exchanges(self) -> list[Exchange]:
        """What is kept, in the order in which it was asked for; what is half written or damaged is passed over."""
        found = (_exchange_of(line) for line in self._lines())
        return sorted((exchange for exchange in found if exchange is not None), key=lambda one: one.at or "")

    @property
    def is_complete(self) -> bool:
        """The run that wrote it last came to its end."""
        lines = self._lines()
        return bool(lines) and lines[-1].strip() == _COMPLETE

    def append(self, exchange: Exchange, *, let_go: bool = False) -> None:
        """Keep one more, whose secrets were taken out. It is there if the process is killed a moment later.

        let_go: the agent itself ended it, in a turn that came to its end.
        Raises StatebaseError where another process writes the same file, or it cannot be written.
        """
        self._write(exchange_line(exchange, let_go=let_go))

    def complete(self) -> None:
        """The run came to its end, and writes no more."""
        if self.path.exists() and not self.is_complete:
            self._write(_COMPLETE)
        with _lock:
            _let_go(self.path)

    def discard(self) -> None:
        """Forget them all."""
        with _lock:
            self.path.unlink(missing_ok=True)
            _let_go(self.path)

    def _lines(self) -> list[str]:
        """Whole lines; what is no text in them reads as damaged."""
        try:
            data = self.path.read_bytes()
        except OSError:
            return []
        return [line.decode("ascii", "replace") for line in data.split(b"\n")[:-1] if line.strip()]

    def _write(self, line: str) -> None:
        with _lock:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                _hold(self.path)
                # One call of the system a line, and nothing in buffers of Python.
                with self.path.open("a+b", buffering=0) as file:
                    file.write(f"{_gap(file)}{line}\n".encode("ascii"))
            except OSError as error:
                remedy = "Make the directory writable, or choose another one with `-o cache_dir=`."
                raise StatebaseError(f"a live answer cannot be kept: {error}", remedy=remedy) from error


def _gap(file: Any) -> str:
    """What ends a line that a process that was killed had begun."""
    end = file.seek(0, os.SEEK_END)
    if not end:
        return ""
    file.seek(end - 1)
    return "" if file.read(1) == b"\n" else "\n"


def _hold(path: Path) -> None:
    """Be the one process that writes a file until it is let go. The system frees it if the process dies."""
    held = _held.get(path)
    if held is None:
        lock = _locked(path.with_suffix(".lock"))
        if lock is not _TAKEN:
            _held[path] = (os.getpid(), lock)
            return
    elif held[0] == os.getpid():
        return
    raise StatebaseError(
        f"another process keeps live answers in {path.name} at the same time",
        remedy="Run one worker a file: -n with --dist=loadfile, or without -n; and not two live runs at once.",
    )


def _let_go(path: Path) -> None:
    held = _held.pop(path, None)
    if held is not None and held[0] == os.getpid() and held[1] is not None:
        os.close(held[1])


_TAKEN = -1


def _locked(path: Path) -> int | None:
    """A lock that this process has now; `_TAKEN` where another one has it, None where files cannot be locked here."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if _try_lock(descriptor):
            return descriptor
    except (ImportError, OSError):
        os.close(descriptor)
        return None
    os.close(descriptor)
    return _TAKEN


def _try_lock(descriptor: int) -> bool:
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _exchange_of(line: str) -> Exchange | None:
    try:
        exchange = exchange_from(line)
        is_whole = not _is_given_up(exchange.answer) or bool(json.loads(line).get("let_go"))
        return exchange if is_whole else None
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return None


def ended_early(answer: Answer) -> bool:
    """Whether there is no whole answer."""
    return isinstance(answer, Failure) or answer.cut is not None


def _is_given_up(answer: Answer) -> bool:
    """Whether whoever asked waited or read no longer."""
    return answer == GAVE_UP if isinstance(answer, Failure) else answer.cut == UNREAD


def exchange_line(exchange: Exchange, *, let_go: bool = False) -> str:
    """An exchange as one line of ASCII JSON."""
    request, answer = exchange.request, exchange.answer
    form: dict[str, Any] = {
        "request": [request.method, request.url, [list(pair) for pair in request.headers], _packed(request.body)],
        "at": [exchange.turn, exchange.during, exchange.at, exchange.latency_ms],
    }
    if isinstance(answer, Failure):
        form["failure"] = [answer.kind, answer.message]
    else:
        headers = [list(pair) for pair in answer.headers]
        form["response"] = [answer.status, answer.reason, headers, _packed(answer.body), answer.cut, answer.is_encoded]
    if let_go:
        form["let_go"] = True
    return json.dumps(form, separators=(",", ":"))


def exchange_from(line: str) -> Exchange:
    """What `exchange_line` made, back."""
    form = json.loads(line)
    method, url, headers, body = form["request"]
    request = Request(method, url, tuple((name, value) for name, value in headers), _unpacked(body))
    if "failure" in form:
        return Exchange(request, Failure(*form["failure"]), *form["at"])
    status, reason, headers, body, *rest = form["response"]
    answer = Response(status, reason, tuple((name, value) for name, value in headers), _unpacked(body), *rest)
    return Exchange(request, answer, *form["at"])


def _packed(body: bytes) -> Any:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode("ascii")}


def _unpacked(body: Any) -> bytes:
    return base64.b64decode(body["base64"]) if isinstance(body, dict) else body.encode("utf-8")
