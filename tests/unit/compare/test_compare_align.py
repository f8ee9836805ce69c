from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from compare_data import T, answered, call, judged, missed, record, replay_of, text, told, verdicts

from pytest_statebase.cassette.plan import ToolRules
from pytest_statebase.compare.model import Divergence, Kind, Observed, ReplayedCall, Source, TurnResult
from pytest_statebase.compare.pairing import step_groups
from pytest_statebase.ledger import Ledger, ToolCalled


def session(*tools: str, **values: Any) -> Ledger:
    """One turn with a call `tool:argument` each."""
    return record(T(tuple(call(name.split(":")[0], x=name.partition(":")[2]) for name in tools)), **values)


def replayed(ledger: Ledger, *positions: int) -> list[Observed]:
    """The first turn's calls made in this order, each answered by its recording."""
    (observed,) = replay_of(ledger)
    observed.calls = [observed.calls[position] for position in positions]
    return [observed]


def simulated(tool: str, **arguments: Any) -> ReplayedCall:
    return ReplayedCall(tool, arguments, 1, Source.SIMULATED)


def rows(result: TurnResult) -> list[tuple[int | None, int | None, str]]:
    return [(row.recorded, row.replayed, row.label) for row in result.aligned]


FIVE = ("search:1", "search:2", "search:3", "search:4", "search:5")


def test_one_call_in_front_of_five_is_one_extra_call() -> None:
    ledger = session(*FIVE)
    observed = replay_of(ledger)
    observed[0].calls.insert(0, simulated("search", x="0"))
    (result,) = judged(ledger, observed)
    assert told([result]) == [(1, "tools", "extra", "tools.search#6")]
    assert rows(result)[:2] == [(None, 0, "search#6"), (0, 1, "search")]


def test_five_calls_reversed_are_told_as_their_order() -> None:
    ledger = session(*FIVE)
    (result,) = judged(ledger, replayed(ledger, 4, 3, 2, 1, 0))
    assert [found.kind for found in result.divergences] == [Kind.REORDERED] * 4
    assert {found.path for found in result.divergences} < {
        f"tools.search{k}.order" for k in ("", "#2", "#3", "#4", "#5")
    }
    assert str(result.verdict) == "changed"


def test_one_call_made_earlier_is_one_change_of_order() -> None:
    ledger = session("a", "b", "c", "d")
    (result,) = judged(ledger, replayed(ledger, 3, 0, 1, 2))
    assert told([result]) == [(1, "tools", "reordered", "tools.d.order")]
    assert result.divergences[0].detail == "made before a, recorded after it"
    assert (result.divergences[0].recorded, result.divergences[0].replayed) == (4, 1)


def with_steps(ledger: Ledger, *steps: int | None) -> Ledger:
    """The same session with the calls of its first turn in these steps."""
    numbers = iter(steps)
    return Ledger(dataclasses.replace(e, step=next(numbers)) if isinstance(e, ToolCalled) else e for e in ledger.events)


def test_calls_made_at_once_have_no_order() -> None:
    ledger = with_steps(session("a", "b", "c"), 1, 1, 2)
    assert told(judged(ledger, replayed(ledger, 1, 0, 2))) == []
    assert told(judged(ledger, replayed(ledger, 2, 0, 1))) == [(1, "tools", "reordered", "tools.c.order")]


def test_calls_that_the_replay_made_at_once_have_no_order_either() -> None:
    ledger = session("a", "b")
    observed = replayed(ledger, 1, 0)
    for made in observed[0].calls:
        made.step = 1
    assert told(judged(ledger, observed)) == []


def test_step_groups() -> None:
    assert step_groups([1, 1, 2]) == [0, 0, 1]
    assert step_groups([None, None, 1, 1, None]) == [0, 1, 2, 2, 3]


