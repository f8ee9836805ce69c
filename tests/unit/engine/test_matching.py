"""Which recorded call answers which replayed one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from pytest_statebase import Ledger, ReplayResult, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.cassette.plan import Answer, Plan, ToolRules
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

Call = tuple[str, dict[str, Any], Any]
AT = "2026-03-15T10:00:00Z"


def recording(*turns: list[Call], steps: bool = False, said: str = "hi") -> Ledger:
    """A session of turns, each a list of (tool, arguments, result); an exception as result was raised."""
    ledger = Ledger([SessionCreated("sess_1", at=AT)])
    for number, calls in enumerate(turns, start=1):
        ledger.append(TurnStarted(number, {"type": "text", "content": said}, AT))
        for tool, arguments, result in calls:
            error = {"type": type(result).__name__, "message": str(result)} if isinstance(result, Exception) else None
            given = {"error": error} if error else {"result": result}
            ledger.append(ToolCalled(tool, arguments, step=1 if steps else None, **given))
        ledger.append(TurnAdded({"type": "text", "content": "done"}))
    return ledger


class Script:
    """An agent that makes given calls turn by turn and keeps what it got."""

    def __init__(self, *turns: list[tuple[str, dict[str, Any]]]) -> None:
        self.turns = turns
        self.got: list[Any] = []

    def __call__(self, turn: int, tools: ToolCaller) -> str:
        for tool, arguments in self.turns[turn - 1] if turn <= len(self.turns) else []:
            try:
                self.got.append(tools.call(tool, arguments))
            except Exception as error:
                self.got.append(f"{type(error).__name__}: {error}")
        return "done"


def run(
    ledger: Ledger, script: Script, *, reads: tuple[str, ...] = (), plan: Plan | None = None, **options: Any
) -> ReplayResult:
    plan = plan or Plan(tools={tool: ToolRules(reads=True) for tool in reads})
    return replay(Cassette.from_ledger(ledger, plan), script, **options)


def kinds(result: ReplayResult) -> list[tuple[int, str, str]]:
    return [(turn.turn, str(d.kind), d.path) for turn in result.turns for d in turn.divergences if not d.note]


def test_same_tool_retries_and_reordering() -> None:
    calls: list[Call] = [
        ("search", {"q": "flights"}, "F"),
        ("search", {"q": "hotels"}, "H"),
        ("charge", {"n": 1}, TimeoutError("slow")),
        ("charge", {"n": 1}, "ok"),
    ]
    script = Script(
        [("search", {"q": "hotels"}), ("search", {"q": "flights"}), ("charge", {"n": 1}), ("charge", {"n": 1})]
    )
    result = run(recording(calls), script, reads=("search",))
    assert script.got == ["H", "F", "TimeoutError: slow", "ok"]
    assert [kind for _, kind, _ in kinds(result)] == ["reordered"]
    assert result.counts()["stale"] == 0


def test_positional_keyword_and_default_arguments_are_one_call() -> None:
    from pytest_statebase.engine.tools import Tool

    def f(a: int, b: str = "x", *rest: int, **more: int) -> None: ...

    tool = Tool("f", f, "m:f")
    assert tool.bind({"a": 1, "b": "x", "rest": []}, (1,), {}) == {"a": 1}
    assert tool.canonical({"a": 1, "b": "x"}) == {"a": 1}
    assert tool.bind({"a": ("b", "x"), "b": "x", "rest": []}, (), {}) == {"a": ("b", "x")}
    assert tool.bind({"a": 1, "b": "y", "rest": [2, 3], "z": 4}, (), {}) == {"a": 1, "b": "y", "rest": [2, 3], "z": 4}


def test_a_tuple_is_not_the_call_with_its_items() -> None:
    ledger = recording([("f", {"a": 1, "b": "x"}, "one")])
    result = run(ledger, Script([("f", {"a": (1, "x")})]))
    assert result.verdicts == {"unrecorded": 1}


def test_a_used_up_write_is_unrecorded_and_a_read_repeats() -> None:
    ledger = recording([("pay", {"n": 1}, "paid"), ("look", {"n": 1}, "seen")])
    twice = Script([("pay", {"n": 1}), ("look", {"n": 1}), ("look", {"n": 1})])
    result = run(ledger, twice, reads=("look",))
    assert twice.got == ["paid", "seen", "seen"]
    assert result.counts()["repeated"] == 1
    result = run(ledger, Script([("pay", {"n": 1}), ("pay", {"n": 1})]), reads=("look",))
    assert result.verdicts == {"unrecorded": 1}
    assert "every recording of this call has answered already" in str(result.turn(1).calls[-1].explanation)


def test_the_same_writes_before_choose_among_equal_calls() -> None:
    calls: list[Call] = [
        ("balance", {}, 100),
        ("pay", {"n": 10}, "ok"),
        ("balance", {}, 90),
        ("pay", {"n": 20}, "ok"),
        ("balance", {}, 70),
    ]
    script = Script([("pay", {"n": 10}), ("balance", {}), ("pay", {"n": 20}), ("balance", {}), ("balance", {})])
    result = run(recording(calls), script, reads=("balance",))
    assert script.got == ["ok", 90, "ok", 70, 70]
    assert result.counts()["stale"] == 0


@pytest.mark.parametrize("together", [False, True])
def test_the_same_writes_in_another_order_answer_with_a_flag(together: bool) -> None:
    calls: list[Call] = [("set", {"x": 1}, "a"), ("set", {"x": 2}, "b"), ("get", {}, 2), ("set", {"x": 3}, "c")]
    script = Script([("set", {"x": 2}), ("set", {"x": 1}), ("get", {}), ("set", {"x": 3})], [("get", {})])
    result = run(recording(calls, [("get", {}, 3)], steps=together), script, reads=("get",))
    assert script.got == ["b", "a", 2, "c", 3]
    calls_made = [call for turn in result.turns for call in turn.calls]
    assert [call.stale for call in calls_made] == [not together] * 5


def test_what_was_written_in_its_order_before_another_step_is_no_reordering() -> None:
    """The calls of a step have no order among them, but all of them come before those of the next step."""
    ledger = Ledger([SessionCreated("sess_1", at=AT), TurnStarted(1, {"type": "text", "content": "hi"}, AT)])
    for number, step in ((1, 1), (2, 1), (3, 2), (4, 2)):
        ledger.append(ToolCalled("set", {"x": number}, result=number, step=step))
    ledger.append(ToolCalled("get", {}, result=4, step=3))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    for order, stale in (((2, 1, 4, 3), False), ((1, 3, 2, 4), True), ((3, 4, 1, 2), True)):
        script = Script([*(("set", {"x": number}) for number in order), ("get", {})])
        result = run(ledger, script, reads=("get",))
        assert script.got == [*order, 4]
        assert result.turn(1).calls[-1].stale is stale


def test_a_fork_in_mid_session_goes_on_in_the_recorded_order() -> None:
    calls: list[Call] = [("set", {"x": 1}, "a"), ("set", {"x": 2}, "b")]
    ledger = recording(calls, [("get", {}, 2), ("set", {"x": 3}, "c")], [("get", {}, 3)])
    script = Script([], [("get", {}), ("set", {"x": 3})], [("get", {})])
    result = run(ledger, script, reads=("get",), fork="turn 2")
    assert script.got == [2, "c", 3]
    assert result.counts()["stale"] == 0


def test_other_writes_before_flag_the_answer_as_stale() -> None:
    calls: list[Call] = [("balance", {}, 100), ("pay", {"n": 10}, "ok"), ("balance", {}, 90), ("pay", {"n": 5}, "ok")]
    script = Script([("pay", {"n": 5}), ("balance", {})])
    result = run(recording(calls), script, reads=("balance",))
    assert result.turn(1).calls[-1].stale
    assert script.got[-1] == 100  # one write away; the other recording is two


@pytest.mark.parametrize(("made", "stale"), [((1, 2, 3), 0), ((3, 2, 1), 0), ((3,), 1), ((3, 1), 1)])
def test_writes_made_at_once_may_come_in_any_order_if_they_all_come(made: tuple[int, ...], stale: int) -> None:
    calls: list[Call] = [("pay", {"n": number}, number) for number in (1, 2, 3)]
    script = Script([("pay", {"n": number}) for number in made])
    result = run(recording(calls, steps=True), script)
    assert script.got == list(made)
    assert bool(result.counts()["stale"]) is bool(stale)


def test_only_reads_answer_from_before_the_fork() -> None:
    ledger = recording([("look", {"n": 1}, "seen"), ("pay", {"n": 1}, "paid")], [])
    script = Script([], [("look", {"n": 1})])
    result = run(ledger, script, reads=("look",), fork="turn 2")
    assert script.got == ["seen"]
    assert kinds(result) == [(2, "extra", "tools.look")]
    assert run(ledger, Script([], [("pay", {"n": 1})]), reads=("look",), fork="turn 2").verdicts == {"unrecorded": 1}


def test_a_call_made_in_another_turn_is_moved() -> None:
    ledger = recording([("look", {"n": 1}, "seen")], [("look", {"n": 2}, "two")])
    result = run(ledger, Script([], [("look", {"n": 1}), ("look", {"n": 2})]), reads=("look",))
    assert [(kind, path) for _, kind, path in kinds(result)] == [("moved", "tools.look#2")]
    assert result.counts()["moved"] == 1


UUID_A, UUID_B = "3f2b8c1e-0000-4000-8000-00000000000a", "9d1c7b2a-0000-4000-8000-00000000000b"


def test_made_up_ids_are_renamed_one_to_one() -> None:
    calls: list[Call] = [("pay", {"key": UUID_A}, {"key": UUID_A, "ok": True}), ("check", {"key": UUID_A}, "done")]
    script = Script([("pay", {"key": UUID_B}), ("check", {"key": UUID_B})])
    result = run(recording(calls), script)
    assert result.verdicts == {"unchanged": 1}
    # The answer echoes the id of this replay, not the recorded one.
    assert script.got == [{"key": UUID_B, "ok": True}, "done"]


def test_crossed_references_are_no_renaming() -> None:
    calls: list[Call] = [("pay", {"key": UUID_A}, "a"), ("check", {"key": UUID_A}, "b")]
    script = Script([("pay", {"key": UUID_B}), ("check", {"key": "1" + UUID_B[1:]})])
    assert run(recording(calls), script).verdicts == {"unrecorded": 1}


@pytest.mark.parametrize("where", ["input", "result"])
def test_an_id_that_was_given_compares_exactly(where: str) -> None:
    """Refunding B instead of A is never a renaming."""
    given = [("list", {}, [UUID_A, UUID_B])] if where == "result" else []
    said = f"refund {UUID_A}, not {UUID_B}" if where == "input" else "refund"
    calls: list[Call] = [*given, ("refund", {"order": UUID_A}, "ok")]  # type: ignore[list-item]
    script = Script([*[(tool, arguments) for tool, arguments, _ in given], ("refund", {"order": UUID_B})])
    assert run(recording(calls, said=said), script).verdicts == {"unrecorded": 1}


def test_timestamps_near_their_own_clock_match() -> None:
    from datetime import UTC, datetime

    calls: list[Call] = [("log", {"at": "2026-03-15T10:00:01Z"}, "ok")]
    assert run(recording(calls), Script([("log", {"at": datetime.now(UTC).isoformat()})])).verdicts == {"unchanged": 1}
    assert run(recording(calls), Script([("log", {"at": "2021-01-01T00:00:00Z"})])).verdicts == {"unrecorded": 1}


@pytest.mark.parametrize("at", ["2026-03-15T11:00:00Z", "2026-03-15T10:30:00Z"])
def test_a_time_that_the_user_named_compares_exactly(at: str) -> None:
    """Booking at another hour than the user's is never a renaming, be it the old one or the new one that was named."""
    said = "book at 2026-03-15T10:00:00Z, or else at 2026-03-15T11:00:00Z"
    calls: list[Call] = [("book", {"at": "2026-03-15T10:00:00Z"}, "ok")]
    assert run(recording(calls, said=said), Script([("book", {"at": at})])).verdicts == {"unrecorded": 1}


