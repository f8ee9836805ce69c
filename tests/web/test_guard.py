"""Nothing leaves the machine in a replay, and nothing reaches loopback: what tries is refused, and told."""

from __future__ import annotations

import _thread
import asyncio
import atexit
import contextlib
import errno
import gc
import http.client
import queue
import smtplib
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from pytest_statebase import Cassette, ReplayResult, Verdict, record_session, replay, replay_async
from pytest_statebase.cassette.plan import Plan, ToolRules
from pytest_statebase.engine.agents import as_agent
from pytest_statebase.engine.options import make_options
from pytest_statebase.engine.runner import _Replays
from pytest_statebase.engine.web.fence import blocked, is_told
from pytest_statebase.errors import UnrecordedCall
from tests.web.servers import Counting, counting

NAMED = "db.example.com"


@pytest.fixture
def server() -> Iterator[Counting]:
    with counting() as found:
        yield found
        assert found.hits() == 0


@pytest.fixture
def open_server() -> Iterator[Counting]:
    """One that a test lets replays reach."""
    with counting() as found:
        yield found


def recording(turns: int = 1) -> Cassette:
    return Cassette.from_ledger(record_session(lambda user_input: "done", ["go"] * turns, session_id="sess_web"))


def told(result: ReplayResult, number: int = 1) -> str:
    """Why a turn is unrecorded."""
    turn = result.turn(number)
    assert turn.verdict is Verdict.UNRECORDED
    assert turn.replayed is not None
    (why,) = [one.explanation for one in turn.replayed.requests if one.unrecorded]
    return why or ""


def assert_unrecorded(result: ReplayResult, host: str, site: str | None = None) -> None:
    why = told(result)
    assert host in why, why
    assert site is None or site in why, why
    assert not result.passed


# --- what the turn itself tries ---


def raw(port: int) -> Any:
    with socket.socket() as sock:
        sock.connect(("127.0.0.1", port))
        sock.sendall(b"x")


def created(port: int) -> Any:
    socket.create_connection(("127.0.0.1", port)).close()


def by_name(port: int) -> Any:
    with socket.socket() as sock:
        sock.connect(("localhost", port))


def six(port: int) -> Any:
    with socket.socket(socket.AF_INET6) as sock:
        sock.connect(("::ffff:127.0.0.1", port))


def connect_ex(port: int) -> Any:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port))


def nonblocking(port: int) -> Any:
    with socket.socket() as sock:
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            sock.connect(("127.0.0.1", port))


def datagram(port: int) -> Any:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"x", ("127.0.0.1", port))


def message(port: int) -> Any:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendmsg([b"x"], [], 0, ("127.0.0.1", port))


def streams(port: int) -> Any:
    async def main() -> None:
        await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(main())


def plain_http(port: int) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/")
    return connection.getresponse().read()


def urlopen(port: int) -> Any:
    import urllib.request

    return urllib.request.urlopen(f"http://127.0.0.1:{port}/").read()


def mail(port: int) -> Any:
    return smtplib.SMTP("127.0.0.1", port)


def with_requests(port: int) -> Any:
    import requests

    return requests.get(f"http://127.0.0.1:{port}/", timeout=5).text


def with_urllib3(port: int) -> Any:
    import urllib3

    return urllib3.PoolManager().request("GET", f"http://127.0.0.1:{port}/").data


def with_httpx(port: int) -> Any:
    import httpx

    return httpx.get(f"http://127.0.0.1:{port}/").text


def with_httpx_async(port: int) -> Any:
    import httpx

    async def main() -> str:
        async with httpx.AsyncClient() as client:
            return (await client.get(f"http://127.0.0.1:{port}/")).text

    return asyncio.run(main())


def with_aiohttp(port: int) -> Any:
    import aiohttp

    async def main() -> str:
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/") as response:
            return await response.text()

    return asyncio.run(main())


SOCKETS = [raw, created, by_name, six, connect_ex, nonblocking, datagram, message, streams, mail]
CLIENTS = [plain_http, urlopen, with_requests, with_urllib3, with_httpx, with_httpx_async, with_aiohttp]
WAYS = pytest.mark.parametrize("way", [*SOCKETS, *CLIENTS], ids=lambda way: way.__name__)