def test_the_most_alike_calls_of_a_tool_are_paired() -> None:
    ledger = record(T((call("pay", to="anna", amount=5), call("pay", to="ben", amount=7))))
    observed = replay_of(ledger)
    observed[0].calls = [simulated("pay", to="ben", amount=8)]
    assert told(judged(ledger, observed)) == [
        (1, "tools", "missing", "tools.pay"),
        (1, "tools", "arguments", "tools.pay#2.arguments.amount"),
    ]


def test_leftovers_pair_inside_their_gap_first() -> None:
    ledger = session("pay:1", "look:a", "pay:2")
    observed = replayed(ledger, 1)
    observed[0].calls.append(simulated("pay", x="3"))
    assert told(judged(ledger, observed)) == [
        (1, "tools", "missing", "tools.pay"),
        (1, "tools", "arguments", "tools.pay#2.arguments.x"),
    ]


def test_an_equal_call_answered_by_another_source_is_the_recorded_one() -> None:
    ledger = session("pay:1", "pay:2")
    observed = replay_of(ledger)
    observed[0].calls[0] = simulated("pay", x="1")
    assert told(judged(ledger, observed)) == []


def test_every_differing_argument_is_told() -> None:
    ledger = record(T((call("book", a=1, b={"c": [1, 2]}, gone=1),)))
    observed = replay_of(ledger)
    observed[0].calls = [simulated("book", a=1.0, b={"c": [1, 3]}, new=2)]
    (result,) = judged(ledger, observed)
    assert [(found.path, found.detail) for found in result.divergences] == [
        ("tools.book.arguments.a", None),
        ("tools.book.arguments.b.c[1]", None),
        ("tools.book.arguments.gone", "only the recorded call has it"),
        ("tools.book.arguments.new", "only the replayed call has it"),
    ]


def test_arguments_that_are_text() -> None:
    ledger = record(T((ToolCalled("raw", "not json"),)))
    observed = [Observed(1, [ReplayedCall("raw", "no json", 1, Source.SIMULATED)], text("Done."))]
    assert told(judged(ledger, observed)) == [(1, "tools", "arguments", "tools.raw.arguments")]


def test_another_tool_and_a_missing_one_in_other_places() -> None:
    ledger = session("a", "b", "c")
    observed = replayed(ledger, 0, 1)
    observed[0].calls.insert(1, simulated("z"))
    assert told(judged(ledger, observed, tools={"c": ToolRules(reads=True)})) == [
        (1, "tools", "extra", "tools.z"),
        (1, "tools", "missing", "tools.c"),
    ]


def test_writes_lead() -> None:
    ledger = session("look:1", "look:2", "pay:1")
    observed = replayed(ledger, 0)
    observed[0].calls.append(simulated("look", x="9"))
    reads = {"look": ToolRules(reads=True)}
    assert told(judged(ledger, observed, tools=reads))[0] == (1, "tools", "missing", "tools.pay")


# other turns


def two_turns() -> Ledger:
    return record(T((call("look", x="a"), call("pay", x="a"))), T((call("look", x="b"),)))


def test_a_call_made_in_another_turn_is_moved_and_not_missing() -> None:
    ledger = two_turns()
    observed = replay_of(ledger)
    observed[0].calls.append(answered(2, 0, ledger.turn(2).calls[0], at=1))
    observed[1].calls.clear()
    results = judged(ledger, observed)
    assert told(results) == [(1, "tools", "moved", "tools.look#2")]
    assert results[0].divergences[0].detail == "made in turn 1, recorded in turn 2"
    assert verdicts(results) == ["changed", "off-script"]


def test_a_call_made_later_than_recorded_is_moved() -> None:
    ledger = two_turns()
    observed = replay_of(ledger)
    observed[1].calls.append(answered(1, 1, ledger.turn(1).calls[1], at=2))
    del observed[0].calls[1]
    assert told(judged(ledger, observed)) == [(2, "tools", "moved", "tools.pay")]


