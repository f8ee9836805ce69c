from __future__ import annotations

from typing import Any

import pytest
from compare_data import T, answered, call, judged, missed, record, replay_of, text, told, verdicts

from pytest_statebase.cassette.plan import Expect, OutputExpect, Plan, ToolsExpect
from pytest_statebase.compare.model import Observed, ReplayedCall, Source, TurnResult
from pytest_statebase.compare.paths import IgnoreRules
from pytest_statebase.compare.verdicts import judge
from pytest_statebase.ledger import Ledger
from pytest_statebase.values import ABSENT


@pytest.fixture
def ledger() -> Ledger:
    return record(
        T((call("look", x=1),), "First.", {"n": 1}),
        T((call("look", x=2),), "Second: an error.", {"n": 2}),
        T((call("look", x=3),), "Third.", {"n": 3}),
    )


@pytest.fixture
def observed(ledger: Ledger) -> list[Observed]:
    return replay_of(ledger)


NO_ERROR = {2: Expect(output=OutputExpect(not_contains=("error",)))}
FAILING = frozenset({2})


def second(ledger: Ledger, observed: list[Observed], **plan: Any) -> TurnResult:
    return judged(ledger, observed, **plan)[1]


# failing turns


def test_fixed_where_its_expect_holds_and_later_turns_are_off_script(ledger: Ledger, observed: list[Observed]) -> None:
    observed[1].output = text("Second.")
    results = judged(ledger, observed, failing=FAILING, expect=NO_ERROR)
    assert verdicts(results) == ["unchanged", "fixed", "off-script"]
    assert told(results) == [(2, "output", "text", "output")]


def test_still_failing_where_its_expect_does_not_hold(ledger: Ledger, observed: list[Observed]) -> None:
    observed[1].output = text("Another error.")
    result = second(ledger, observed, failing=FAILING, expect=NO_ERROR)
    assert str(result.verdict) == "still-failing"
    assert result.divergences[-1].detail == "output contains 'error'"


@pytest.mark.parametrize("output", ["Second: an error.", "Second: another error."])
@pytest.mark.parametrize("compare", [{}, {"output": "exact"}])
def test_still_failing_where_only_the_words_differ(
    ledger: Ledger, observed: list[Observed], output: str, compare: dict[str, str]
) -> None:
    observed[1].output = text(output)
    assert str(second(ledger, observed, failing=FAILING, compare=compare).verdict) == "still-failing"


def test_unproven_without_an_expect_says_what_to_paste(ledger: Ledger, observed: list[Observed]) -> None:
    observed[1].state = {"n": 20}
    result = second(ledger, observed, failing=FAILING)
    assert str(result.verdict) == "unproven"
    assert result.reason == 'expect:\n  2:\n    tools: {called: look}\n    state: {"n": 20}'


def test_a_raise_that_is_gone_is_unproven() -> None:
    ledger = record(T((), ABSENT, error={"type": "KeyError", "message": "x"}))
    observed = [Observed(1, [], text("Fine."))]
    (result,) = judged(ledger, observed, failing=frozenset({1}))
    assert str(result.verdict) == "unproven"
    assert told([result]) == [(1, "error", "removed", "error")]


def test_the_same_raise_is_still_failing() -> None:
    error = {"type": "KeyError", "message": "x"}
    ledger = record(T((), ABSENT, error=error))
    (result,) = judged(ledger, [Observed(1, error={**error, "trace": "…"})], failing=frozenset({1}))
    assert (str(result.verdict), result.divergences) == ("still-failing", [])


# good turns


def test_broken_where_the_expect_of_a_good_turn_does_not_hold(ledger: Ledger, observed: list[Observed]) -> None:
    expect = {1: Expect(tools=ToolsExpect(not_called=("look",)))}
    results = judged(ledger, observed, expect=expect)
    assert verdicts(results) == ["broken", "unchanged", "unchanged"]
    assert told(results) == [(1, "tools", "expect", "tools.look")]


def test_an_expect_that_holds_excuses_no_change(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].state = {"n": 5}
    results = judged(ledger, observed, expect={1: Expect(state={"n": 5})})
    assert verdicts(results) == ["changed", "off-script", "off-script"]