POOL = ThreadPoolExecutor(1)
POOL.submit(int).result()


def direct(call: Callable[[], Any]) -> None:
    call()


def swallowed(call: Callable[[], Any]) -> None:
    with contextlib.suppress(Exception):
        call()


def swallowed_bare(call: Callable[[], Any]) -> None:
    for _ in range(3):
        try:
            call()
        except:  # noqa: E722
            continue


def in_thread(call: Callable[[], Any]) -> None:
    thread = threading.Thread(target=lambda: swallowed_bare(call))
    thread.start()
    thread.join()


def in_pool(call: Callable[[], Any]) -> None:
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(call) for _ in range(4)]:
            future.exception()


def in_old_pool(call: Callable[[], Any]) -> None:
    POOL.submit(call).exception()


def in_to_thread(call: Callable[[], Any]) -> None:
    asyncio.run(asyncio.to_thread(call))


HOW = [direct, swallowed, swallowed_bare, in_thread, in_pool, in_old_pool, in_to_thread]


@WAYS
@pytest.mark.parametrize("how", HOW, ids=lambda how: how.__name__)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_a_turn_tries_is_unrecorded(server: Counting, way: Callable[[int], Any], how: Callable[..., Any]) -> None:
    def agent(user_input: str) -> str:
        how(lambda: way(server.port))
        return "done"

    result = replay(recording(), agent)
    assert_unrecorded(result, str(server.port))
    if way in SOCKETS and way is not streams:
        assert_unrecorded(result, str(server.port), f"test_guard.py:{line_in(way)} in {way.__name__}")


def line_in(way: Callable[..., Any]) -> int:
    """The line in which a way leaves the machine: the one after those that make its socket."""
    import inspect

    lines, first = inspect.getsourcelines(way)
    leaves = ("connect", "connect_ex", "create_connection", "sendto", "sendmsg", "SMTP")
    return next(first + at for at, line in enumerate(lines) if at and any(f".{name}(" in line for name in leaves))


@pytest.mark.parametrize(
    "look_up",
    [
        lambda: socket.getaddrinfo(NAMED, 5432),
        lambda: socket.getaddrinfo(NAMED.encode(), None),
        lambda: socket.gethostbyname(NAMED),
        lambda: socket.gethostbyname_ex(NAMED),
        lambda: socket.gethostbyaddr(NAMED),
        lambda: socket.create_connection((NAMED, 5432)),
        lambda: asyncio.run(asyncio.wait_for(resolved_in_loop(), 5)),
        lambda: asyncio.run(opened()),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", (NAMED, 53)),
        lambda: smtplib.SMTP(NAMED),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_names_are_not_looked_up(look_up: Callable[[], Any]) -> None:
    def agent(user_input: str) -> str:
        with contextlib.suppress(BaseException):
            look_up()
        return "done"

    assert_unrecorded(replay(recording(), agent), NAMED, "test_guard.py:")


async def resolved_in_loop() -> Any:
    return await asyncio.get_running_loop().getaddrinfo(NAMED, 443)


async def opened() -> Any:
    return await asyncio.gather(asyncio.open_connection(NAMED, 5432))


def test_addresses_of_the_machine_itself_are_no_look_up() -> None:
    def agent(user_input: str) -> str:
        socket.getaddrinfo("127.0.0.1", 80)
        socket.getaddrinfo("localhost", 80)
        socket.getaddrinfo(None, 80)
        socket.getaddrinfo("192.0.2.1", 80)
        socket.gethostbyname("localhost")
        with contextlib.suppress(OSError):
            socket.gethostbyname(socket.gethostname())
        return "done"

    assert replay(recording(), agent).passed


def test_an_async_agent(server: Counting) -> None:
    async def agent(user_input: str) -> str:
        with contextlib.suppress(OSError):
            await asyncio.open_connection("127.0.0.1", server.port)
        return "done"

    assert_unrecorded(replay(recording(), agent), server.where, "in agent")


def test_an_async_agent_in_a_running_loop(server: Counting) -> None:
    async def look() -> None:
        await asyncio.gather(*(asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)))

    async def agent(user_input: str) -> str:
        with contextlib.suppress(BaseException):
            await asyncio.create_task(look())
        return "done"

    assert_unrecorded(asyncio.run(replay_async(recording(), agent)), server.where)


def test_an_async_agent_that_looks_a_name_up() -> None:
    async def agent(user_input: str) -> str:
        with contextlib.suppress(BaseException):
            await asyncio.open_connection(NAMED, 5432)
        return "done"

    assert_unrecorded(replay(recording(), agent), NAMED, "in agent")


def test_a_trio_agent(server: Counting) -> None:
    trio = pytest.importorskip("trio")

    async def agent(user_input: str) -> str:
        with contextlib.suppress(BaseException):
            await trio.open_tcp_stream("127.0.0.1", server.port)
        return "done"

    async def main() -> ReplayResult:
        return await replay_async(recording(), agent)

    assert_unrecorded(trio.run(main), server.where, "in agent")


def test_the_turn_is_over_and_later_turns_do_not_run(server: Counting) -> None:
    seen: list[int] = []

    def agent(user_input: str, turn: int) -> str:
        seen.append(turn)
        if turn == 2:
            swallowed_bare(lambda: raw(server.port))
        return "done"

    result = replay(recording(3), agent)
    assert [turn.verdict.value for turn in result.turns] == ["unchanged", "unrecorded", "not-replayed"]
    assert seen == [1, 2]
    assert server.where in told(result, 2)


@pytest.mark.parametrize("way", [with_requests, with_httpx, with_aiohttp], ids=lambda way: way.__name__)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_fifty_runs_of_eight_threads(server: Counting, way: Callable[[int], Any]) -> None:
    def agent(user_input: str) -> str:
        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(way, server.port) for _ in range(8)]:
                future.exception()
        return "done"

    for _ in range(50):
        assert_unrecorded(replay(recording(), agent), str(server.port))


