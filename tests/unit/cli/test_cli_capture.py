"""`pytest-statebase capture`: a program in a process of its own, unchanged and recorded."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import pytest_statebase
from pytest_statebase.journal import CapturedSession, read_sessions
from pytest_statebase.journal.status import read_statuses
from pytest_statebase.statebase import LocalClient
from pytest_statebase.statebase.app import Served

ROOT = Path(pytest_statebase.__file__).parents[1]
COMMAND = [sys.executable, "-m", "pytest_statebase.cli", "capture"]
PYTHON = [sys.executable]
TOOLS = """
def look_up(order):
    if order == "none":
        raise KeyError(order)
    return {"order": order, "total": 42.5}
"""
AGENT = """
from shop_tools import look_up

def answer(session_id, user_input):
    return f"{user_input} costs {look_up(user_input)['total']}"

class Agent:
    async def run(self, thread, text):
        return {"said": f"{text}: {look_up(text)['total']}"}

agent = Agent()
"""
SCRIPT = """
import sys
from shop_agent import answer as kept
print(kept("s1", "1047"))
print(kept("s1", sys.stdin.read()))
sys.exit(3)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    for name, text in {"shop_tools": TOOLS, "shop_agent": AGENT, "script": SCRIPT}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    return tmp_path


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [more.pop("PYTHONPATH", "")])])
    return {**os.environ, "PYTHONPATH": path, **more}


def run(here: Path, *args: str, stdin: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *args]
    return subprocess.run(
        command, cwd=here, input=stdin, capture_output=True, text=True, timeout=60, env=environment(**more)
    )


def sessions(here: Path, out: str = "captured") -> dict[str, CapturedSession]:
    return {one.id: one for one in read_sessions([here / out])}


def told(session: CapturedSession) -> list[tuple[Any, Any]]:
    return [(turn.text, turn.output["content"]) for turn in session.ledger.turns]


def test_a_script_is_recorded_and_is_as_it_was(here: Path) -> None:
    done = run(
        here, "--agent", "shop_agent:answer", "--tools", "shop_tools:*", "--", *PYTHON, "script.py", stdin="1052"
    )

    assert (done.returncode, done.stdout) == (3, "1047 costs 42.5\n1052 costs 42.5\n")
    assert done.stderr == f"pytest-statebase capture: 2 turns in {here / 'captured'}\n"
    (session,) = sessions(here).values()
    assert told(session) == [("1047", "1047 costs 42.5"), ("1052", "1052 costs 42.5")]
    calls = [call for turn in session.ledger.turns for call in turn.calls]
    assert [(call.tool, call.arguments) for call in calls] == [
        ("look_up", {"order": "1047"}),
        ("look_up", {"order": "1052"}),
    ]


def test_settings_of_the_project(here: Path) -> None:
    ini = "[pytest]\nstatebase_agent = shop_agent:answer\nstatebase_tools = shop_tools:look_up\n"
    (here / "pytest.ini").write_text(ini, encoding="utf-8")
    run(here, "--out", "journals/here", "--", *PYTHON, "script.py", stdin="1")
    (session,) = sessions(here, "journals/here").values()
    assert [len(turn.calls) for turn in session.ledger.turns] == [1, 1]


def test_what_is_redacted_is_what_the_project_says(here: Path) -> None:
    ini = "[pytest]\nstatebase_redact = customer = CUST-\\d+\nstatebase_secrets = order\n"
    (here / "pytest.ini").write_text(ini, encoding="utf-8")
    run(here, "--agent", "shop_agent:answer", "--tools", "shop_tools:*", "--", *PYTHON, "script.py", stdin="CUST-77")
    written = b"".join(path.read_bytes() for path in (here / "captured").iterdir())
    assert b"s1" in written
    assert b"CUST-77" not in written
    strict = ["--privacy", "strict", "--keep-field", "total", "--out", "strictly"]
    run(here, *strict, "--agent", "shop_agent:answer", "--tools", "shop_tools:*", "--", *PYTHON, "script.py", stdin="x")
    written = b"".join(path.read_bytes() for path in (here / "strictly").iterdir())
    assert b"costs" not in written
    assert b"42.5" in written