def test_words_do_not_part_the_conversation(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].output = text("Firstly.")
    assert verdicts(judged(ledger, observed)) == ["reworded", "unchanged", "unchanged"]
    assert verdicts(judged(ledger, observed, compare={"output": "exact"})) == ["changed", "unchanged", "unchanged"]


def test_off_script_turns_are_judged_by_expect_alone(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].calls.clear()
    observed[2].state = {"n": 9}
    assert verdicts(judged(ledger, observed)) == ["changed", "off-script", "off-script"]
    assert verdicts(judged(ledger, observed, expect={3: Expect(state={"n": 3})})) == ["changed", "off-script", "broken"]
    assert verdicts(judged(ledger, observed, expect={3: Expect(state={"n": 9})})) == [
        "changed",
        "off-script",
        "off-script",
    ]
    assert verdicts(judged(ledger, observed, expect={2: Expect(state={"n": 2})})) == [
        "changed",
        "unchanged",
        "off-script",
    ]


def test_isolated_turns_know_no_script(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].calls.clear()
    observed[2].state = {"n": 9}
    results = judged(ledger, observed, mode="isolated")
    assert verdicts(results) == ["changed", "unchanged", "changed"]
    assert [found.follows for result in results for found in result.divergences] == [None, None]


# errors, misses, the end


def test_an_error_outranks_everything_but_the_stop(ledger: Ledger, observed: list[Observed]) -> None:
    replay = [observed[0], Observed(2, [], error={"type": "ValueError", "message": "no", "trace": "…"})]
    results = judged(ledger, replay, failing=FAILING, expect=NO_ERROR, stopped="turn 2 raised ValueError")
    assert verdicts(results) == ["unchanged", "error", "not-replayed"]
    assert told(results) == [(2, "error", "raised", "error")]
    assert results[1].divergences[0].replayed == {"type": "ValueError", "message": "no"}
    assert results[2].reason == "turn 2 raised ValueError"


def test_calls_made_before_the_agent_raised_are_compared(ledger: Ledger, observed: list[Observed]) -> None:
    made = [answered(3, 0, ledger.turn(3).calls[0], at=2)]
    replay = [observed[0], Observed(2, made, error={"type": "ValueError", "message": "no"})]
    assert told(judged(ledger, replay)) == [
        (2, "error", "raised", "error"),
        (2, "tools", "arguments", "tools.look.arguments.x"),
    ]


def test_an_error_cannot_be_ignored(ledger: Ledger, observed: list[Observed]) -> None:
    observed[2] = Observed(3, observed[2].calls, error={"type": "ValueError", "message": "no"})
    assert verdicts(judged(ledger, observed, ignore=("error", "**.type"))) == ["unchanged", "unchanged", "error"]


@pytest.mark.parametrize(
    ("error", "kind", "path"),
    [
        ({"type": "KeyError", "message": "y"}, "value", "error.message"),
        ({"type": "ValueError", "message": "x"}, "raised", "error"),
    ],
)
def test_another_error_than_the_recorded_one_is_a_change(error: dict[str, str], kind: str, path: str) -> None:
    ledger = record(T((), ABSENT, error={"type": "KeyError", "message": "x"}))
    results = judged(ledger, [Observed(1, error=error)])
    assert told(results) == [(1, "error", kind, path)]
    assert verdicts(results) == ["changed"]
    assert verdicts(judged(ledger, [Observed(1, error=error)], ignore=("error",))) == ["unchanged"]


def test_a_miss_outranks_expect_and_discards_output_and_state(ledger: Ledger, observed: list[Observed]) -> None:
    calls = [missed(2, "look", x=9)]
    replay = [observed[0], Observed(2, calls, text("Fine."), {"type": "UnrecordedCall"}, {"n": 0}, missed=True)]
    results = judged(ledger, replay, failing=FAILING, expect=NO_ERROR)
    assert verdicts(results) == ["unchanged", "unrecorded", "not-replayed"]
    assert told(results) == [(2, "tools", "arguments", "tools.look.arguments.x")]


