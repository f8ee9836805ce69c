"""Pulls many long sessions from a served directory whose server fails in every way, and measures what that takes.

    python -m tests.data.pull_many [SESSIONS [TURNS]]

By default 500 sessions of 50 turns. A server in a process of its own answers with 429, 500, half answers and slow ones
in between. Then: is everything there, once? Does a second pull change a file? Does a run that was killed in the middle
end with the same files? How much memory does a fifth of the sessions take, and how much do all of them?
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pytest_statebase import Ledger
from pytest_statebase.cassette import read_record
from pytest_statebase.events import (
    Event,
    SessionCreated,
    SessionEnded,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.pull import Api, Pull, Wanted, find_sessions
from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.app import AsgiApp, Served

ROOT = Path(__file__).parents[2]
KEY = "key-of-the-test-0123456789"


def at(second: int) -> str:
    return f"2026-11-{1 + second // 86400:02}T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def session(number: int, turns: int) -> Ledger:
    """A session in which every turn looks an order up and remembers it; every tenth is taken back."""
    return Ledger(_events(number, turns))


def _events(number: int, turns: int) -> Iterator[Event]:
    yield SessionCreated(f"sess_{number:012}", "support", f"user_{number}", at(0), {"seen": 0}, {"number": number})
    version = 0
    second = 10
    for turn in range(1, turns + 1):
        order = f"{number}-{turn}"
        yield TurnStarted(turn, {"type": "text", "content": f"Where is order {order}?"}, at(second))
        yield ToolCalled("look_up", {"order": order}, {"order": order, "total": turn}, step=1, at=at(second + 1))
        version += 1
        yield StateUpdated(
            version, {"seen": turn, "order": order}, f"It is about order {order}", "agent", at(second + 2)
        )
        said = {"type": "text", "content": f"Order {order} is on its way. " + "It is well packed. " * (turn % 7)}
        yield TurnAdded(said, reasoning=f"look_up said so of {order}", actor="agent", at=at(second + 3))
        if turn % 10 == 0:
            version += 1
            back = {"seen": turn - 1, "order": f"{number}-{turn - 1}"}
            yield StateRolledBack(version, version - 2, back, "Wrong order", "operator", at(second + 5))
        second += 10
    yield SessionEnded("completed", None, at(second))


def client(sessions: int, turns: int) -> LocalClient:
    loaders: dict[str, Callable[[], Ledger]] = {
        f"sess_{number:012}": partial(session, number, turns) for number in range(sessions)
    }
    return LocalClient(dict(loaders))


class Faults:
    """Stands between server and application and makes some requests fail, in turn: which ones is the same every time.

    slow: seconds that a slow answer takes, if the client waits for it.
    """

    def __init__(self, app: AsgiApp, *, slow: float = 0.0) -> None:
        self._app = app
        self._slow = slow
        self._count = 0
        self.made: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._count += 1
        kind = self._kind()
        self.made[kind] += 1
        if kind in ("429", "500"):
            error = {"code": "x", "message": "not now", "type": "x", **({"retry_after": 0.01} if kind == "429" else {})}
            await self._answer(send, int(kind), json.dumps({"error": error}).encode())
        elif kind == "ok":
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, partial(self._broken, kind, receive, send))

    def _kind(self) -> str:
        every = {"429": 7, "500": 11, "reset": 13, "slow": 97}
        return next((kind for kind, number in every.items() if self._count % number == 0), "ok")

    async def _answer(self, send: Any, status: int, body: bytes) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _broken(self, kind: str, receive: Any, send: Any, message: Any) -> None:
        """Half of the answer and then nothing, or the rest too late."""
        if message["type"] != "http.response.body":
            await send(message)
            return
        half = len(message["body"]) // 2
        await send({"type": "http.response.body", "body": message["body"][:half], "more_body": True})
        if kind == "reset":
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._slow):
                while (await receive())["type"] != "http.disconnect":
                    pass
        await send({"type": "http.response.body", "body": message["body"][half:]})


def served(sessions: int, turns: int) -> Served:
    """The sessions behind the faults. Set up, it is to be entered."""
    found = Served(client(sessions, turns), key=KEY, app=partial(Faults, slow=1.5))
    # Each answer that is broken off would be told.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    return found


def digest(out: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def faults_of(out: Path, sessions: int, turns: int) -> list[str]:
    """What of the sessions is not in the directory as it was, lost or twice."""
    wanted = {f"sess_{number:012}.record.yaml": number for number in range(sessions)}
    found = {path.name for path in out.glob("*.record.yaml")}
    faults = [f"{name} is missing or too much" for name in sorted(found ^ wanted.keys())]
    for name in sorted(found & wanted.keys()):
        pulled, source = read_record(out / name), session(wanted[name], turns)
        faults += [] if story(pulled) == story(source) else [f"{name} is another"]
    return faults


def story(ledger: Ledger) -> list[Any]:
    """What happened in a session, in order, without what the API has no field for."""
    told: list[Any] = []
    for event in ledger.events:
        match event:
            case SessionCreated():
                told.append((event.id, event.agent_id, event.user_id, event.at, event.state, event.metadata))
            case TurnStarted():
                told.append((event.number, event.input))
            case ToolCalled():
                told.append((event.tool, event.arguments, event.result, event.at))
            case StateUpdated():
                told.append((event.version, event.value, event.reasoning, event.actor, event.at))
            case StateRolledBack():
                told.append((event.version, event.to_version, event.value, event.reason, event.actor, event.at))
            case TurnAdded():
                told.append((event.output, event.reasoning))
    return told


def pull_all(
    url: str, out: Path, *, timeout: float = 1.0, slept: Callable[[float], None] = lambda seconds: None
) -> tuple[Counter[str], Api]:
    """Pull every session; what became of them."""
    with Api(url, KEY, timeout=timeout, sleep=slept) as api:
        pulling = Pull(api, out)
        outcomes = Counter(pulling.one(found).what for found in find_sessions(api, Wanted(agent="support")))
        pulling.store.finish()
        return outcomes, api


# --- processes


def _serve(sessions: int, turns: int) -> None:
    with served(sessions, turns) as url:
        print(url, flush=True)
        sys.stdin.read()


def _pull(url: str, out: str, traced: str) -> None:
    if traced == "traced":
        tracemalloc.start()
    began = time.monotonic()
    outcomes, api = pull_all(url, Path(out), slept=lambda seconds: time.sleep(min(seconds, 0.02)))
    told = {"seconds": round(time.monotonic() - began, 1), **outcomes, "requests": api.requests}
    told |= {"repeated": api.repeated, "MB received": round(api.received / 1e6, 1)}
    if traced == "traced":
        told["peak of Python's memory in MB"] = round(tracemalloc.get_traced_memory()[1] / 1e6, 1)
    else:
        told["peak of the process in MB"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1)
    print(json.dumps(told))


def _start(*arguments: object, **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.data.pull_many", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, **more)


def _measured(url: str, out: Path, traced: str = "") -> dict[str, Any]:
    done = _start("pull", url, out, traced)
    told: dict[str, Any] = json.loads(done.communicate()[0])
    return told


def _killed(url: str, out: Path, when: int) -> int:
    """Kill a pull with the signal that cannot be caught once so many records are there; how many there were then."""
    running = _start("pull", url, out, "")
    while running.poll() is None and len(list(out.glob("*.record.yaml"))) < when:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.communicate()
    return len(list(out.glob("*.record.yaml")))


def _all(sessions: int, turns: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        for count in (max(1, sessions // 5), sessions):
            server = _start("serve", count, turns, stdin=subprocess.PIPE)
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            out = Path(place, str(count))
            print(f"{count} sessions of {turns} turns:", _measured(url, out))
            print("  lost, twice or changed:", faults_of(out, count, turns) or "nothing")
            print("  traced:", _measured(url, Path(place, f"{count}-traced"), "traced"))
            if count == sessions:
                before = digest(out)
                print(
                    "  again:",
                    _measured(url, out),
                    "- changed files:",
                    sum(digest(out)[n] != before[n] for n in before),
                )
                killed = Path(place, "killed")
                print(f"  killed with {_killed(url, killed, count // 2)} records, then:", _measured(url, killed))
                print("  same files as the whole run:", digest(killed) == before)
            server.communicate()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", sessions, turns]:
            _serve(int(sessions), int(turns))
        case ["pull", url, out, traced]:
            _pull(url, out, traced)
        case numbers:
            _all(*[int(number) for number in numbers or ["500", "50"]])