def test_short_and_telling_ids_are_never_volatile() -> None:
    for recorded, replayed in (
        ("XEWRD9", "PEP4E0"),
        ("gift_card_3166319", "gift_card_1712795"),
        ("#W3730488", "#W9810810"),
    ):
        ledger = recording([("refund", {"id": recorded}, "ok")])
        assert run(ledger, Script([("refund", {"id": replayed})])).verdicts == {"unrecorded": 1}


def test_ignored_arguments_do_not_count_in_matching() -> None:
    ledger = recording([("think", {"thought": "hm"}, ""), ("look", {"n": 1, "trace": "a"}, "seen")])
    script = Script([("think", {"thought": "ah"}), ("look", {"n": 1, "trace": "b"})])
    plan = Plan(tools={"think": ToolRules(ignore=("arguments",)), "look": ToolRules(ignore=("trace",))})
    assert run(ledger, script, plan=plan).verdicts == {"unchanged": 1}
    plan = Plan(tools={"think": ToolRules(ignore=("arguments",))}, ignore=("tools.look.arguments.trace",))
    assert run(ledger, script, plan=plan).verdicts == {"unchanged": 1}


def test_authored_answers_come_before_the_record() -> None:
    ledger = recording([("look", {"n": 1}, "seen")])
    plan = Plan(answers=(Answer("look", {"n": 1}, "authored"), Answer("look", {"n": 3}, "unused")))
    script = Script([("look", {"n": 1})])
    result = run(ledger, script, plan=plan)
    assert script.got == ["authored"]
    assert result.counts()["authored"] == 1
    assert result.warnings == ["the authored answer for look was never asked for"]


