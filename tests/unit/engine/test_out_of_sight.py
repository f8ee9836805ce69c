"""Tools that no pattern names as such: overrides, wrapped functions, modules loaded again, registries, what is left."""

from __future__ import annotations

import abc
import functools
import gc
import importlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest

import pytest_statebase
from pytest_statebase import Cassette, Ledger, record_session, replay
from pytest_statebase.errors import ToolError
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

LIVE: list[str] = []
HERE = __name__


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    LIVE.clear()
    yield
    assert LIVE == []


def cassette(*calls: ToolCalled) -> Cassette:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "go"})])
    for call in calls:
        ledger.append(call)
    ledger.append(TurnAdded({"type": "text", "content": "recorded"}))
    return Cassette.from_ledger(ledger)


def called(tool: str, **arguments: Any) -> Cassette:
    return cassette(ToolCalled(tool, arguments, result="recorded"))


class Shop:
    def refund(self, order: str) -> str:
        return f"live {order}"

    @staticmethod
    def check(order: str) -> str:
        return f"live {order}"


class Big(Shop):
    def refund(self, order: str) -> str:
        LIVE.append("Big.refund")
        return "big " + super().refund(order)

    @staticmethod
    def check(order: str) -> str:
        LIVE.append("Big.check")
        return "live"


class Base(abc.ABC):
    @abc.abstractmethod
    def fetch(self, key: str) -> str: ...


class Disk(Base):
    def fetch(self, key: str) -> str:
        LIVE.append("Disk.fetch")
        return "live"


class Search:
    name = "search"

    def _run(self, text: str) -> str:
        return "live"


class WebSearch(Search):
    name = "web"

    def _run(self, text: str) -> str:
        LIVE.append("WebSearch._run")
        return "live"


class Marked:
    @pytest_statebase.tool
    def act(self, what: str) -> str:
        return "live"


class MarkedToo(Marked):
    def act(self, what: str) -> str:
        LIVE.append("MarkedToo.act")
        return "live"


@pytest.mark.parametrize(
    ("tool", "pattern", "argument", "call"),
    [
        ("refund", "Shop", {"order": "1"}, lambda: Big().refund("1")),
        ("refund", "Shop.refund", {"order": "1"}, lambda: Big().refund("1")),
        ("check", "Shop", {"order": "1"}, lambda: Big.check("1")),
        ("fetch", "Base", {"key": "k"}, lambda: Disk().fetch("k")),
        ("web", "Search", {"text": "t"}, lambda: WebSearch()._run("t")),
        ("act", "", {"what": "w"}, lambda: MarkedToo().act("w")),
    ],
)
def test_an_override_is_answered_as_the_tool(
    tool: str, pattern: str, argument: dict[str, str], call: Callable[[], str]
) -> None:
    tools = [f"{HERE}:{pattern}"] if pattern else []
    assert replay(called(tool, **argument), lambda user_input: call(), tools=tools).verdicts == {"unchanged": 1}


def test_an_override_is_recorded_with_what_it_calls() -> None:
    ledger = record_session(lambda user_input: Big().refund("1"), ["go"], session_id="s", tools=[f"{HERE}:Shop"])
    assert [(call.tool, call.result) for call in ledger.turns[0].calls] == [
        ("refund", "big live 1"),
        ("refund", "live 1"),
    ]
    assert LIVE == ["Big.refund"]
    LIVE.clear()
    result = replay(Cassette.from_ledger(ledger), lambda user_input: Big().refund("1"), tools=[f"{HERE}:Shop"])
    assert result.verdicts == {"unchanged": 1}


def test_a_subclass_that_is_made_during_the_turn_is_answered_too() -> None:
    def agent(user_input: str) -> str:
        class Late(Shop):
            def refund(self, order: str) -> str:
                LIVE.append("Late.refund")
                return "live"

        return Late().refund("1")

    before = __build_class__  # type: ignore[name-defined]
    assert replay(called("refund", order="1"), agent, tools=[f"{HERE}:Shop"]).verdicts == {"unchanged": 1}
    assert __build_class__ is before  # type: ignore[name-defined]


def test_an_override_that_cannot_be_stubbed_is_refused() -> None:
    owned: Any = type("Odd", (Shop,), {"refund": len, "__module__": HERE})
    with pytest.raises(ToolError, match=r"Odd\.refund takes the place of the tool refund"):
        replay(called("refund", order="1"), lambda user_input: owned().refund("1"), tools=[f"{HERE}:Shop"])
    owned = None
    gc.collect()


def test_an_override_that_cannot_be_stubbed_fails_the_turn_it_is_made_in() -> None:
    def agent(user_input: str) -> str:
        try:

            class Odd(Shop):
                refund = len  # type: ignore[assignment]

        except BaseException:
            return "recorded"
        return "made"

    with pytest.raises(ToolError, match="takes the place of the tool refund"):
        replay(called("refund", order="1"), agent, tools=[f"{HERE}:Shop"])
    gc.collect()


class Follows(Protocol):
    def fetch(self, key: str) -> str: ...


class Dynamic:
    def __getattr__(self, name: str) -> Any:
        return lambda value: LIVE.append(name)