def test_a_connection_by_a_unix_socket(tmp_path: Any) -> None:
    path = str(tmp_path / "db")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def agent(user_input: str) -> str:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(path)
            return "done"

        assert_unrecorded(replay(recording(), agent), path, "in agent")
        assert replay(recording(), agent, allowed_hosts=[path]).passed
        assert replay(recording(), agent, allowed_hosts=[f"unix:{tmp_path}/*"]).passed


# --- what is nobody's, or late ---


class Worker:
    """A thread that was there before any replay, and does what it is told."""

    def __init__(self) -> None:
        self.told: Callable[[], Any] = int
        self.error: BaseException | None = None
        self._go, self._done = threading.Event(), threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while self._go.wait():
            self._go.clear()
            try:
                self.told()
            except BaseException as error:
                self.error = error
            self._done.set()

    def do(self, told: Callable[[], Any]) -> BaseException | None:
        self.told, self.error = told, None
        self._done.clear()
        self._go.set()
        assert self._done.wait(10)
        return self.error


@pytest.mark.parametrize("way", [raw, created, datagram, with_requests, with_httpx], ids=lambda way: way.__name__)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_thread_that_was_there_before_is_refused_with_a_warning(server: Counting, way: Callable[[int], Any]) -> None:
    worker = Worker()
    errors: list[BaseException | None] = []

    def agent(user_input: str) -> str:
        for _ in range(3):
            errors.append(worker.do(lambda: way(server.port)))
        return "done"

    result = replay(recording(), agent)
    assert result.passed
    (warning,) = result.warnings
    assert str(server.port) in warning
    assert "in a thread that the agent did not start" in warning
    assert all(isinstance(error, Exception) for error in errors)
    if way in SOCKETS:
        assert all(isinstance(error, ConnectionRefusedError) for error in errors)
        assert f"in {way.__name__}" in warning


def test_a_look_up_of_a_thread_that_was_there_before() -> None:
    worker = Worker()
    errors: list[BaseException | None] = []

    def agent(user_input: str) -> str:
        errors.append(worker.do(lambda: socket.gethostbyname(NAMED)))
        return "done"

    result = replay(recording(), agent)
    assert result.passed
    assert NAMED in result.warnings[0]
    assert isinstance(errors[0], ConnectionRefusedError)
    assert isinstance(errors[0], socket.gaierror)


