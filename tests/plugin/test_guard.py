"""The guard in runs of pytest: ini keys, the client fixture, threads that outlive a replay, workers of pytest-xdist."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator

import pytest

from tests.plugin.conftest import INI, Project
from tests.web.servers import Counting, counting

AGENT = """
import contextlib, socket, threading, toy

class agent(toy.Toy):
    def __call__(self, user_input, turn):
        if turn == 2:
            with contextlib.suppress(Exception):
                fetch_price(PORT)
        return super().__call__(user_input, turn)

def fetch_price(port):
    socket.create_connection(("127.0.0.1", port)).close()
"""


GOING = threading.Event()
"""Lets threads of agents in this process go on."""


@pytest.fixture
def server() -> Iterator[Counting]:
    with counting() as found:
        yield found


def run(project: Project, server: Counting, *args: str, source: str = AGENT, ini: str = "") -> pytest.RunResult:
    project.cassette()
    project.ini(INI + ini)
    (project.path / "mine.py").write_text(source.replace("PORT", str(server.port)))
    return project.run("--statebase-results=results.jsonl", *args, agent="mine:agent")


def test_host_and_place_are_told(project: Project, server: Counting) -> None:
    result = run(project, server)
    (row,) = project.results()
    assert row["verdicts"] == {"unchanged": 1, "unrecorded": 1, "not-replayed": 1}
    assert f"{server.where} was not connected to, from mine.py:12 in fetch_price" in result.stdout.str()
    assert "statebase_allowed_hosts" in result.stdout.str()
    assert server.hits() == 0


@pytest.mark.parametrize(
    "keys", ["statebase_allowed_hosts = other.example.com {}", "statebase_allowed_hosts =\n    {}\n"]
)
def test_allowed_hosts(project: Project, server: Counting, keys: str) -> None:
    run(project, server, ini=keys.format(server.where))
    assert project.results()[0]["verdicts"] == {"unchanged": 3}
    assert server.hits() == 1


def test_blocked_hosts(project: Project, server: Counting) -> None:
    run(project, server, ini=f"statebase_blocked_hosts = {server.where}\nstatebase_allowed_hosts = *\n")
    assert project.results()[0]["verdicts"] == {"unchanged": 3}
    assert server.hits() == 0


@pytest.mark.parametrize("key", ["statebase_allowed_hosts", "statebase_blocked_hosts"])
@pytest.mark.parametrize(
    "pattern",
    ["http://a.example.com", "a:b", "a:0", "a:70000", "[::1", "[a]:80", "a..b", "*a.com", "10.0.0.0/8", "a b:c"],
)
def test_a_pattern_that_is_none(project: Project, server: Counting, key: str, pattern: str) -> None:
    result = run(project, server, ini=f"{key} = {pattern}\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"{key}: " in result.stderr.str()
    assert "is no pattern of hosts" in result.stderr.str()
    assert server.hits() == 0


LATE = """
import socket, threading, time, toy

def late():
    time.sleep(0.2)
    socket.create_connection(("127.0.0.1", PORT)).close()

class agent(toy.Toy):
    def __call__(self, user_input, turn):
        if turn == 3:
            threading.Thread(target=late).start()
        return super().__call__(user_input, turn)
"""
WAIT = """
import time
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown():
    yield
    time.sleep(0.6)
"""


@pytest.mark.parametrize("args", [(), ("-n1",)])
def test_a_thread_that_outlives_its_replay(project: Project, server: Counting, args: tuple[str, ...]) -> None:
    (project.path / "conftest.py").write_text(WAIT)
    result = run(project, server, *args, source=LATE)
    assert project.results()[0]["verdicts"] == {"unchanged": 3}
    told = f"{server.where} was not connected to, from mine.py:6 in late: that was tried after turn 3 of sess_toy"
    assert f"{told} had ended" in " ".join(result.stdout.str().split())
    assert server.hits() == 0


AT_THE_END = """
import socket, threading, time, toy
{imports}

def late():
    with open("late.txt", "a") as file:
        file.write("late ")
    {wait}
    socket.create_connection(("127.0.0.1", PORT)).close()

class agent(toy.Toy):
    def __call__(self, user_input, turn):
        if turn == 3:
            {start}
        return super().__call__(user_input, turn)