def test_every_answer_is_a_fresh_copy() -> None:
    ledger = recording([("look", {}, {"items": [1]}), ("look", {}, {"items": [1]})])

    def agent(tools: ToolCaller) -> str:
        tools.look()["items"].append(2)
        assert tools.look() == {"items": [1]}
        return "done"

    before = [event.result for event in ledger.events if isinstance(event, ToolCalled)]
    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 1}
    assert before == [{"items": [1]}, {"items": [1]}]


def swallow(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except BaseException:
        return None


@pytest.mark.parametrize("again", [0, 3])
def test_a_miss_cannot_be_swallowed(again: int) -> None:
    ledger = recording([("look", {"n": 1}, "seen")], [])

    def agent(turn: int, tools: ToolCaller, state: dict[str, Any]) -> str:
        if turn == 1:
            swallow(lambda: tools.look(n=2))
            for _ in range(again):
                assert swallow(lambda: tools.look(n=1)) is None, "after a miss nothing is answered"
            state["written"] = True
        return "done"

    result = replay(Cassette.from_ledger(ledger), agent)
    assert [str(turn.verdict) for turn in result.turns] == ["unrecorded", "not-replayed"]
    assert len(result.turn(1).calls) == 1
    assert not result.passed


def test_the_forks_own_id_counts_as_the_sessions() -> None:
    ledger = recording([("load", {"session": "sess_1"}, "ok")])

    def agent(session_id: str, tools: ToolCaller) -> str:
        assert session_id != "sess_1"
        tools.load(session=session_id)
        return "done"

    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 1}