def test_a_miss_without_a_call_is_unrecorded_too(ledger: Ledger, observed: list[Observed]) -> None:
    assert verdicts(judged(ledger, [Observed(1, observed[0].calls, missed=True)]))[0] == "unrecorded"


def test_turns_beyond_until_fail_nothing(ledger: Ledger, observed: list[Observed]) -> None:
    results = judged(ledger, observed[:1], until=1)
    assert verdicts(results) == ["unchanged", "not-replayed", "not-replayed"]
    assert [result.beyond_until for result in results] == [False, True, True]
    assert results[1].reason == "the replay was to end with turn 1"


def test_turns_before_the_fork_have_no_result(ledger: Ledger, observed: list[Observed]) -> None:
    assert [result.turn for result in judged(ledger, observed[1:], first=2)] == [2, 3]


def test_a_greeting_is_history() -> None:
    ledger = record(T((), "Hello, what can I do?", input=None), T((), "Fine."), T((call("tick"),), "Tick.", input=None))
    observed = replay_of(ledger)
    assert [result.turn for result in judged(ledger, observed[1:])] == [2, 3]
    assert [result.turn for result in judged(ledger, observed[1:2])] == [2, 3]


# facets


def test_what_was_not_recorded_is_not_compared() -> None:
    ledger = Ledger(event for event in record(T((), ABSENT)).events)
    assert told(judged(ledger, [Observed(1, [], text("Anything"), state={"step": 0})])) == []


def test_an_output_that_is_not_there() -> None:
    ledger = record(T((), "Text"))
    results = judged(ledger, [Observed(1, [], ABSENT)])
    assert told(results) == [(1, "output", "removed", "output")]
    assert verdicts(results) == ["changed"]


def test_mappings_compare_exactly_inside_the_content() -> None:
    ledger = record(T((), {"type": "json", "content": {"total": 5, "ids": [1]}}))
    replayed = {"type": "json", "content": {"total": 5.0, "ids": [1, 2]}}
    results = judged(ledger, [Observed(1, [], replayed)])
    assert told(results) == [(1, "output", "type", "output.total"), (1, "output", "added", "output.ids[1]")]
    assert verdicts(results) == ["changed"]
    assert told(judged(ledger, [Observed(1, [], replayed)], ignore=("output.total", "ids"))) == []


def test_text_that_became_something_else() -> None:
    ledger = record(T((), "Text"))
    results = judged(ledger, [Observed(1, [], {"type": "json", "content": {}})])
    assert told(results) == [(1, "output", "type", "output")]
    assert verdicts(results) == ["changed"]


def test_rules_take_a_facet_away(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].output, observed[0].state = text("Other."), {"n": 100}
    assert told(judged(ledger, observed, ignore=("output", "state.n"))) == []
    assert told(judged(ledger, observed, ignore=("state", "output"))) == []


def test_the_forks_id_counts_as_the_sources() -> None:
    ledger = record(T((), "Session sess_1 is open.", {"id": "sess_1", "sess_1": 1}))
    replayed = Observed(
        1, [], text("Session sess_1-fork-version-0 is open."), state={"id": "sess_1", "sess_1-fork-version-0": 1}
    )
    assert told(judged(ledger, [replayed], fork_id="sess_1-fork-version-0")) == []
    isolated = Observed(
        1, [], text("Session sess_1-fork-turn-1 is open."), state={"id": "sess_1-fork-turn-1", "sess_1": 1}
    )
    results = judged(ledger, [isolated], fork_id="sess_1-fork-version-0", mode="isolated")
    assert (told(results), results[0].divergences) == ([], [])


def test_made_up_ids_are_notes_and_the_rest_is_told() -> None:
    ledger = record(T((), "Done.", {"id": "aaa", "n": 1, "log": ["aaa", "x"]}))
    replayed = Observed(
        1, [], text("Done."), state={"id": "bbb", "n": 2, "log": ["new", "bbb", "x"]}, renames={"aaa": "bbb"}
    )
    (result,) = judged(ledger, [replayed])
    assert told([result]) == [(1, "state", "value", "state.n"), (1, "state", "added", "state.log[0]")]
    assert ("state.id", True) in [(found.path, found.note) for found in result.divergences]
    assert str(result.verdict) == "changed"