def left_behind(
    port: int, errors: list[BaseException]
) -> tuple[Callable[[str], str], threading.Event, threading.Event]:
    """An agent that leaves a thread behind in its first turn, what lets it go on, and what it sets when it is done."""
    going, done = threading.Event(), threading.Event()

    def late() -> None:
        going.wait(10)
        try:
            raw(port)
        except BaseException as error:
            errors.append(error)
        done.set()

    def agent(user_input: str, turn: int) -> str:
        if turn == 1:
            threading.Thread(target=late).start()
        return "done"

    return agent, going, done


def test_what_a_turn_left_behind_is_charged_to_it_while_its_replay_goes_on(server: Counting) -> None:
    errors: list[BaseException] = []
    agent, going, done = left_behind(server.port, errors)
    steps = _Replays(recording(3), as_agent(agent), make_options(), None)
    with ExitStack() as stack:
        for number, turn in enumerate(steps.turns(stack), 1):
            if number == 3:
                going.set()
                assert done.wait(10)
            turn.begin()
    result = steps.result()
    assert [turn.verdict for turn in result.turns] == [Verdict.UNRECORDED, Verdict.OFF_SCRIPT, Verdict.OFF_SCRIPT]
    assert isinstance(errors[0], UnrecordedCall)
    assert result.warnings == []


def test_what_a_turn_left_behind_is_refused_once_its_replay_is_over(
    server: Counting, capfd: pytest.CaptureFixture[str]
) -> None:
    errors: list[BaseException] = []
    agent, going, done = left_behind(server.port, errors)
    result = replay(recording(2), agent)
    going.set()
    assert done.wait(10)
    assert result.passed
    assert isinstance(errors[0], ConnectionRefusedError)
    told = f"statebase: {server.where} was not connected to, from tests/web/test_guard.py:"
    line = capfd.readouterr().err.strip()
    assert line.startswith(told)
    assert line.endswith("in raw: that was tried after turn 1 of sess_web had ended")


def in_a_timer(work: Callable[[], None], pool: ThreadPoolExecutor) -> None:
    threading.Timer(0.01, work).start()


def in_a_raw_thread(work: Callable[[], None], pool: ThreadPoolExecutor) -> None:
    _thread.start_new_thread(work, ())


def in_an_older_pool(work: Callable[[], None], pool: ThreadPoolExecutor) -> None:
    pool.submit(work)


def in_a_thread_of_a_thread(work: Callable[[], None], pool: ThreadPoolExecutor) -> None:
    """The second starts when the replay is over."""
    pool.submit(lambda: (ENDED.wait(10), threading.Thread(target=work).start()))


def in_another_loop(work: Callable[[], None], pool: ThreadPoolExecutor) -> None:
    async def later() -> None:
        await asyncio.sleep(0.01)
        work()

    threading.Thread(target=asyncio.run, args=(later(),)).start()


ENDED = threading.Event()
LEFT_IN = [in_a_timer, in_a_raw_thread, in_an_older_pool, in_a_thread_of_a_thread, in_another_loop]
TRIES = [raw, lambda port: socket.getaddrinfo(NAMED, port)]


@pytest.mark.parametrize("way", LEFT_IN)
@pytest.mark.parametrize("attempt", TRIES, ids=["connect", "resolve"])
def test_nothing_that_is_left_gets_out(server: Counting, way: Callable[..., None], attempt: Callable[..., Any]) -> None:
    errors: queue.Queue[BaseException | None] = queue.Queue()
    ENDED.clear()

    def work() -> None:
        ENDED.wait(10)
        try:
            attempt(server.port)
        except BaseException as error:
            errors.put(error)
        else:
            errors.put(None)

    def agent(user_input: str) -> str:
        way(work, pool)
        return "done"

    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        assert replay(recording(), agent).passed
        ENDED.set()
        assert isinstance(errors.get(timeout=10), ConnectionRefusedError)


def test_a_connection_that_was_open_before_carries_nothing_that_is_left() -> None:
    mine, other = socket.create_server(("127.0.0.1", 0)), socket.socket()
    other.connect(mine.getsockname())
    errors: queue.Queue[BaseException] = queue.Queue()
    ENDED.clear()

    def work() -> None:
        ENDED.wait(10)
        try:
            other.sendall(b"x")
        except BaseException as error:
            errors.put(error)

    def agent(user_input: str) -> str:
        threading.Thread(target=work).start()
        return "done"

    with mine, other:
        assert replay(recording(), agent).passed
        ENDED.set()
        assert isinstance(errors.get(timeout=10), ConnectionRefusedError)