class Own:
    def go(self, step: int) -> str:
        return "live"


DYNAMIC = Dynamic()
OWN = Own()


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("Follows", "is a protocol"), ("DYNAMIC", "makes its attributes in __getattr__")],
)
def test_what_nobody_can_find_is_refused_by_name(pattern: str, message: str) -> None:
    with pytest.raises(ToolError, match=f"{pattern}.*{message}"):
        replay(called("fetch", key="k"), lambda user_input: "recorded", tools=[f"{HERE}:{pattern}"])


@pytest.mark.parametrize("pattern", ["OWN", "Own", "Own.go"])
def test_a_method_that_an_object_replaces_is_refused_by_name(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OWN, "go", lambda step: LIVE.append("own"), raising=False)
    monkeypatch.setitem(vars(OWN), "go", lambda step: LIVE.append("own"))
    with pytest.raises(ToolError, match=r"OWN\.go"):
        replay(called("go", step=1), lambda user_input: str(OWN.go(1)), tools=[f"{HERE}:{pattern}"])
    assert replay(called("go", step=1), lambda user_input: str(OWN.go(1)), tools=[f"{HERE}:OWN.go"]).passed


# --- wrapped functions -------------------------------------------------------------------------------------------


def traced(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


@traced
def wrapped(item: str) -> str:
    LIVE.append("wrapped")
    return "recorded"


def test_what_a_wrapper_wraps_is_the_tool_as_well() -> None:
    tools = [f"{HERE}:wrapped"]
    ledger = record_session(lambda user_input: wrapped("a"), ["go"], session_id="s", tools=tools)
    assert [call.tool for call in ledger.turns[0].calls] == ["wrapped"]
    assert LIVE == ["wrapped"]
    LIVE.clear()
    source = Cassette.from_ledger(ledger)
    for call in (wrapped, wrapped.__wrapped__):
        assert replay(source, lambda user_input, call=call: call("a"), tools=tools).verdicts == {"unchanged": 1}
    missed = replay(source, lambda user_input: wrapped.__wrapped__("b"), tools=tools)
    assert missed.verdicts == {"unrecorded": 1}


# --- modules that are loaded again -------------------------------------------------------------------------------

AGAIN = """
import functools, test_out_of_sight
def deco(function):
    def inner(*args): return function(*args)
    return inner
def look(item):
    test_out_of_sight.LIVE.append("look"); return "live"
@deco
def bare(item):
    test_out_of_sight.LIVE.append("bare"); return "live"
@deco
def other(item):
    return "other"
class Shop:
    def look(self, item):
        test_out_of_sight.LIVE.append("Shop.look"); return "live"
class Big(Shop):
    def look(self, item):
        test_out_of_sight.LIVE.append("Big.look"); return "live"
TOOLS = {"look": lambda item: test_out_of_sight.LIVE.append("lambda")}
"""


@pytest.fixture
def again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "again_tools.py").write_text(AGAIN)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "test_out_of_sight", sys.modules[HERE])
    yield importlib.import_module("again_tools")
    sys.modules.pop("again_tools", None)


def reloaded(module: ModuleType) -> ModuleType:
    return importlib.reload(module)


def imported_anew(module: ModuleType) -> ModuleType:
    del sys.modules[module.__name__]
    return importlib.import_module(module.__name__)


def under_another_name(module: ModuleType) -> ModuleType:
    spec = importlib.util.spec_from_file_location("again_copy", str(module.__file__))
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("way", [reloaded, imported_anew, under_another_name])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("look", lambda module: module.look("a")),
        ("bare", lambda module: module.bare("a")),
        ("Shop", lambda module: module.Shop().look("a")),
        ("Shop", lambda module: module.Big().look("a")),
        ("TOOLS", lambda module: module.TOOLS["look"]("a")),
    ],
)
def test_a_module_that_is_loaded_again_brings_no_live_tool(
    way: Callable[[ModuleType], ModuleType], name: str, call: Callable[[ModuleType], Any], again: ModuleType
) -> None:
    tools = [f"again_tools:{name}"]
    arguments = {"args": ["a"]} if name == "bare" else {"item": "a"}
    tool = "inner" if name == "bare" else "look"
    result = replay(called(tool, **arguments), lambda user_input: str(call(way(again))), tools=tools)
    assert result.verdicts == {"unchanged": 1}


def test_other_functions_of_such_a_module_are_left_alone(again: ModuleType) -> None:
    def agent(user_input: str) -> str:
        module = reloaded(again)
        assert module.other("a") == "other"
        return str(module.bare("a"))

    tools = ["again_tools:bare"]
    assert replay(called("inner", args=["a"]), agent, tools=tools).verdicts == {"unchanged": 1}


# --- within reach ------------------------------------------------------------------------------------------------


def _work(item: str) -> str:
    LIVE.append("work")
    return "live"


def _enclosing() -> Any:
    def enclosed(item: str) -> str:
        LIVE.append("enclosed")
        return "live"

    return enclosed


class Listed:
    name = "listed"

    def _run(self, item: str) -> str:
        LIVE.append("listed")
        return "live"