def test_a_call_also_made_in_its_own_turn_is_extra_elsewhere() -> None:
    ledger = two_turns()
    observed = replay_of(ledger)
    observed[0].calls.append(answered(2, 0, ledger.turn(2).calls[0], at=1))
    observed[1].calls[0].repeated = True
    results = judged(ledger, observed)
    assert told(results) == [(1, "tools", "extra", "tools.look#2")]
    assert results[0].divergences[0].detail == "answered by the recording of turn 2"


def test_a_call_answered_from_before_the_fork_is_extra() -> None:
    ledger = two_turns()
    observed = replay_of(ledger)[1:]
    observed[0].calls.append(answered(1, 0, ledger.turn(1).calls[0], at=2))
    assert told(judged(ledger, observed, first=2)) == [(2, "tools", "extra", "tools.look#2")]


def test_a_call_answered_from_beyond_the_end_is_another_argument() -> None:
    ledger = two_turns()
    observed = replay_of(ledger)[:1]
    observed[0].calls[0] = answered(2, 0, ledger.turn(2).calls[0], at=1)
    assert told(judged(ledger, observed, until=1)) == [(1, "tools", "arguments", "tools.look.arguments.x")]


def test_a_call_from_beyond_the_end_that_pairs_with_nothing_is_moved() -> None:
    ledger = two_turns()
    observed = replay_of(ledger)[:1]
    observed[0].calls.append(answered(2, 0, ledger.turn(2).calls[0], at=1))
    assert told(judged(ledger, observed, until=1)) == [(1, "tools", "moved", "tools.look#2")]


def test_equal_calls_of_two_turns_answered_crosswise_are_no_change() -> None:
    """Among equal recordings the writes before decide, and not the turn."""
    look = call("look", x="a")
    ledger = record(T((look,)), T((look,)))
    observed = replay_of(ledger)
    observed[0].calls, observed[1].calls = [answered(2, 0, look, at=1)], [answered(1, 0, look, at=2)]
    assert told(judged(ledger, observed)) == []
    observed[1].calls = []
    assert told(judged(ledger, observed)) == [(2, "tools", "missing", "tools.look")]


def test_isolated_turns_miss_what_another_one_called() -> None:
    ledger = two_turns()
    observed = replay_of(ledger)
    observed[0].calls.append(answered(2, 0, ledger.turn(2).calls[0], at=1))
    observed[1].calls.clear()
    assert told(judged(ledger, observed, mode="isolated")) == [
        (1, "tools", "moved", "tools.look#2"),
        (2, "tools", "missing", "tools.look"),
    ]


def test_the_first_of_two_equal_calls_left_out_is_one_missing_call() -> None:
    """The stub answers the second one from the first recording."""
    ledger = session("look", "g", "look")
    observed = replayed(ledger, 1, 0)
    assert told(judged(ledger, observed)) == [(1, "tools", "missing", "tools.look")]


# misses


def missing_in(*calls: ReplayedCall) -> list[Observed]:
    return [Observed(1, list(calls), missed=True)]


def test_what_comes_after_a_miss_is_not_missing() -> None:
    ledger = session("a", "b", "c")
    recorded = ledger.turn(1).calls
    assert told(judged(ledger, missing_in(answered(1, 0, recorded[0]), missed(1, "b", x="other")))) == [
        (1, "tools", "arguments", "tools.b.arguments.x")
    ]
    assert told(judged(ledger, missing_in(missed(1, "z")))) == [(1, "tools", "replaced", "tools.a")]
    assert told(judged(ledger, missing_in(answered(1, 2, recorded[2]), missed(1, "z")))) == [
        (1, "tools", "missing", "tools.a"),
        (1, "tools", "missing", "tools.b"),
        (1, "tools", "extra", "tools.z"),
    ]