def test_others_go_where_they_like_while_something_is_left(open_server: Counting) -> None:
    going = threading.Event()

    def agent(user_input: str) -> str:
        threading.Thread(target=going.wait, args=(10,)).start()
        pool.submit(int).result()
        return "done"

    with ThreadPoolExecutor(1) as pool:
        assert replay(recording(), agent).passed
        raw(open_server.port)
        pool.submit(raw, open_server.port).result()  # a worker that the agent was the first to use
        thread = threading.Thread(target=raw, args=(open_server.port,))
        thread.start()
        thread.join()
    going.set()
    assert open_server.hits() == 3


def test_what_a_turn_wants_done_at_exit_can_be_taken_off_again() -> None:
    done: list[int] = []

    def at_exit() -> None:
        done.append(1)

    def agent(user_input: str) -> str:
        assert atexit.register(at_exit) is at_exit
        return "done"

    register = atexit.register
    before = atexit._ncallbacks()
    assert replay(recording(), agent).passed
    assert atexit._ncallbacks() == before + 1
    atexit.unregister(at_exit)
    assert atexit.register is register
    assert not done


def test_after_a_replay_everything_is_as_it_was(open_server: Counting) -> None:
    gc.collect()
    assert replay(recording(), lambda user_input: "done").passed  # the guard of what other tests left goes
    before = socket.getaddrinfo, socket.gethostbyname, socket.socket.connect
    assert replay(recording(), lambda user_input: "done").passed
    raw(open_server.port)
    assert (socket.getaddrinfo, socket.gethostbyname, socket.socket.connect) == before
    assert open_server.hits() == 1


def test_an_agent_that_connects_while_it_is_made(server: Counting) -> None:
    class Agent:
        def __init__(self) -> None:
            with contextlib.suppress(ConnectionRefusedError):
                raw(server.port)

        def __call__(self, user_input: str) -> str:
            return "done"

    result = replay(recording(), Agent)
    assert result.passed
    assert server.where in result.warnings[0]


def test_a_connection_that_was_open_before_carries_nothing(open_server: Counting) -> None:
    with socket.create_connection(("127.0.0.1", open_server.port)) as old:

        def agent(user_input: str) -> str:
            with contextlib.suppress(Exception):
                old.sendall(b"x")
            return "done"

        assert_unrecorded(replay(recording(), agent), open_server.where, "in agent")
        assert replay(recording(), agent, allowed_hosts=[open_server.where]).passed
        worker = Worker()

        def through_a_thread(user_input: str) -> str:
            assert worker.do(lambda: old.sendall(b"x")) is None
            return "done"

        # What a debugger sends, for one.
        assert replay(recording(), through_a_thread).passed


# --- allowed and blocked ---


@WAYS
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_allowed_host_and_port_is_reached_and_nothing_else(
    open_server: Counting, server: Counting, way: Callable[[int], Any]
) -> None:
    def agent(user_input: str, turn: int) -> str:
        with contextlib.suppress(Exception):
            way(open_server.port if turn == 1 else server.port)
        return "done"

    result = replay(recording(2), agent, allowed_hosts=[open_server.where])
    assert [turn.verdict.value for turn in result.turns] == ["unchanged", "unrecorded"]
    assert str(server.port) in told(result, 2)
    assert open_server.hits() == 1


def test_a_host_that_is_allowed_by_name(open_server: Counting, monkeypatch: pytest.MonkeyPatch) -> None:
    import _socket

    answer = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", open_server.port))]
    from pytest_statebase.wire import addresses

    real = _socket.getaddrinfo

    def faked(host: Any, *args: Any) -> Any:
        return answer if host in (NAMED, "cached.example.com") else real(host, *args)

    monkeypatch.setattr(addresses, "_getaddrinfo", faked)
    monkeypatch.setattr(_socket, "getaddrinfo", faked)
    monkeypatch.setattr(addresses, "_WATCHED", list(addresses._watched()))

    def by_its_name(user_input: str) -> str:
        socket.create_connection((NAMED, open_server.port)).close()
        return "done"

    def looked_up_before(user_input: str) -> str:
        raw(open_server.port)
        return "done"

    assert replay(recording(), by_its_name, allowed_hosts=[f"{NAMED}:{open_server.port}"]).passed
    assert replay(recording(), by_its_name, allowed_hosts=["*.example.com"]).passed
    assert replay(recording(), looked_up_before, allowed_hosts=["cached.example.com"]).passed
    assert open_server.hits() == 3