def test_nested_calls_are_consumed_with_the_call_that_made_them() -> None:
    ledger = Ledger([SessionCreated("sess_1")])
    ledger.append(TurnStarted(1, {"type": "text", "content": "hi"}))
    ledger.append(ToolCalled("outer", {}, result=1))
    ledger.append(ToolCalled("inner", {}, result=2, during=0))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    result = run(ledger, Script([("outer", {})]))
    assert result.verdicts == {"unchanged": 1}
    assert result.unused == 0


def test_a_session_without_turns_does_not_pass() -> None:
    result = replay(Cassette.from_ledger(Ledger([SessionCreated("sess_1")])), Script())
    assert not result.passed
    assert result.failure == "no turn was replayed"


def test_a_failing_turn_that_is_not_replayed_does_not_pass() -> None:
    ledger = recording([], [], [])
    plan = Plan(failing=frozenset({1, 3}))
    result = run(ledger, Script(), plan=plan, fork="turn 2")
    assert not result.passed


def every_turn() -> Iterator[int]:
    yield from (1, 2, 3)


@pytest.mark.parametrize("mode", ["continuous", "isolated"])
def test_modes_agree_on_an_unchanged_agent(mode: str) -> None:
    calls: list[Call] = [("pay", {"n": 1}, "ok")]
    ledger = recording(calls, calls, calls)
    script = Script(*[[("pay", {"n": 1})] for _ in every_turn()])
    result = run(ledger, script, mode=mode)
    assert (result.verdicts, result.unused, result.counts()["stale"]) == ({"unchanged": 3}, 0, 0)