def test_an_object_with_a_method_and_places(here: Path) -> None:
    code = "import asyncio, shop_agent; print(asyncio.run(shop_agent.agent.run('t1', text='x')))"
    done = run(
        here, "--agent=shop_agent:agent", "--session=thread", "--input=text", "--output=said", "--", *PYTHON, "-c", code
    )
    assert done.stdout == "{'said': 'x: 42.5'}\n"
    assert told(sessions(here)["t1"]) == [("x", "x: 42.5")]


def test_several_entry_points(here: Path) -> None:
    code = "import shop_agent as a; print(a.answer('s1', '1')); print(asyncio.run(a.agent.run('s2', '2')))"
    agents = ["--agent", "shop_agent:answer", "--agent", "shop_agent:agent", "--session", "thread"]
    done = run(here, *agents, "--", *PYTHON, "-c", f"import asyncio; {code}")
    assert done.stdout == "1 costs 42.5\n{'said': '2: 42.5'}\n"
    assert "1 turn in" in done.stderr
    assert "answer has no parameter 'thread'. It has session_id, user_input. The program runs" in done.stderr
    done = run(here, *agents[:4], "--out", "both", "--", *PYTHON, "-c", f"import asyncio; {code}")
    assert "2 turns in" in done.stderr


def test_what_the_agent_raises_is_its_own(here: Path) -> None:
    code = "from shop_agent import answer; answer('s1', 'none')"
    done = run(here, "--agent", "shop_agent:answer", "--tools", "shop_tools:*", "--", *PYTHON, "-c", code)
    assert done.returncode == 1
    assert "KeyError: 'none'" in done.stderr
    (turn,) = sessions(here)["s1"].ledger.turns
    assert turn.error is not None
    assert (turn.error["type"], turn.calls[0].error) == ("KeyError", turn.calls[0].error)


def test_children_are_recorded_too(here: Path) -> None:
    (here / "parent.py").write_text(
        "import multiprocessing, os, subprocess, sys\n"
        "from shop_agent import answer\n"
        "def work(name):\n"
        "    answer(name, 'in a child')\n"
        "if __name__ == '__main__':\n"
        "    code = \"from shop_agent import answer; answer('started', 'x')\"\n"
        "    subprocess.run([sys.executable, '-c', code], check=True)\n"
        "    for kind in ('spawn', 'fork'):\n"
        "        child = multiprocessing.get_context(kind).Process(target=work, args=(kind,))\n"
        "        child.start()\n"
        "        child.join()\n"
        "    answer('parent', 'x')\n",
        encoding="utf-8",
    )
    done = run(here, "--agent", "shop_agent:answer", "--", *PYTHON, "parent.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("pytest-statebase capture") == 1
    assert set(sessions(here)) == {"started", "spawn", "fork", "parent"}


SHOWN = """
import json, os, sys, sitecustomize
try:
    import own_site
except ImportError:
    own_site = None
print(json.dumps([sys.path, sys.argv, sitecustomize.__file__, getattr(own_site, "ran", 0), len(sys.meta_path)]))
"""


def test_the_path_and_another_sitecustomize_are_as_they_were(here: Path) -> None:
    site = here / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("import own_site\nown_site.ran += 1\n", encoding="utf-8")
    (site / "own_site.py").write_text("ran = 0\n", encoding="utf-8")
    (here / "shown.py").write_text(SHOWN, encoding="utf-8")

    done = run(here, "--", *PYTHON, "shown.py", "a", "-b", PYTHONPATH=str(site))
    bare = subprocess.run(
        [*PYTHON, "shown.py", "a", "-b"],
        cwd=here,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(site)),
    )

    (*captured, finders), (*before, others) = json.loads(done.stdout), json.loads(bare.stdout)
    assert captured == before
    assert captured[2:] == [str(site / "sitecustomize.py"), 1]
    assert finders == others + 1


def test_a_sitecustomize_that_fails_is_told_as_ever(here: Path) -> None:
    (here / "sitecustomize.py").write_text("raise KeyError('theirs')\n", encoding="utf-8")
    done = run(here, "--agent", "shop_agent:answer", "--", *PYTHON, "script.py", PYTHONPATH=str(here))
    assert "KeyError: theirs" in done.stderr.replace("'", "")
    assert len(sessions(here)["s1"].ledger.turns) == 2