"""
IDLE = "while not threading._SHUTTING_DOWN: time.sleep(0.01)"


@pytest.mark.parametrize(
    ("imports", "start", "wait"),
    [
        ("", "threading.Thread(target=late).start()", IDLE),
        ("", "threading.Timer(0.1, lambda: threading.Thread(target=late).start()).start()", IDLE),
        ("from concurrent.futures import ThreadPoolExecutor as Pool", "Pool(1).submit(late)", IDLE),
        ("import atexit", "atexit.register(late)", ""),
    ],
    ids=["thread", "timer", "pool", "atexit"],
)
def test_what_is_left_when_the_process_ends(
    project: Project, server: Counting, imports: str, start: str, wait: str
) -> None:
    project.cassette()
    source = AT_THE_END.format(imports=imports, start=start, wait=wait)
    (project.path / "mine.py").write_text(source.replace("PORT", str(server.port)))
    result = project.pytester.runpytest_subprocess(
        "--statebase-replay", "--statebase-agent=mine:agent", "-p", "no:cacheprovider"
    )
    result.assert_outcomes(passed=1)
    assert (project.path / "late.txt").read_text() == "late "
    assert server.hits() == 0
    told = [line for line in result.errlines if "was not connected to" in line]
    if "Pool" not in imports:
        (line,) = told
        assert line.startswith(f"statebase: {server.where} was not connected to, from mine.py:")
        assert line.endswith("in late: that was tried after turn 3 of sess_toy had ended")
    assert "Traceback" not in result.stderr.str()


LATE_REQUEST = """
import threading, httpx, toy
going, done = threading.Event(), threading.Event()

def late():
    going.wait(10)
    try:
        {call}
    finally:
        done.set()

class agent(toy.Toy):
    def __call__(self, user_input, turn):
        if turn == 1:
            threading.Thread(target=late).start()
        if turn == 3 and {during}:
            going.set()
            done.wait(10)
        return super().__call__(user_input, turn)
"""
CALLS = ["httpx.post('http://127.0.0.1:PORT/t', json={'a': 1})", "toy.price('kiwi')"]


@pytest.mark.parametrize("call", CALLS, ids=["request", "tool"])
def test_what_a_turn_left_behind_is_charged_to_it(project: Project, server: Counting, call: str) -> None:
    pytest.importorskip("httpx")
    result = run(project, server, source=LATE_REQUEST.format(call=call, during=True))
    result.assert_outcomes(failed=1, warnings=0)
    (row,) = project.results()
    assert [turn["verdict"] for turn in row["turns"]] == ["unrecorded", "off-script", "off-script"]
    assert server.hits() == 0


@pytest.mark.parametrize("call", CALLS, ids=["request", "tool"])
def test_what_comes_after_the_replay_is_a_warning(project: Project, server: Counting, call: str) -> None:
    pytest.importorskip("httpx")
    (project.path / "conftest.py").write_text(
        "import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_teardown():\n"
        "    import mine\n    yield\n    mine.going.set()\n    assert mine.done.wait(10)\n"
    )
    result = run(project, server, source=LATE_REQUEST.format(call=call, during=False))
    result.assert_outcomes(passed=1, warnings=0)
    assert project.results()[0]["verdicts"] == {"unchanged": 3}
    told = {
        CALLS[
            0
        ]: f"POST {server.url}/t was refused, from mine.py:8 in late: that was requested after turn 1 of sess_toy",
        CALLS[1]: "price was not answered, from mine.py:8 in late: that was called after turn 1 of sess_toy",
    }[call]
    assert f"{told} had ended" in " ".join(result.stdout.str().split())
    head = json.loads((project.path / "results.jsonl").read_text(encoding="ascii").splitlines()[0])
    assert head["run"]["warnings"] == [f"{told} had ended"]
    assert server.hits() == 0


def test_a_run_inside_of_a_process_leaves_its_host_alone(project: Project, server: Counting) -> None:
    GOING.clear()
    source = "from tests.plugin.test_guard import GOING\n" + LATE.replace("time.sleep(0.2)", "GOING.wait(10)")
    run(project, server, source=source)
    with socket.create_connection(("127.0.0.1", server.port)):
        pass
    thread = threading.Thread(target=lambda: socket.create_connection(("127.0.0.1", server.port)).close())
    thread.start()
    thread.join()
    GOING.set()
    for left in [one for one in threading.enumerate() if one.name.endswith("(late)")]:
        left.join()
    assert server.hits() == 2


def test_fixtures_between_replays_go_where_they_like(project: Project, server: Counting) -> None:
    (project.path / "conftest.py").write_text(
        "import socket, pytest\n@pytest.fixture(autouse=True)\ndef database():\n"
        f"    socket.create_connection(('localhost', {server.port})).close()\n"
        "    yield\n"
        f"    socket.create_connection(('localhost', {server.port})).close()\n"
    )
    project.cassette("other", session="sess_other")
    run(project, server, source=AGENT.replace("turn == 2", "turn == 9"))
    assert [row["verdicts"] for row in project.results()] == [{"unchanged": 3}] * 2
    assert server.hits() == 4


def test_under_xdist(project: Project, server: Counting) -> None:
    for number in range(4):
        project.cassette(f"more{number}", session=f"sess_{number}")
    run(project, server, "-n2")
    verdicts = {"unchanged": 1, "unrecorded": 1, "not-replayed": 1}
    assert [row["verdicts"] for row in project.results()] == [verdicts] * 5
    assert server.hits() == 0


CLIENT = """
import socket, pytest

