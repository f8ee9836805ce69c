"""Every kind of tool is recorded live and answered from the record, without a change to the code that holds it."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import kinds_of_tools as kinds
import pytest
from kinds_of_tools import LIVE, REGISTRY, SearchTool, Shop

import pytest_statebase
from pytest_statebase import Cassette, Ledger, marks, record_session, replay
from pytest_statebase.cassette import Plan, ToolRules, read_record, write_record
from pytest_statebase.engine.finding import find_tools
from pytest_statebase.engine.tools import is_stubbed, stubbed
from pytest_statebase.errors import ToolError
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

HERE = "kinds_of_tools"
MARKED = {key: mark for key, mark in marks._marks.items() if getattr(mark.target(), "__module__", None) == HERE}
for _key in MARKED:
    # Marks hold for the whole program: those of this module must not reach the replays of other tests.
    del marks._marks[_key]


@pytest.fixture(autouse=True)
def _nothing_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    LIVE.clear()
    for key, mark in MARKED.items():
        monkeypatch.setitem(marks._marks, key, mark)


def recorded(agent: Any, tools: list[str], path: Path) -> Ledger:
    """A session of one turn, as it comes back from its file."""
    write_record(path / "s.record.yaml", record_session(agent, ["go"], session_id="s", tools=tools))
    return read_record(path / "s.record.yaml")


def same_again(agent: Any, tools: list[str], path: Path) -> Ledger:
    """Record the agent live, replay it from the file: nothing runs, nothing differs. Returns the recording."""
    ledger = recorded(agent, tools, path)
    ran = list(LIVE)
    assert ran
    LIVE.clear()
    result = replay(Cassette.from_ledger(ledger), agent, tools=tools)
    assert LIVE == []
    assert (result.verdicts, result.unused) == ({"unchanged": 1}, 0), result.turns[0].divergences
    return ledger


def calls_of(ledger: Ledger) -> list[tuple[str, Any]]:
    return [(call.tool, call.arguments) for call in ledger.turns[0].calls]


# --- the kinds ---------------------------------------------------------------------------------------------------

PLAIN: dict[str, tuple[list[str], Callable[[], Any], list[tuple[str, Any]]]] = {
    "function": (["plain"], lambda: kinds.plain("A", depth=2), [("plain", {"order": "A", "depth": 2})]),
    "method": (["Shop.refund"], lambda: Shop("x").refund("A"), [("refund", {"order": "A"})]),
    "class method": (["Shop.named"], lambda: Shop.named("A"), [("named", {"order": "A"})]),
    "static method": (["Shop.checked"], lambda: Shop.checked("A"), [("checked", {"order": "A"})]),
    "bound method": (["bound"], lambda: kinds.bound("A"), [("refund", {"order": "A"})]),
    "object with methods": (["SHOP"], lambda: kinds.SHOP.refund("A"), [("refund", {"order": "A"})]),
    "class": (
        ["Shop"],
        lambda: [Shop("x").refund("A"), Shop.named("B"), list(Shop("x").read("ab"))],
        [("refund", {"order": "A"}), ("named", {"order": "B"}), ("read", {"order": "ab"})],
    ),
    "callable object": (["count"], lambda: kinds.count("abc"), [("count", {"what": "abc"})]),
    "objects that share code": (
        ["double", "triple"],
        lambda: [kinds.double(2), kinds.triple(2)],
        [("double", {"amount": 2}), ("triple", {"amount": 2})],
    ),
    "an object that nobody named": (
        ["double"],
        lambda: [kinds.unnamed(2)],
        [("quadruple", {"amount": 2})],
    ),
    "tool object": (["weather"], lambda: kinds.weather.invoke({"city": "Rome"}), [("weather", {"city": "Rome"})]),
    "tool class": (["SearchTool"], lambda: SearchTool().run("x"), [("search", {"query": "x"})]),
    "partial": (["in_euro"], lambda: kinds.in_euro("fig"), [("priced", {"currency": "EUR", "item": "fig"})]),
    "lru_cache": (["cached"], lambda: kinds.cached("fig"), [("cached", {"item": "fig"})]),
    "C wrapper": (["wrapped"], lambda: kinds.wrapped("fig"), [("_inner", {"item": "fig"})]),
    "registry": (
        ["REGISTRY"],
        lambda: [
            REGISTRY["stock"]("fig"),
            REGISTRY["shout"]("fig"),
            REGISTRY["quote"]["function"]("A"),
            REGISTRY["rain"].invoke({"city": "Rome"}),
        ],
        [
            ("stock", {"item": "fig"}),
            ("shout", {"text": "fig"}),
            ("quote", {"order": "A"}),
            ("forecast", {"city": "Rome"}),
        ],
    ),
    "generator": (["chunks"], lambda: list(kinds.chunks("A")), [("chunks", {"order": "A"})]),
}
ASYNC: dict[str, tuple[list[str], Callable[[], Any], list[tuple[str, Any]]]] = {
    "async function": (["later"], lambda: kinds.later("A"), [("later", {"order": "A"})]),
    "async method": (["Shop.ship"], lambda: Shop("x").ship("A"), [("ship", {"order": "A"})]),
    "async side of a tool object": (
        ["weather"],
        lambda: kinds.weather.ainvoke({"city": "Rome"}),
        [("weather", {"city": "Rome"})],
    ),
    "async behind a plain decorator": (
        ["logged_later"],
        lambda: kinds.logged_later("A"),
        [("logged_later", {"item": "A"})],
    ),
    "a function that hands out a coroutine": (
        ["hands_out"],
        lambda: kinds.hands_out("A"),
        [("hands_out", {"item": "A"})],
    ),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_every_kind_is_recorded_and_answered(kind: str, tmp_path: Path) -> None:
    names, call, calls = PLAIN[kind]

    def agent(user_input: str) -> dict[str, Any]:
        return {"got": call()}

    assert calls_of(same_again(agent, [f"{HERE}:{name}" for name in names], tmp_path)) == calls


@pytest.mark.parametrize("kind", ASYNC)
def test_every_async_kind_is_recorded_and_answered(kind: str, tmp_path: Path) -> None:
    names, call, calls = ASYNC[kind]

    async def agent(user_input: str) -> dict[str, Any]:
        return {"got": await call()}

    assert calls_of(same_again(agent, [f"{HERE}:{name}" for name in names], tmp_path)) == calls


def test_a_decorated_async_tool_may_be_run_to_its_end_instead(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        return asyncio.run(_awaited(kinds.logged_later("A")))

    async def _awaited(value: Any) -> Any:
        return await value

    # The coroutine is made outside of any loop, so that the stub has no way to know that it will be awaited.
    ledger = recorded(agent, [f"{HERE}:logged_later"], tmp_path)
    assert ledger.turns[0].calls[0].result is not None


def test_names_bound_before_and_after_the_replay_began(tmp_path: Path) -> None:
    before = kinds.plain

    def agent(user_input: str) -> dict[str, Any]:
        from kinds_of_tools import plain as after

        return {"got": [before("A"), after("B"), functools.partial(before, "C")()]}

    ledger = same_again(agent, [f"{HERE}:plain"], tmp_path)
    assert [call.arguments["order"] for call in ledger.turns[0].calls] == ["A", "B", "C"]


def test_signature_name_documentation_and_being_async_stay() -> None:
    functions = [kinds.plain, kinds.later, kinds.chunks, kinds.chunks_later, kinds.logged_later, Shop.read, Shop.ship]

    def shape(function: Any) -> Any:
        flags = (
            inspect.iscoroutinefunction(function),
            inspect.isgeneratorfunction(function),
            inspect.isasyncgenfunction(function),
        )
        return inspect.signature(function), function.__name__, function.__qualname__, function.__doc__, flags

    shapes = [shape(function) for function in functions]
    with stubbed(find_tools([f"{HERE}:*", f"{HERE}:Shop"])):
        assert [shape(function) for function in functions] == shapes
        assert all(is_stubbed(function) for function in functions)
    assert [shape(function) for function in functions] == shapes


def test_star_means_what_is_public_and_defined_there() -> None:
    names = {tool.name for tool in find_tools([f"{HERE}:*"])}
    assert names == {
        "plain", "later", "chunks", "chunks_later", "refund", "weather", "cached", "_inner", "logged", "logged_later",
        "hands_out", "cancel", "marked_read", "priced", "ran", "double", "triple", "quadruple",
    }  # fmt: skip


# --- caches ------------------------------------------------------------------------------------------------------


def test_a_cache_in_front_of_a_tool_holds_no_live_answer_and_keeps_no_recorded_one(tmp_path: Path) -> None:
    def agent(user_input: str) -> dict[str, Any]:
        return {"got": kinds.cached("fig")}

    same_again(agent, [f"{HERE}:cached"], tmp_path)
    LIVE.clear()
    assert kinds.cached("fig") == "cached fig"
    assert LIVE == ["cached"]


def test_a_cache_is_emptied_between_turns() -> None:
    ledger = Ledger([SessionCreated("s")])
    for turn, price in ((1, "3 EUR"), (2, "4 EUR")):
        ledger.append(TurnStarted(turn, {"type": "text", "content": "price?"}))
        ledger.append(ToolCalled("cached", {"item": "fig"}, result=price))
        ledger.append(TurnAdded({"type": "text", "content": price}))
    result = replay(Cassette.from_ledger(ledger), lambda user_input: kinds.cached("fig"), tools=[f"{HERE}:cached"])
    assert result.verdicts == {"unchanged": 2}


# --- streams -----------------------------------------------------------------------------------------------------


def streaming(chunks: Any, result: Any = pytest_statebase.ABSENT, error: Any = None) -> Cassette:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "go"})])
    ledger.append(ToolCalled("chunks", {"order": "A"}, result=chunks, error=error))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    return Cassette.from_ledger(ledger)


def test_a_stream_is_answered_lazily_and_closed_early_again(tmp_path: Path) -> None:
    seen: list[str] = []

    def agent(user_input: str) -> str:
        seen.clear()
        stream = kinds.chunks("A")
        for chunk in stream:
            seen.append(chunk)
            if len(seen) == 2:
                break
        stream.close()
        return " ".join(seen)

    ledger = same_again(agent, [f"{HERE}:chunks"], tmp_path)
    assert ledger.turns[0].calls[0].result.fields == {"chunks": ["A-0", "A-1"], "closed": True}

    def greedy(user_input: str) -> str:
        try:
            return " ".join(kinds.chunks("A"))
        except BaseException:
            return "A-0 A-1"

    (turn,) = replay(Cassette.from_ledger(ledger), greedy, tools=[f"{HERE}:chunks"]).turns
    assert turn.verdict == "unrecorded"
    assert "read on where the recording closed it, after 2 chunks" in (turn.calls[0].explanation or "")
    assert LIVE == []


def test_a_stream_that_is_still_open_at_the_end_of_its_turn_was_read_no_further(tmp_path: Path) -> None:
    kept: list[Any] = []

    def agent(user_input: str) -> str:
        kept.append(kinds.chunks("A"))
        return str(next(kept[-1]))

    same_again(agent, [f"{HERE}:chunks"], tmp_path)


def test_a_stream_breaks_off_with_the_recorded_error() -> None:
    def agent(user_input: str) -> str:
        stream = kinds.chunks("A")
        assert [next(stream), next(stream)] == ["a", "b"]
        with pytest.raises(ConnectionError, match="gone"):
            next(stream)
        return "done"

    error = {"type": "ConnectionError", "message": "gone"}
    assert replay(streaming(["a", "b"], error=error), agent, tools=[f"{HERE}:chunks"]).verdicts == {"unchanged": 1}


@pytest.mark.parametrize(("result", "chunks"), [(["a", "b"], ["a", "b"]), ("ab", ["ab"]), ([], [])])
def test_recordings_from_elsewhere_hold_chunks_or_all_at_once(result: Any, chunks: list[str]) -> None:
    def agent(user_input: str) -> str:
        assert list(kinds.chunks("A")) == chunks
        return "done"

    assert replay(streaming(result), agent, tools=[f"{HERE}:chunks"]).verdicts == {"unchanged": 1}


def test_what_is_sent_thrown_and_returned_goes_through_while_recording() -> None:
    source = ModuleType("talking")
    exec(
        "def talk(name):\n    got = []\n    while len(got) < 3:\n        try:\n            "
        "got.append((yield len(got)))\n"
        "        except KeyError as error:\n            got.append(str(error))\n    return [name, *got]\n"
        "async def talk_later(name):\n    got = []\n    while len(got) < 3:\n        try:\n"
        "            got.append((yield list(got)))\n        except KeyError as error:\n"
        "            got.append(str(error))\n",
        source.__dict__,
    )
    import sys

    sys.modules["talking"] = source
    source.talk.__module__ = source.talk_later.__module__ = "talking"

    def agent(user_input: str) -> dict[str, Any]:
        talk = source.talk("x")
        assert [next(talk), talk.send("a"), talk.throw(KeyError("b"))] == [0, 1, 2]
        with pytest.raises(StopIteration) as end:
            talk.send("c")
        return {"got": [end.value.value, asyncio.run(later())]}

    async def later() -> list[Any]:
        talk = source.talk_later("x")
        return [await talk.__anext__(), await talk.asend("a"), await talk.athrow(KeyError("b"))]

    try:
        tools = ["talking:talk", "talking:talk_later"]
        ledger = record_session(agent, ["go"], session_id="s", tools=tools)
        assert ledger.turns[0].error is None
        assert ledger.turns[0].output["content"]["got"] == [["x", "a", "'b'", "c"], [[], ["a"], ["a", "'b'"]]]
        assert [call.result.fields["chunks"] for call in ledger.turns[0].calls] == [
            [0, 1, 2],
            [[], ["a"], ["a", "'b'"]],
        ]
    finally:
        del sys.modules["talking"]


@pytest.mark.parametrize("stop", [None, 1])
def test_an_async_stream_is_answered_chunk_by_chunk(stop: int | None, tmp_path: Path) -> None:
    async def agent(user_input: str) -> dict[str, Any]:
        seen = []
        stream = kinds.chunks_later("A")
        async for chunk in stream:
            seen.append(chunk)
            if len(seen) == stop:
                await stream.aclose()
                break
        return {"seen": seen}

    ledger = same_again(agent, [f"{HERE}:chunks_later"], tmp_path)
    assert bool(ledger.turns[0].calls[0].result.fields.get("closed")) is (stop is not None)


# --- marks -------------------------------------------------------------------------------------------------------


def test_marked_tools_are_found_without_a_pattern(tmp_path: Path) -> None:
    def agent(user_input: str) -> dict[str, Any]:
        shop = kinds.MarkedShop()
        return {"got": [kinds.marked_read("a"), shop.marked_method("b"), shop.marked_static("c")]}

    ledger = same_again(agent, [], tmp_path)
    assert [call.tool for call in ledger.turns[0].calls] == ["marked_read", "marked_method", "marked_static"]


def test_a_mark_says_reads_and_live() -> None:
    def agent(user_input: str) -> str:
        return kinds.marked_read("a") + kinds.marked_read("a")

    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "go"})])
    ledger.append(ToolCalled("marked_read", {"item": "a"}, result="x"))
    ledger.append(TurnAdded({"type": "text", "content": "xx"}))
    (turn,) = replay(Cassette.from_ledger(ledger), agent).turns
    assert [call.repeated for call in turn.calls] == [False, True]


def test_what_is_marked_during_a_replay_is_stubbed_at_once() -> None:
    made: list[Any] = []

    def agent(user_input: str) -> str:
        def late(item: str) -> str:
            LIVE.append("late")
            return item

        made.append(pytest_statebase.tool(late))
        return str(made[-1]("a"))

    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "go"})])
    ledger.append(ToolCalled("late", {"item": "a"}, result="recorded"))
    ledger.append(TurnAdded({"type": "text", "content": "recorded"}))
    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 1}
    assert LIVE == []
    assert made[0]("a") == "a"


def test_a_mark_changes_nothing_and_dies_with_its_function() -> None:
    def function() -> None: ...

    number = len(marks.marks())
    code = function.__code__
    assert pytest_statebase.tool(function) is function
    assert function.__code__ is code
    assert len(marks.marks()) == number + 1
    del function
    assert len(marks.marks()) == number


# --- set-up fails by name ----------------------------------------------------------------------------------------


@pytest.fixture
def module() -> Iterator[Any]:
    import sys

    made = ModuleType("odd_tools")
    exec(
        "import functools, math\ndef look(order): return order\nalias = {'a': look, 'b': look}\nempty = {}\n"
        "mixed = [look, 3]\nclass Nothing:\n    value = 1\n"
        "class Name:\n    name = 'named'\n    def forward(self): ...\n",
        made.__dict__,
    )
    sys.modules["odd_tools"] = made
    for name in ("look", "Nothing", "Name"):
        made.__dict__[name].__module__ = "odd_tools"
    yield made
    del sys.modules["odd_tools"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("odd_tools:math.sqrt", "builtin_function_or_method, which cannot be stubbed"),
        ("odd_tools:empty", "is empty"),
        ("odd_tools:mixed", r"mixed\[1\] .* is a int, which cannot be stubbed"),
        ("odd_tools:alias", "is a tool under two names: 'a' and 'b'"),
        ("odd_tools:Nothing", "has no public method of its own"),
        ("odd_tools:lok", "has no 'lok'"),
        ("odd_tools:x*", "matches nothing"),
    ],
)
def test_what_cannot_be_reached_fails_by_name(module: Any, pattern: str, message: str) -> None:
    with pytest.raises(ToolError, match=message):
        find_tools([pattern])


@pytest.mark.parametrize(
    ("held", "where"),
    [
        ("functools.partial(print, 'live')", None),
        ("functools.partial(look, 'A')", "unstubbed"),
        ("type('Caller', (), {'__call__': lambda self, order: order})()", "unstubbed"),
        ("functools.lru_cache(look)", "unstubbed"),
    ],
)
def test_a_recorded_tool_of_any_kind_that_is_not_stubbed_is_refused(module: Any, held: str, where: str | None) -> None:
    exec(f"unstubbed = {held}\ndef agent(user_input): return unstubbed('A')", module.__dict__)
    module.agent.__module__ = "odd_tools"
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "go"})])
    ledger.append(ToolCalled("unstubbed", {"order": "A"}, result="x"))
    ledger.append(TurnAdded({"type": "text", "content": "x"}))
    if where is None:
        return  # a function of C has no code to exchange, and none to find
    with pytest.raises(ToolError, match=f"odd_tools:{where} is not stubbed"):
        replay(Cassette.from_ledger(ledger), module.agent)


def test_rules_for_marked_tools_add_to_the_plans() -> None:
    from pytest_statebase.engine.finding import with_marked
    from pytest_statebase.engine.marked import with_marked_rules

    plan = Plan(tools={"marked_read": ToolRules(ignore=("item",))})
    cassette = Cassette.from_ledger(Ledger([SessionCreated("s")]), plan)
    rules = with_marked_rules(cassette, with_marked([])).plan.tools["marked_read"]
    assert (rules.reads, rules.ignore) == (True, ("item",))