def test_a_module_and_a_program_that_is_none_of_python(here: Path) -> None:
    (here / "package").mkdir()
    (here / "package" / "__main__.py").write_text(SCRIPT, encoding="utf-8")
    assert run(here, "--agent", "shop_agent:answer", "--", *PYTHON, "-m", "package").returncode == 3
    assert len(sessions(here)["s1"].ledger.turns) == 2
    shell = run(here, "--", "sh", "-c", "echo $1; cat; exit 5", "name", "an argument", stdin="in")
    assert (shell.returncode, shell.stdout, shell.stderr) == (5, "an argument\nin", "")


def test_nothing_is_loaded_into_a_program_that_captures_nothing(here: Path) -> None:
    code = "import sys; print([name for name in sys.modules if name.startswith('pytest_statebase')])"
    done = run(here, "--", *PYTHON, "-c", code)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ([], "1", "no agent was named, and no request to StateBase told of a turn; give --agent module:function"),
        (["--agent", "shop_agent:answer"], "1", "shop_agent was not imported in this process"),
        (["--agent", "shop_agent:answer"], "import shop_agent", "shop_agent:answer was not called"),
        (
            ["--agent", "shop_agent:answer", "--sample", "0"],
            "import shop_agent as a; a.answer('s', '1')",
            "of the sample",
        ),
    ],
)
def test_it_says_what_to_give_where_nothing_was_captured(here: Path, args: list[str], code: str, said: str) -> None:
    done = run(here, *args, "--", *PYTHON, "-c", code)
    assert done.returncode == 0
    assert done.stderr.startswith("pytest-statebase capture: nothing was captured: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


PROBLEMS = {
    "no entry point": (["--agent", "shop_agent:nothing"], "shop_agent:nothing is no entry point of an agent"),
    "no name": (["--agent", "shop_agent"], "names no entry point"),
    "no rule": (["--privacy", "default", "--keep-field", "x"], "keep_fields goes with privacy='strict'"),
    "no host": (["--api-host", "http://x"], "is no pattern of hosts"),
    "no directory": (["--out", "shop_tools.py/x"], "Not a directory"),
    "no parameter": (["--agent", "shop_agent:answer", "--input", "words"], "answer has no parameter 'words'"),
}


@pytest.mark.parametrize(("args", "said"), PROBLEMS.values(), ids=PROBLEMS)
def test_the_program_runs_whatever_is_wrong(here: Path, args: list[str], said: str) -> None:
    done = run(here, *args, "--", *PYTHON, "script.py", stdin="1052")
    assert (done.returncode, done.stdout) == (3, "1047 costs 42.5\n1052 costs 42.5\n")
    assert said in done.stderr
    assert "The program runs without it." in done.stderr

    strict = run(here, "--strict", *args, "--", *PYTHON, "script.py", stdin="1052")
    assert (strict.returncode, strict.stdout) == (1, "")
    assert said in strict.stderr


def test_a_pattern_of_tools_that_means_nothing(here: Path) -> None:
    done = run(
        here, "--agent", "shop_agent:answer", "--tools", "shop_tools:nothing", "--", *PYTHON, "script.py", stdin="1"
    )
    assert (done.returncode, len(sessions(here)["s1"].ledger.turns)) == (3, 2)
    assert "capture failed at looking for tools" in done.stderr


def test_a_program_that_is_not_there(here: Path) -> None:
    done = run(here, "--", "no-such-program")
    assert (done.returncode, done.stderr) == (127, "no-such-program: no such program\n")
    (here / "text.txt").write_text("", encoding="utf-8")
    assert run(here, "--", "./text.txt").returncode == 126


def test_signals_end_it_as_they_would(here: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
    assert run(here, "--", *PYTHON, "-c", code).returncode == -signal.SIGTERM
    asleep = (
        "import sys, time; from shop_agent import answer; answer('s1', '1'); print('there', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [*COMMAND, "--agent", "shop_agent:answer", "--", *PYTHON, "-c", asleep],
        cwd=here,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        # What runs in the background of a shell has it ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == -signal.SIGINT
        assert process.stderr is not None
        assert "KeyboardInterrupt" in process.stderr.read()
    assert len(sessions(here)["s1"].ledger.turns) == 1


STATEBASE = """
import sys
from statebase import StateBase
from shop_tools import look_up

client = StateBase(api_key="sb_test", base_url=sys.argv[1])
session = client.sessions.create("shop", initial_state={"orders": []}).id
for words in ("1047", "1052"):
    client.sessions.get_context(session)
    reply = f"{words} costs {look_up(words)['total']}"
    client.sessions.update_state(session, {"orders": [words]}, reasoning="asked for")
    client.sessions.add_turn(session, words, reply)
"""


def test_an_agent_on_statebase_needs_no_agent(here: Path) -> None:
    (here / "chat.py").write_text(STATEBASE, encoding="utf-8")
    with Served(LocalClient({}), tool_turns=False) as url:
        host = url.removeprefix("http://")
        done = run(here, "--api-host", host, "--tools", "shop_tools:*", "--", *PYTHON, "chat.py", url)
    assert done.stderr == f"pytest-statebase capture: 2 turns in {here / 'captured'}\n"
    (session,) = sessions(here).values()
    assert told(session) == [("1047", "1047 costs 42.5"), ("1052", "1052 costs 42.5")]
    assert [version.state for version in session.ledger.versions] == [
        {"orders": []},
        {"orders": ["1047"]},
        {"orders": ["1052"]},
    ]
    assert session.exchanges == ()


SERVICE = """
import asyncio, json, urllib.request
from pytest_statebase import CaptureMiddleware
from shop_tools import look_up

def ask(words):
    return f"{words} costs {look_up(words)['total']}"

async def chat(scope, receive, send):
    if scope["type"] == "lifespan":
        for _ in range(2):
            await send({"type": (await receive())["type"] + ".complete"})
        return
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    asked = json.loads(body or b"{}")
    reply = await asyncio.to_thread(ask, asked.get("message", "")) if body else "alive"
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
    for word in reply.split(" "):
        piece = json.dumps({"delta": word + " "}).encode()
        await send({"type": "http.response.body", "body": b"data: " + piece + b"\\n\\n", "more_body": True})
    await send({"type": "http.response.body", "body": b""})

app = CaptureMiddleware(chat, path="/chat", body={"message": "{input}", "thread": "{session_id}"}, reply="delta")
"""


@contextmanager
def service(here: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """uvicorn, captured, with its address."""
    (here / "service.py").write_text(SERVICE, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = [*PYTHON, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "error", *options]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(
        [*COMMAND, "--tools", "shop_tools:*", "--", *program],
        cwd=here,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    ) as process:
        try:
            for _ in range(600):
                try:
                    httpx.get(f"{url}/health")
                    break
                except httpx.TransportError:
                    assert process.poll() is None
                    time.sleep(0.05)
            yield url, process
        finally:
            process.terminate()
            process.wait(30)


def chats(url: str, count: int) -> None:
    async def chat(client: httpx.AsyncClient, number: int) -> None:
        for words in (f"{number}", "1047"):
            asked = {"thread": f"s{number}", "message": words}
            answer = await client.post(f"{url}/chat", json=asked)
            assert answer.text.count("data:") == 3

    async def main() -> None:
        async with httpx.AsyncClient(timeout=60) as client:
            await asyncio.gather(*(chat(client, number) for number in range(count)))

    asyncio.run(main())


@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=["one process", "two workers"])
def test_a_service_under_load(here: Path, options: list[str]) -> None:
    with service(here, *options) as (url, process):
        chats(url, 20)
        process.send_signal(signal.SIGINT)
        process.wait(30)

    found = sessions(here)
    assert sorted(found) == sorted(f"s{number}" for number in range(20))
    for number in range(20):
        one = found[f"s{number}"]
        assert told(one) == [(f"{number}", f"{number} costs 42.5 "), ("1047", "1047 costs 42.5 ")]
        assert [call.arguments for turn in one.ledger.turns for call in turn.calls] == [
            {"order": f"{number}"},
            {"order": "1047"},
        ]


@pytest.mark.parametrize("options", [[], ["--workers", "2"]], ids=["one process", "two workers"])
def test_a_service_that_is_told_to_end_ends_the_capture(here: Path, options: list[str]) -> None:
    """uvicorn shuts down, and then dies by the signal that told it to."""
    with service(here, *options) as (url, process):
        chats(url, 10)
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        assert process.stderr is not None
        assert f"20 turns in {here / 'captured'}" in process.stderr.read()
    statuses = read_statuses(here / "captured")
    assert statuses
    assert all(status["ended"] for status in statuses)
    assert sorted(sessions(here)) == sorted(f"s{number}" for number in range(10))
