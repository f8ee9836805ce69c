"""HTTP requests of a turn beside the recorded ones: what is missing, new, moved or other, and the verdict."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from compare_data import T, call, record, replay_of
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.cassette.accepted import AcceptedTurn
from pytest_statebase.cassette.plan import Plan
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.compare.diff import Difference
from pytest_statebase.compare.model import (
    Divergence,
    Facet,
    Kind,
    Observed,
    ReplayedRequest,
    Source,
    TurnResult,
    Verdict,
)
from pytest_statebase.compare.verdicts import judge
from pytest_statebase.errors import PlanError
from pytest_statebase.wire.exchange import Exchange, Request, Response

API = "https://api.example.com/v1"
REFUNDS, JOB = f"{API}/refunds", f"{API}/job"
CHAT = "https://models.example.com/v1/chat/completions"
JSON = (("Content-Type", "application/json"),)


def exchange(method: str, url: str, turn: int | None, body: Any = None, *, during: int | None = None) -> Exchange:
    data = b"" if body is None else json.dumps(body).encode()
    return Exchange(Request(method, url, JSON, data), Response(200), turn, during)


def is_model(request: Request) -> bool:
    return request.url == CHAT


def made(recorded: Sequence[Exchange], place: int, *, turn: int | None = None, **others: Any) -> ReplayedRequest:
    """A request that the recording answered; turn: where it was made."""
    one = recorded[place]
    at = turn if turn is not None else one.turn or 1
    values: dict[str, Any] = {"source": Source.RECORD, "recorded_turn": one.turn, "recorded_index": place}
    model = is_model(one.request)
    return ReplayedRequest(one.request.method, one.request.address, at, model=model, **{**values, **others})


def other(turn: int, source: Source = Source.LIVE, **others: Any) -> ReplayedRequest:
    return ReplayedRequest("POST", REFUNDS, turn, source, **others)


LEDGER = record(T(), T(calls=(call("lookup", id=1),)), T())
RECORDED = [
    exchange("GET", f"{JOB}?page=1", 1),
    exchange("GET", f"{JOB}?page=2", 1),
    exchange("POST", CHAT, 1, {"messages": []}),
    exchange("GET", f"{API}/orders/1", 2, during=0),
    exchange("POST", REFUNDS, 2, {"order": "1047", "at": 7}),
    exchange("POST", REFUNDS, None, {}),
]


def compared(
    requests: Sequence[ReplayedRequest],
    recorded: Sequence[Exchange] = RECORDED,
    *,
    plan: Plan | None = None,
    change: dict[int, dict[str, Any]] | None = None,
    **options: Any,
) -> list[TurnResult]:
    """A replay that differs from `LEDGER` in its requests, and in what `change` says of turns."""
    observed: list[Observed] = []
    for seen in replay_of(LEDGER):
        seen.requests = [one for one in requests if one.turn == seen.number]
        observed.append(replace(seen, **(change or {}).get(seen.number, {})))
    options.setdefault("exchanges", recorded)
    return judge(ledger=LEDGER, plan=plan or Plan(), observed=observed, is_model=is_model, **options)


def found(results: Sequence[TurnResult]) -> list[tuple[int, Kind, str]]:
    return [(result.turn, one.kind, one.path) for result in results for one in result.divergences]


def verdicts(results: Sequence[TurnResult]) -> list[str]:
    return [str(result.verdict) for result in results]


def only(results: Sequence[TurnResult]) -> Divergence:
    (one,) = [one for result in results for one in result.divergences]
    assert one.facet is Facet.HTTP
    return one


ALL = [made(RECORDED, place) for place in (0, 1, 2, 4)]


def test_the_same_requests() -> None:
    results = compared(ALL)
    assert verdicts(results) == ["unchanged"] * 3
    assert not found(results)
    assert found(compared([], [])) == []


def test_a_recorded_request_that_was_not_made() -> None:
    results = compared([made(RECORDED, 0), *ALL[2:]])
    one = only(results)
    assert (one.kind, one.path) == (Kind.MISSING, 'http."GET api.example.com/v1/job"')
    assert one.detail == "1 recorded call not made"
    assert one.recorded == {"query": {"page": "2"}}
    assert verdicts(results) == ["changed", "off-script", "off-script"]


def test_several_of_one_address_are_told_together() -> None:
    one = only(compared(ALL[2:]))
    assert one.detail == "2 recorded calls not made"
    assert one.recorded == [{"query": {"page": "1"}}, {"query": {"page": "2"}}]


def test_what_was_in_the_body_is_told_without_what_is_ignored() -> None:
    one = only(compared(ALL[:-1], plan=Plan(ignore=("http.body.at",))))
    assert one.recorded == {"body": {"order": "1047"}}


def test_what_a_model_was_asked_is_not_judged() -> None:
    live = ReplayedRequest("POST", CHAT, 3, Source.LIVE, model=True)
    moved = made(RECORDED, 2, turn=3)
    for requests in ([*ALL[:2], ALL[3]], [*ALL, live], [*ALL[:2], moved, ALL[3]]):
        assert verdicts(compared(requests)) == ["unchanged"] * 3


def test_what_a_tool_sent_belongs_to_its_call() -> None:
    recorded = [exchange("GET", f"{API}/orders/1", 2, during=0)]
    assert verdicts(compared([], recorded)) == ["unchanged"] * 3


def test_recordings_without_turns_are_not_missed() -> None:
    assert verdicts(compared([], [exchange("GET", JOB, None)])) == ["unchanged"] * 3


@pytest.mark.parametrize("source", [Source.LIVE, Source.ACCEPTED])
def test_a_request_that_the_recording_does_not_have(source: Source) -> None:
    one = only(compared([*ALL, other(1, source)]))
    assert (one.kind, one.path) == (Kind.EXTRA, 'http."POST api.example.com/v1/refunds"')
    assert one.detail == "a request that the recording does not have"
    again = only(compared([*ALL, other(1, source), other(1, source)]))
    assert again.detail == "2 requests that the recording does not have"
    assert again.fingerprint == one.fingerprint


def test_a_request_that_nothing_answered() -> None:
    why = f"turn 1 sent POST {REFUNDS} once more: extra call, 2 recorded, both used"
    miss = other(1, Source.NONE, unrecorded=True, explanation=why)
    results = compared([miss], change={1: {"missed": True}}, stopped="turn 1 was unrecorded")
    assert results[0].verdict is Verdict.UNRECORDED
    assert [(one.kind, one.detail) for one in results[0].divergences] == [(Kind.EXTRA, why)]


def test_a_request_that_differs_is_told_by_what_differs() -> None:
    differences = [Difference(Kind.VALUE, ("http", "body", "order"), "1047", "2093")]
    miss = other(2, Source.NONE, unrecorded=True, explanation="differs", differences=differences)
    results = compared([*ALL[:3], miss], change={2: {"missed": True}})
    one = results[1].divergences[0]
    assert (one.facet, one.kind, one.path) == (Facet.HTTP, Kind.VALUE, "http.body.order")
    assert (one.recorded, one.replayed) == ("1047", "2093")
    assert one.detail == f"POST {REFUNDS}"
    assert IgnoreRules.parse([one.path]).strip({"order": 1, "x": 2}, ("http", "body")) == {"x": 2}


def test_a_request_in_another_turn_is_moved_and_not_missed() -> None:
    one = only(compared([*ALL[:3], made(RECORDED, 4, turn=3)]))
    assert (one.kind, one.path, one.detail) == (
        Kind.MOVED,
        'http."POST api.example.com/v1/refunds"',
        "recorded in turn 2",
    )


def test_reads_from_before_the_fork_are_not_moved() -> None:
    results = compared([made(RECORDED, 0, turn=2), ALL[3]], first=2)
    assert verdicts(results) == ["unchanged", "unchanged"]


def test_isolated_turns_each_have_to_send_their_own() -> None:
    results = compared([*ALL[:3], made(RECORDED, 4, turn=3)], mode="isolated")
    assert found(results) == [
        (2, Kind.MISSING, 'http."POST api.example.com/v1/refunds"'),
        (3, Kind.MOVED, 'http."POST api.example.com/v1/refunds"'),
    ]
    assert verdicts(results) == ["unchanged", "changed", "changed"]


def test_nothing_is_missing_from_a_turn_that_broke_off() -> None:
    error = {"type": "ValueError", "message": "no"}
    results = compared(ALL[:3], change={2: {"error": error}})
    assert [(one.facet, one.kind) for one in results[1].divergences] == [(Facet.ERROR, Kind.RAISED)]


def test_requests_come_between_calls_and_what_follows_from_them() -> None:
    change = {2: {"calls": [], "state": {"step": 1}, "output": {"type": "text", "content": "No."}}}
    results = compared(ALL[:3], change=change)
    assert [str(one.facet) for one in results[1].divergences] == ["tools", "http", "state", "output"]
    cause, *followers = results[1].divergences
    assert all(one.follows == cause.fingerprint for one in followers)


@pytest.mark.parametrize("rule", ["http", 'http."POST api.example.com/v1/refunds"', "http.*"])
def test_requests_that_are_ignored(rule: str) -> None:
    rules = IgnoreRules.parse([rule])
    for requests in (ALL[:-1], [*ALL, other(1)], [*ALL[:3], made(RECORDED, 4, turn=3)]):
        assert verdicts(compared(requests, rules=rules)) == ["unchanged"] * 3
    assert rules.unmatched() == []


@pytest.mark.parametrize(
    ("rule", "used"),
    [
        ("http.body.at", True),
        ("at", True),
        ("http.**.at", True),
        ("http.query.page", True),
        ("http.headers.content-TYPE", True),
        ('http."GET api.example.com/v1/job"', True),
        ("http.body.never", False),
        ("http.headers.x-tenant", False),
        ('http."GET api.example.com/v1/other"', False),
    ],
)
def test_rules_for_what_is_recorded_are_used(rule: str, used: bool) -> None:
    rules = IgnoreRules.parse([rule])
    compared(ALL, rules=rules)
    assert (rules.unmatched() == []) is used


@pytest.mark.parametrize(
    "rule",
    [
        "http.body.messages[*].timestamp",
        "http.body.**.request_id",
        "**.request_id",
        "http.query.ts",
        "http.headers.x-tenant",
        "http.body",
        "http.*.x",
    ],
)
def test_paths_of_requests_can_be_read(rule: str) -> None:
    assert IgnoreRules.parse([rule]).unmatched() == [rule]


@pytest.mark.parametrize("rule", ["http.boddy.x", "http.status", 'http."POST api.example.com/x".body'])
def test_paths_into_what_is_not_compared_are_refused(rule: str) -> None:
    with pytest.raises(PlanError, match="not compared") as caught:
        IgnoreRules.parse([rule], where="s.session.yaml:3:3")
    assert "`body`, `query` and `headers`" in str(caught.value)


# --- Against an accepted baseline


def accepted_turn(*fingerprints: str) -> dict[int, AcceptedTurn]:
    output = {"type": "text", "content": "Done."}
    return {1: AcceptedTurn(1, (), output, fingerprints=fingerprints)}


ACCEPTED = [exchange("POST", REFUNDS, 1, {"order": "2093"})]


def taken(place: int = 0) -> ReplayedRequest:
    return other(1, Source.ACCEPTED, recorded_turn=1, recorded_index=place)


def test_what_was_accepted_is_no_difference() -> None:
    print_ = only(compared([*ALL, taken()])).fingerprint
    results = compared([*ALL, taken()], accepted=accepted_turn(print_), accepted_exchanges=ACCEPTED)
    assert results[0].verdict is Verdict.ACCEPTED
    assert results[0].divergences == []


def test_an_accepted_request_that_is_not_made_any_more() -> None:
    results = compared(ALL, accepted=accepted_turn("0" * 12), accepted_exchanges=ACCEPTED)
    (one,) = results[0].divergences
    assert (one.path, one.recorded) == ('http."POST api.example.com/v1/refunds"', {"body": {"order": "2093"}})
    assert one.kind is Kind.REVERTED  # as recorded again
    assert results[0].verdict is Verdict.CHANGED
    results = compared(ALL[1:], accepted=accepted_turn("0" * 12), accepted_exchanges=ACCEPTED)
    assert [one.kind for one in results[0].divergences] == [Kind.MISSING, Kind.MISSING]


def test_a_recorded_request_that_was_accepted_to_be_left_out_and_another_that_was_not() -> None:
    left_out = only(compared([ALL[0], *ALL[2:]])).fingerprint
    same = compared([ALL[0], *ALL[2:]], accepted=accepted_turn(left_out))
    assert same[0].verdict is Verdict.ACCEPTED
    more = compared(ALL[2:], accepted=accepted_turn(left_out))
    assert more[0].verdict is Verdict.CHANGED
    assert more[0].divergences[0].detail == "2 recorded calls not made"


def test_a_request_beside_the_accepted_one() -> None:
    print_ = only(compared([*ALL, taken()])).fingerprint
    requests = [*ALL, taken(), other(1)]
    results = compared(requests, accepted=accepted_turn(print_), accepted_exchanges=ACCEPTED)
    assert results[0].verdict is Verdict.CHANGED


# --- In general


@given(st.lists(st.sampled_from([0, 1, 4]), unique=True), st.permutations([1, 2, 3]))
def test_each_recorded_request_is_either_made_missing_or_moved(places: list[int], turns: list[int]) -> None:
    requests = [made(RECORDED, place, turn=turns[place % 3]) for place in places]
    results = compared([*requests, ALL[2]])
    http = [one for result in results for one in result.divergences]
    missing = sum(int(str(one.detail).split()[0]) for one in http if one.kind is Kind.MISSING)
    moved = sum(one.kind is Kind.MOVED for one in http)
    assert missing == 3 - len(places)
    assert moved == sum(RECORDED[one.recorded_index or 0].turn != one.turn for one in requests)


def test_many_exchanges_in_many_turns() -> None:
    def seconds(count: int) -> float:
        ledger = record(*(T() for _ in range(count)))
        exchanges = [exchange("GET", f"{API}/{number}", number) for number in range(1, count + 1)]
        observed = replay_of(ledger)
        for seen in observed:
            seen.requests = [made(exchanges, seen.number - 1)]
        started = time.process_time()
        results = judge(ledger=ledger, plan=Plan(), observed=observed, exchanges=exchanges, is_model=is_model)
        taken = time.process_time() - started
        assert {result.verdict for result in results} == {Verdict.UNCHANGED}
        return taken

    seconds(100)
    small, large = min(seconds(500) for _ in range(3)), min(seconds(2_000) for _ in range(3))
    assert large < 12 * small