ENDED = {
    "raised": {"error": {"type": "ValueError", "message": "no"}},
    "ran away": {"error": {"type": "Runaway", "message": "the turn was ended: it took 60 s"}},
    "unrecorded": {"missed": True},
    "stale": {"missed": True, "stale": "the prompt moved"},
    "inconclusive": {"missed": True, "inconclusive": "the provider is down"},
}


@pytest.mark.parametrize("how", ENDED)
def test_what_a_turn_that_ended_early_did_not_reach_stands_in_its_rows_alone(how: str) -> None:
    ledger = session("look:1", "pay:1", "look:2", "pay:2", "tell")
    recorded = ledger.turn(1).calls
    made = [answered(1, 0, recorded[0]), answered(1, 2, recorded[2])]
    (result,) = judged(ledger, [Observed(1, made, **ENDED[how])])
    assert rows(result) == [(0, 0, "look"), (1, None, "pay"), (2, 1, "look#2"), (3, None, "pay#2"), (4, None, "tell")]
    assert [one for one in told([result]) if one[1] == "tools"] == [(1, "tools", "missing", "tools.pay")]
    assert str(result.verdict) == ("error" if "error" in ENDED[how] else how)


def test_a_turn_that_raised_before_its_first_call_has_rows_for_all() -> None:
    (result,) = judged(session("a", "pay"), [Observed(1, error={"type": "ValueError", "message": "no"})])
    assert rows(result) == [(0, None, "a"), (1, None, "pay")]
    assert told([result]) == [(1, "error", "raised", "error")]


def test_a_call_made_in_an_earlier_turn_is_not_told_as_not_reached() -> None:
    ledger = record(T((call("look"),)), T((call("pay"), call("tell"))))
    pay = ledger.turn(2).calls[0]
    observed = replay_of(ledger)
    observed[0].calls.append(answered(2, 0, pay, at=1))
    observed[1] = Observed(2, [], error={"type": "ValueError", "message": "no"})
    assert rows(judged(ledger, observed)[1]) == [(1, None, "tell")]


def test_a_call_in_the_place_of_another_is_named_where_its_answer_is_told() -> None:
    ledger = session("a", "b")
    for source, words in ((Source.NONE, "had no recorded answer"), (Source.SIMULATED, "answered by the simulator")):
        stray = ReplayedCall("z", {}, 1, source, unrecorded=source is Source.NONE)
        seen = Observed(1, [answered(1, 0, ledger.turn(1).calls[0]), stray], missed=stray.unrecorded)
        (found,) = (one for one in judged(ledger, [seen])[0].divergences if one.kind is Kind.REPLACED)
        assert (found.path, found.detail) == ("tools.b", f"z, called in its place, {words}")


def test_calls_refused_after_a_miss_are_not_told() -> None:
    ledger = session("a", "b")
    made = [answered(1, 0, ledger.turn(1).calls[0]), missed(1, "z"), ReplayedCall("b", {"x": ""}, 1)]
    assert told(judged(ledger, missing_in(*made))) == [(1, "tools", "replaced", "tools.b")]


def test_a_used_up_write_is_an_extra_call() -> None:
    ledger = session("pay:1")
    made = [answered(1, 0, ledger.turn(1).calls[0]), missed(1, "pay", x="1")]
    (result,) = judged(ledger, missing_in(*made))
    assert told([result]) == [(1, "tools", "extra", "tools.pay#2")]
    assert result.divergences[0].detail == "had no recorded answer"
    assert str(result.verdict) == "unrecorded"


def test_made_up_values_beside_a_wrong_argument_are_notes() -> None:
    from pytest_statebase.cassette.plan import Plan
    from pytest_statebase.compare.verdicts import judge

    ledger = record(T((call("book", room=1, key="k-1"),)))
    observed = [Observed(1, [missed(1, "book", room=2, key="k-2")], missed=True)]

    def made_up(recorded: Any, replayed: Any) -> bool:
        return str(recorded).startswith("k-") and str(replayed).startswith("k-")

    (result,) = judge(ledger=ledger, plan=Plan(), observed=observed, made_up=made_up)
    assert told([result]) == [(1, "tools", "arguments", "tools.book.arguments.room")]
    assert [found.path for found in result.divergences if found.note] == ["tools.book.arguments.key"]