REACHED: dict[str, Any] = {"by_key": _work, "deep": {"more": [Listed()]}, "no_text": "by_text", "no_class": Listed}
by_alias = _work
HIDDEN = [_enclosing()]


@pytest.mark.parametrize(
    ("tool", "where"),
    [
        ("by_key", r"REACHED\['by_key'\]"),
        ("listed", r"REACHED\['deep'\]\['more'\]\[0\]"),
        ("by_alias", "by_alias"),
        ("enclosed", r"HIDDEN\[0\]"),
    ],
)
def test_an_unnamed_tool_in_a_registry_or_under_an_alias_is_refused(tool: str, where: str) -> None:
    with pytest.raises(ToolError, match=f"{tool} is a tool of the recording, and {HERE}:{where} is not stubbed"):
        replay(called(tool, item="a"), lambda user_input: "recorded")


def test_data_under_the_name_of_a_tool_is_none() -> None:
    assert replay(called("no_text", item="a"), lambda user_input: "recorded").verdicts == {"changed": 1}
    assert replay(called("no_class", item="a"), lambda user_input: "recorded").verdicts == {"changed": 1}


def test_what_the_agent_itself_holds_is_looked_at() -> None:
    made = _enclosing()

    class Agent:
        def __init__(self) -> None:
            self.own = {"held": made}

        def __call__(self, user_input: str) -> str:
            return str(self.own["held"]("a"))

    def agent(user_input: str) -> str:
        return str(made("a"))

    with pytest.raises(ToolError, match=r"held is a tool .*the agent's own\['held'\]"):
        replay(called("held", item="a"), Agent())
    with pytest.raises(ToolError, match=r"made is a tool .*the agent's made"):
        replay(called("made", item="a"), agent)


def by_name(tools: Any, item: str) -> str:
    return str(tools.by_name(item=item))


def direct(item: str) -> str:
    LIVE.append("direct")
    return "live"


def test_an_agent_that_is_handed_its_tools_may_not_call_them_itself() -> None:
    def handed(user_input: str, tools: Any) -> str:
        return str(tools.direct(item="a"))

    def helped(user_input: str, tools: Any) -> str:
        return by_name(tools, "a")

    def itself(user_input: str, tools: Any) -> str:
        return direct("a")

    def through_its_module(user_input: str, tools: Any) -> str:
        return str(HERE_ITSELF.direct("a"))

    assert replay(called("direct", item="a"), handed).verdicts == {"unchanged": 1}
    assert replay(called("by_name", item="a"), helped).verdicts == {"unchanged": 1}
    for agent in (itself, through_its_module):
        with pytest.raises(ToolError, match=f"direct is a tool of the recording, and {HERE}:direct is not stubbed"):
            replay(called("direct", item="a"), agent)


HERE_ITSELF = sys.modules[HERE]


def test_a_session_of_mcp_servers_needs_them_named() -> None:
    server = {"name": "shop", "transport": {"text": "stdio python shop.py", "id": "x"}, "calls": ["has_stock"]}
    made = SessionCreated("s", metadata={"mcp": {"servers": [server]}})
    ledger = Ledger([made, TurnStarted(1, {"type": "text", "content": "go"})])
    ledger.append(ToolCalled("has_stock", {"item": "a"}, result="recorded"))
    ledger.append(TurnAdded({"type": "text", "content": "recorded"}))
    source = Cassette.from_ledger(ledger)
    with pytest.raises(ToolError, match=r"MCP servers \(shop\), and `mcp` is none of the tools"):
        replay(source, lambda user_input: "recorded")
    assert replay(source, lambda user_input, tools: tools.has_stock(item="a")).verdicts == {"unchanged": 1}
    assert replay(source, lambda user_input: has_stock("a"), tools=[f"{HERE}:has_stock"]).verdicts == {"unchanged": 1}


def has_stock(item: str) -> str:
    LIVE.append("has_stock")
    return "live"


# --- what is left over -------------------------------------------------------------------------------------------


def too_late(item: str) -> str:
    LIVE.append("too_late")
    return "live"


def test_what_a_replay_left_behind_runs_nothing_after_its_end() -> None:
    go, threads, refused = threading.Event(), [], []
    original = too_late.__code__

    def work() -> None:
        go.wait(10)
        try:
            too_late("a")
        except pytest_statebase.UnrecordedCall as error:
            refused.append(str(error))

    def agent(user_input: str) -> str:
        threads.append(threading.Thread(target=work))
        threads[-1].start()
        return too_late("a")

    source, tools = called("too_late", item="a"), [f"{HERE}:too_late"]
    assert replay(source, agent, tools=tools).verdicts == {"unchanged": 1}
    # Whoever belongs to no replay calls the tool itself.
    assert too_late("b") == "live"
    assert LIVE == ["too_late"]
    LIVE.clear()
    go.set()
    for one in threads:
        one.join()
    assert len(refused) == 1
    assert refused[0].endswith("that was called after turn 1 of s had ended")
    # Nothing is left any more: the first call restores the function.
    threads.clear()
    gc.collect()
    assert too_late("c") == "live"
    assert too_late.__code__ is original
    LIVE.clear()