def test_allowed_for_threads_as_well(open_server: Counting) -> None:
    worker = Worker()

    def agent(user_input: str) -> str:
        assert worker.do(lambda: raw(open_server.port)) is None
        return "done"

    result = replay(recording(), agent, allowed_hosts=[open_server.where])
    assert result.passed
    assert result.warnings == []
    assert open_server.hits() == 1


@WAYS
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_blocked_host_is_refused_and_nobodys_fault(server: Counting, way: Callable[[int], Any]) -> None:
    errors: list[Exception] = []

    def agent(user_input: str) -> str:
        try:
            if (number := way(server.port)) in errno.errorcode:
                raise OSError(number, "as the method told")
        except Exception as error:
            errors.append(error)
        return "done"

    result = replay(recording(), agent, blocked_hosts=[server.where])
    assert result.passed
    assert result.warnings == []
    assert errors
    if way in SOCKETS:
        assert isinstance(errors[0], ConnectionRefusedError)


def test_blocked_wins_over_allowed(server: Counting) -> None:
    def agent(user_input: str) -> str:
        with pytest.raises(ConnectionRefusedError, match="statebase_blocked_hosts"):
            raw(server.port)
        with pytest.raises(socket.gaierror, match="statebase_blocked_hosts"):
            socket.gethostbyname("telemetry.example.com")
        return "done"

    hosts = [server.where, "*.example.com"]
    assert replay(recording(), agent, allowed_hosts=["*"], blocked_hosts=hosts).passed


def fetch(port: int) -> str:
    raw(port)
    return "fetched"


def fetch_all(port: int) -> Iterator[str]:
    yield "first"
    raw(port)
    yield "second"


@pytest.mark.parametrize("live", [fetch, fetch_all], ids=lambda live: live.__name__)
def test_a_tool_that_runs_live_is_let_through(open_server: Counting, live: Callable[[int], Any]) -> None:
    def agent(user_input: str) -> str:
        made = live(open_server.port)
        assert "".join(made) in ("fetched", "firstsecond")
        return "done"

    ledger = record_session(lambda user_input: "done", ["go"], session_id="sess_web")
    plan = Plan(tools={live.__name__: ToolRules(live=True)})
    result = replay(Cassette.from_ledger(ledger, plan), agent, tools=[f"{__name__}:{live.__name__}"], unrecorded="call")
    assert result.turn(1).verdict is Verdict.CHANGED
    assert open_server.hits() == 1


# --- plumbing ---


def test_plumbing_of_the_process_goes_on() -> None:
    import multiprocessing

    def agent(user_input: str) -> str:
        left, right = socket.socketpair()
        left.sendall(b"x")
        left.sendmsg([b"y"])
        assert right.recv(2)
        left.close()
        right.close()
        with multiprocessing.Manager() as manager:
            shared = manager.dict()
            shared["a"] = 1
            assert dict(shared) == {"a": 1}
        asyncio.run(asyncio.to_thread(int))
        return "done"

    assert replay(recording(), agent).passed


def test_a_server_of_its_own_is_no_attempt() -> None:
    def agent(user_input: str) -> str:
        from http.server import BaseHTTPRequestHandler, HTTPServer

        HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler).server_close()
        return "done"

    assert replay(recording(), agent).passed


def test_whether_an_error_comes_of_a_refusal(server: Counting) -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError("nothing to say")

    assert not is_told(Mute())
    assert not is_told(ConnectionRefusedError("by somebody else"))
    wrapped = Mute()
    wrapped.__cause__ = ValueError(f"a client says: {blocked('db.example.com:1 was not connected to')}")
    wrapped.__cause__.__context__ = wrapped
    assert is_told(wrapped)
    again = RuntimeError("the tool failed")
    again.__context__ = UnrecordedCall("no answer")
    assert is_told(again)