def test_a_crossed_reference_is_no_renaming() -> None:
    ledger = record(T((), "Done.", {"first": "aaa", "second": "bbb"}))
    renames = {"aaa": "ccc", "bbb": "ddd"}
    replayed = Observed(1, [], text("Done."), state={"first": "ddd", "second": "ccc"}, renames=renames)
    assert len(told(judged(ledger, [replayed]))) == 2


# causes


def test_the_first_divergence_is_the_cause_of_the_rest(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].output = text("Firstly.")
    observed[1].calls.clear()
    observed[1].output = text("Secondly.")
    observed[2].state = {"n": 8}
    results = judged(ledger, observed)
    words, missing, other_words, state = [found for result in results for found in result.divergences]
    assert (words.follows, missing.follows) == (None, None)
    assert {other_words.follows, state.follows} == {missing.fingerprint}
    assert [str(found.facet) for found in (words, missing, other_words, state)] == [
        "output",
        "tools",
        "output",
        "state",
    ]


def test_words_are_a_cause_where_they_count(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].output, observed[1].output = text("Firstly."), text("Secondly.")
    results = judged(ledger, observed, compare={"output": "exact"})
    assert results[1].divergences[0].follows == results[0].divergences[0].fingerprint


def test_facets_come_in_causal_order(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0] = Observed(1, [], text("x"), None, {"n": 7})
    assert [found[1] for found in told(judged(ledger, observed))] == ["tools", "state", "output"]


def test_a_fingerprint_depends_on_the_difference_alone(ledger: Ledger, observed: list[Observed]) -> None:
    observed[0].state, observed[2].state = {"n": 7, "m": object()}, {"n": 3, "m": object()}
    first = judged(ledger, observed)[0].divergences[1].fingerprint
    third = judged(ledger, observed)[2].divergences[0].fingerprint
    assert first == third
    assert len(first) == 12


# what cannot be compared


class Raising:
    def __eq__(self, other: object) -> bool:
        raise ValueError("no")

    def __hash__(self) -> int:
        return 1


def test_a_comparison_that_fails_is_one_divergence_of_its_turn(ledger: Ledger, observed: list[Observed]) -> None:
    ledger.turn(2).calls[0].arguments["x"] = Raising()
    observed[1].calls = [ReplayedCall("look", {"x": Raising()}, 2, Source.SIMULATED)]
    observed[2].output = text("Another third.")
    results = judged(ledger, observed)
    assert [(found.path, found.detail) for found in results[1].divergences] == [
        ("tools", "could not be compared: ValueError")
    ]
    assert verdicts(results) == ["unchanged", "changed", "off-script"]


def test_a_deep_difference_has_a_fingerprint(ledger: Ledger, observed: list[Observed]) -> None:
    deep: Any = 1
    for _ in range(3000):
        deep = [deep]
    observed[0].state = {"n": 1, "deep": deep}
    observed[1].state = {"n": 2, "deep": [[deep]]}
    results = judged(ledger, observed)
    assert told(results)[0] == (1, "state", "added", "state.deep")
    assert results[1].divergences[0].follows == results[0].divergences[0].fingerprint


# rules that hide nothing


def test_stray_rules_are_known_after_a_replay_without_divergences(ledger: Ledger, observed: list[Observed]) -> None:
    rules = IgnoreRules.parse(
        ["n", "tools.look.arguments.x", "tools.look#1.order", "output", "state.typo", "tools.look#2", "tools.lok"]
    )
    judge(ledger=ledger, plan=Plan(), observed=observed, rules=rules)
    assert rules.unmatched() == ["state.typo", "tools.look#2", "tools.lok"]


def test_the_recorded_state_is_in_the_result(ledger: Ledger, observed: list[Observed]) -> None:
    results = judged(ledger, observed[:2])
    assert [result.recorded_state for result in results] == [{"n": 1}, {"n": 2}, {"n": 3}]