def test_greetings_are_history_and_opening_calls_are_replayed() -> None:
    ledger = Ledger([SessionCreated("sess_1"), TurnStarted(1, None), TurnAdded({"type": "text", "content": "Hello!"})])
    ledger.append(TurnStarted(2, {"type": "text", "content": "hi"}))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))
    seen: list[Any] = []

    def agent(user_input: str | None, history: list[Any]) -> str:
        seen.append((user_input, [turn.output["content"] for turn in history]))
        return "done"

    assert replay(Cassette.from_ledger(ledger), agent).verdicts == {"unchanged": 1}
    assert seen == [("hi", ["Hello!"])]
    opening = Ledger([SessionCreated("sess_1"), TurnStarted(1, None), ToolCalled("look", {}, result=1), TurnAdded()])
    seen.clear()

    def solo(user_input: str | None, tools: ToolCaller) -> str:
        seen.append((user_input, tools.look()))
        return "whatever: no output was recorded"

    assert replay(Cassette.from_ledger(opening), solo).verdicts == {"unchanged": 1}
    assert seen == [(None, 1)]


def test_the_plan_can_put_other_words_into_the_users_mouth() -> None:
    ledger = recording([], [])
    heard: list[str] = []

    def agent(user_input: str) -> str:
        heard.append(user_input)
        return "done"

    result = run(ledger, agent, plan=replace(Plan(), inputs={2: "exchange it"}))  # type: ignore[arg-type]
    assert heard == ["hi", "exchange it"]
    assert result.turn(2).replayed is not None
    assert result.turn(2).replayed.authored_input


def test_a_renamed_tool_is_suggested() -> None:
    from pytest_statebase.engine.tools import Tool

    def fetch_order(order: str) -> dict[str, str]:
        return {}

    ledger = recording([("lookup_order", {"order": "A"}, '{"id": "A"}')])
    tools = [Tool("fetch_order", fetch_order, "m:fetch_order")]  # type: ignore[arg-type]
    result = run(ledger, Script([("fetch_order", {"order": "A"})]), tools=tools)
    assert 'tools: {"fetch_order": {was: "lookup_order"}}' in str(result.turn(1).calls[0].explanation)


def test_json_texts_for_a_tool_that_gives_objects_are_told() -> None:
    from pytest_statebase.engine.tools import Tool

    def look(n: int) -> dict[str, int]:
        return {}

    ledger = recording([("look", {"n": 1}, '{"n": 1}')])
    tool = Tool("look", look, "m:look")  # type: ignore[arg-type]
    result = run(ledger, Script([("look", {"n": 1})]), tools=[tool])
    assert "tools: {look: {result: json:loads}}" in result.warnings[0]


def test_a_failing_turn_that_differs_in_words_alone_says_so() -> None:
    ledger = recording([])
    result = replay(Cassette.from_ledger(ledger, Plan(failing=frozenset({1}))), lambda text: "other words")
    assert result.verdicts == {"still-failing": 1}
    assert "nothing but the words differs" in str(result.turn(1).reason)


def test_a_failing_turn_that_does_not_differ_says_nothing_of_words() -> None:
    ledger = recording([])
    words = ledger.turns[0].output["content"]
    result = replay(Cassette.from_ledger(ledger, Plan(failing=frozenset({1}))), lambda text: words)
    assert result.verdicts == {"still-failing": 1}
    assert result.turn(1).divergences == []
    assert result.turn(1).reason is None


def test_an_authored_answer_to_a_write_is_given_once() -> None:
    ledger = recording([("look", {"n": 1}, "seen")])
    plan = Plan(answers=(Answer("pay", {"n": 1}, "paid"),), tools={"look": ToolRules(reads=True)})
    twice = Script([("pay", {"n": 1}), ("pay", {"n": 1})])
    assert run(ledger, twice, plan=plan).verdicts == {"unrecorded": 1}
    assert twice.got == ["paid"]
    two = replace(plan, answers=(Answer("pay", {"n": 1}, "paid"), Answer("pay", {"n": 1}, "refused")))
    twice = Script([("pay", {"n": 1}), ("pay", {"n": 1})])
    run(ledger, twice, plan=two)
    assert twice.got == ["paid", "refused"]
    reads = replace(plan, answers=(Answer("look", {"n": 2}, "there"),))
    again = Script([("look", {"n": 2}), ("look", {"n": 2})])
    run(ledger, again, plan=reads)
    assert again.got == ["there", "there"]