# rules, agents, nesting


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        (("tools.a",), []),
        (("tools.a.order",), []),
        (("tools.b.order",), [(1, "tools", "reordered", "tools.a.order")]),
        (("tools",), []),
    ],
)
def test_rules_hide_tools_and_their_order(rules: tuple[str, ...], left: list[Any]) -> None:
    ledger = session("a", "b", "c")
    assert told(judged(ledger, replayed(ledger, 1, 2, 0), ignore=rules)) == left


def test_rules_hide_arguments_before_calls_are_paired() -> None:
    ledger = record(T((call("book", a=1, at="x"), call("book", a=2, at="y"))))
    observed = replay_of(ledger)
    observed[0].calls = [simulated("book", a=2, at="q")]
    assert told(judged(ledger, observed, ignore=("at",))) == [(1, "tools", "missing", "tools.book")]
    assert told(judged(ledger, observed, tools={"book": ToolRules(ignore=("at",))})) == [
        (1, "tools", "missing", "tools.book")
    ]


def test_a_rule_for_one_call_of_a_tool() -> None:
    ledger = session("a:1", "a:2")
    assert told(judged(ledger, replayed(ledger), ignore=("tools.a#2",))) == [(1, "tools", "missing", "tools.a")]


def test_another_agent_makes_the_call() -> None:
    ledger = record(T((ToolCalled("look", {"x": 1}, agent="billing"),)))
    observed = replay_of(ledger)
    assert told(judged(ledger, observed)) == []
    observed[0].calls[0].agent = "triage"
    (result,) = judged(ledger, observed)
    assert told([result]) == [(1, "tools", "value", "tools.look.agent")]
    assert result.divergences[0].detail == "made by triage, recorded billing"
    assert told(judged(ledger, observed, ignore=("tools.look.agent",))) == []


def test_a_nested_call_comes_with_the_outer_one() -> None:
    ledger = record(T((call("outer"), dataclasses.replace(call("inner"), during=0))))
    assert told(judged(ledger, replayed(ledger, 0))) == []
    assert told(judged(ledger, replayed(ledger))) == [(1, "tools", "missing", "tools.outer")]


def test_arguments_are_brought_into_one_form() -> None:
    from pytest_statebase.cassette.plan import Plan
    from pytest_statebase.compare.verdicts import judge

    ledger = record(T((call("f", a=1, b="default"),)))
    observed = replay_of(ledger)
    observed[0].calls = [simulated("f", a=2)]

    def bind(tool: str, arguments: Any) -> Any:
        return {key: value for key, value in arguments.items() if value != "default"}

    results = judge(ledger=ledger, plan=Plan(), observed=observed, bind=bind)
    assert told(results) == [(1, "tools", "arguments", "tools.f.arguments.a")]


def test_the_forks_id_in_an_argument_counts_as_the_sources() -> None:
    ledger = record(T((call("note", session="sess_1", by="sess_1/agent"),)))
    observed = replay_of(ledger)
    observed[0].calls = [simulated("note", session="fork_1", by="fork_1/agent")]
    assert told(judged(ledger, observed, fork_id="fork_1")) == []
    assert len(told(judged(ledger, observed))) == 2


def test_unfreezable_arguments_still_pair() -> None:
    class Odd:
        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            raise ValueError

    ledger = record(T((ToolCalled("f", {"x": Odd()}),)))
    observed = replay_of(ledger)
    observed[0].calls = [simulated("f", x=Odd())]
    (result,) = judged(ledger, observed)
    assert [found.path for found in result.divergences] == ["tools.f.arguments.x"]
    assert all(isinstance(found, Divergence) and found.fingerprint for found in result.divergences)