def fetch():
    socket.create_connection(("127.0.0.1", PORT)).close()

def test_with(statebase_client):
    with pytest.raises(BaseException):
        fetch()

def test_without():
    fetch()
"""


def test_while_a_test_holds_the_client(project: Project, server: Counting) -> None:
    project.cassette()
    (project.path / "test_it.py").write_text(CLIENT.replace("PORT", str(server.port)))
    result = project.pytester.runpytest_subprocess("-p", "no:cacheprovider", "test_it.py")
    result.assert_outcomes(passed=2, errors=1)
    assert f"{server.where} was not connected to, from test_it.py:5 in fetch" in result.stdout.str()
    assert server.hits() == 1


BEHIND = """
import queue, socket, pytest, threading

todo, done = queue.Queue(), queue.Queue()

def work():
    todo.get()
    try:
        socket.create_connection(("127.0.0.1", PORT)).close()
    except OSError as error:
        done.put(error)

threading.Thread(target=work, daemon=True).start()

def test_with(statebase_client):
    todo.put(1)
    assert isinstance(done.get(timeout=10), ConnectionRefusedError)
"""


def test_a_thread_behind_a_test_that_holds_the_client(project: Project, server: Counting) -> None:
    project.cassette()
    (project.path / "test_it.py").write_text(BEHIND.replace("PORT", str(server.port)))
    result = project.pytester.runpytest_subprocess("-p", "no:cacheprovider", "test_it.py")
    result.assert_outcomes(passed=1, warnings=1)
    assert "in a thread that the agent did not start" in result.stdout.str()
    assert server.hits() == 0


SIMULATED = """
import socket, toy

def simulator(call, state, cassette):
    socket.create_connection(("127.0.0.1", PORT)).close()
    return {"item": "kiwi", "price": 4, "currency": "EUR"}

class agent(toy.ExtraCall):
    pass
"""


def test_a_simulator_may_ask_whom_it_likes(project: Project, server: Counting) -> None:
    ini = "statebase_unrecorded = simulate\nstatebase_simulator = mine:simulator\n"
    run(project, server, source=SIMULATED, ini=ini)
    assert "unrecorded" not in project.results()[0]["verdicts"]
    assert server.hits() == 1


def test_unused_it_adds_no_hook(project: Project) -> None:
    project.cassette()
    (project.path / "conftest.py").write_text(
        "import sys\ndef pytest_unconfigure():\n"
        "    guard = sys.modules.get('pytest_statebase.wire.guard')\n"
        "    open('hooked.txt', 'w').write(str(guard is not None and guard._installed))\n"
    )
    (project.path / "test_it.py").write_text("def test_it(): pass\n")
    project.pytester.runpytest_subprocess("-p", "no:cacheprovider", "test_it.py").assert_outcomes(passed=1)
    assert (project.path / "hooked.txt").read_text() == "False"


BLOCKED = """
import threading, httpx, toy

def ping(port):
    httpx.post(f"http://127.0.0.1:{port}/t", json={"a": 1})

class agent(toy.Toy):
    def __call__(self, user_input, turn):
        thread = threading.Thread(target=ping, args=(PORT,))
        thread.start()
        thread.join()
        return super().__call__(user_input, turn)
"""
STRICT = "filterwarnings = error::pytest.PytestUnhandledThreadExceptionWarning\n"


def test_what_is_blocked_in_a_thread_is_no_warning(project: Project, server: Counting) -> None:
    pytest.importorskip("httpx")
    result = run(project, server, source=BLOCKED, ini=f"{STRICT}statebase_blocked_hosts = {server.where}\n")
    result.assert_outcomes(passed=1, warnings=0)
    assert project.results()[0]["verdicts"] == {"unchanged": 3}
    assert server.hits() == 0


def test_what_is_unrecorded_in_a_thread_is_told_by_the_verdict_alone(project: Project, server: Counting) -> None:
    pytest.importorskip("httpx")
    result = run(project, server, source=BLOCKED)
    result.assert_outcomes(failed=1, warnings=0)
    assert project.results()[0]["verdicts"] == {"unrecorded": 1, "not-replayed": 2}
    assert "Exception in thread" not in result.stdout.str() + result.stderr.str()
    assert "network.py" not in result.stdout.str()


def test_an_agents_own_error_in_a_thread_is_pytests_affair(project: Project, server: Counting) -> None:
    source = BLOCKED.replace('httpx.post(f"http://127.0.0.1:{port}/t", json={"a": 1})', "raise ValueError('mine')")
    result = run(project, server, source=source, ini=STRICT)
    result.assert_outcomes(failed=1)
    (row,) = project.results()
    assert row["outcome"] == "failed"
    assert row["failure"].startswith("pytest: ")
    result.stdout.fnmatch_lines(["*ValueError: mine*", "fail*1 session*3 unchanged"])
