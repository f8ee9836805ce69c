"""Requests without a recording, and recordings without a request: what a replay says of them."""

from __future__ import annotations

import base64
import json
import urllib.request
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Ledger, load_cassette, replay
from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.compare.model import Facet, Kind, ReplayResult, Verdict
from pytest_statebase.engine.matching import Pool
from pytest_statebase.engine.web.explain import explain
from pytest_statebase.engine.web.inventions import Inventions
from pytest_statebase.engine.web.pool import Exchanges, Found, Missed
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Exchange, Request, Response

API = "http://api.example.com/v1"
AT = "2026-03-01T12:00:00Z"
A, B, C = (f"{letter * 8}-1111-4111-8111-{letter * 12}" for letter in "abc")


def request(method: str, path: str, body: Any = None) -> Request:
    data = b"" if body is None else json.dumps(body).encode()
    return Request(method, f"{API}/{path}", (("content-type", "application/json"),) if data else (), data)


def exchange(method: str, path: str, body: Any = None, answer: Any = "done", *, turn: int | None = 1) -> Exchange:
    told = Response(200, "OK", (("content-type", "application/json"),), json.dumps(answer).encode())
    return Exchange(request(method, path, body), told, turn)


def why(asked: Request, *recorded: Exchange) -> str:
    found = Exchanges(recorded, rules=IgnoreRules()).answer(asked, 2)
    assert isinstance(found, Missed)
    return explain(found, asked, 2)


# --- In words


def test_never_recorded() -> None:
    asked = request("GET", "orders/7")
    assert why(asked) == f"turn 2 sent GET {API}/orders/7, which was never recorded"
    near = why(asked, exchange("POST", "refunds"), exchange("GET", "orders/1"))
    assert near.endswith(f"; the nearest one is GET {API}/orders/1 of turn 1")
    elsewhere = Exchange(Request("GET", "http://other.example.com/v1/orders/7"), Response(200), 1)
    assert why(asked, elsewhere) == f"turn 2 sent GET {API}/orders/7, which was never recorded"


@pytest.mark.parametrize(("count", "told"), [(1, "and that is used"), (2, "both used"), (3, "all used")])
def test_used_up(count: int, told: str) -> None:
    pool = Exchanges([exchange("GET", "job")] * count, rules=IgnoreRules())
    asked = request("GET", "job")
    assert all(isinstance(pool.answer(asked, 1), Found) for _ in range(count))
    found = pool.answer(asked, 1)
    assert isinstance(found, Missed)
    assert explain(found, asked, 1) == f"turn 1 sent GET {API}/job once more: extra call, {count} recorded, {told}"


def test_what_differs_is_told_field_by_field() -> None:
    asked = request("POST", "refunds?dry=1", {"amount": 70, "items": [1, 2]})
    told = why(asked, exchange("POST", "refunds", {"amount": 70, "items": [1], "note": "x"}))
    head, *lines = told.splitlines()
    assert head == f"turn 2 sent POST {API}/refunds, and the request differs from the recorded one of turn 1:"
    assert lines == [
        "  differs at query.dry: '1' was not recorded",
        "  differs at body.items[1]: 2 was not recorded",
        "  differs at body.note: 'x' is missing",
    ]
    many = why(request("POST", "refunds", {str(at): at for at in range(9)}), exchange("POST", "refunds", {}))
    assert many.splitlines()[-1] == "  and 5 more"


def test_bodies_of_another_kind() -> None:
    form = Request("POST", f"{API}/refunds", (("content-type", "application/x-www-form-urlencoded"),), b"a=1")
    told = why(form, exchange("POST", "refunds", {"a": "1"}))
    assert "differs at body: recorded as JSON, sent as a form" in told


def test_a_write_from_before_the_fork() -> None:
    recorded = [exchange("POST", "orders", {"a": 1}), exchange("POST", "orders", {"a": 2}, turn=2)]
    pool = Exchanges(recorded, rules=IgnoreRules(), first=2)
    asked = request("POST", "orders", {"a": 1})
    found = pool.answer(asked, 2)
    assert isinstance(found, Missed)
    assert (found.reason, found.nearest, found.differences) == ("before the fork", recorded[0], ())
    told = "which was recorded in turn 1, before the fork: from there only reads answer"
    assert explain(found, asked, 2) == f"turn 2 sent POST {API}/orders, {told}"
    other = pool.answer(request("POST", "orders", {"a": 3}), 2)
    assert isinstance(other, Missed)
    assert (other.reason, other.nearest) == ("differs", recorded[1])


def with_inventions(*recorded: Exchange, given: str = "Go") -> Exchanges:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": given}, AT), TurnAdded("ok")])
    ids = Pool(ledger, 1, lambda tool, arguments, ordinal: arguments, lambda tool: True)
    return Exchanges(recorded, rules=IgnoreRules(), inventions=Inventions(ids, ledger, recorded))


@pytest.mark.parametrize("again", [B, C])
def test_a_made_up_id_once_more(again: str) -> None:
    """The same one, and a further one."""
    pool = with_inventions(exchange("POST", "orders", {"id": A}))
    assert isinstance(pool.answer(request("POST", "orders", {"id": B}), 1), Found)
    asked = request("POST", "orders", {"id": again})
    found = pool.answer(asked, 1)
    assert isinstance(found, Missed)
    assert (found.reason, found.used) == ("used up", 1)
    told = f"turn 1 sent POST {API}/orders once more: extra call, 1 recorded, and that is used"
    assert explain(found, asked, 1) == told


def test_an_id_that_was_given_is_another_request_and_not_one_more() -> None:
    pool = with_inventions(exchange("POST", "orders", {"id": A}), given=f"Order {A}, not {C}")
    assert isinstance(pool.answer(request("POST", "orders", {"id": A}), 1), Found)
    found = pool.answer(request("POST", "orders", {"id": C}), 1)
    assert isinstance(found, Missed)
    assert found.reason == "differs"


def test_a_text_in_base64_is_no_made_up_id() -> None:
    old, new = (base64.b64encode(text).decode() for text in (b"order 1047 of 7", b"order 2093 of 8"))
    pool = with_inventions(exchange("POST", "mail", {"text": old}))
    found = pool.answer(request("POST", "mail", {"text": new}), 1)
    assert isinstance(found, Missed)
    assert found.reason == "differs"


def test_calls_of_models_are_explained_elsewhere() -> None:
    pool = Exchanges([exchange("POST", "chat", {"a": 1})], rules=IgnoreRules(), is_model=lambda one: True)
    found = pool.answer(request("POST", "chat", {"a": 2}), 1)
    assert isinstance(found, Missed)
    assert (found.reason, found.nearest) == ("differs", None)


# --- Accepted exchanges, which have ids of another run


def test_ids_of_the_record_and_of_the_accepted_run_have_one_name() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "Go"}, AT), TurnAdded("ok")])
    ids = Pool(ledger, 1, lambda tool, arguments, ordinal: arguments, lambda tool: True)
    recorded = [exchange("POST", "one", {"id": A}, A)]
    accepted = [exchange("POST", "two", {"id": B}, [B]), exchange("POST", "three", {"id": B}, [B, "again"])]
    pool = Exchanges(recorded, accepted, rules=IgnoreRules(), inventions=Inventions(ids, ledger, recorded, accepted))
    answers = [pool.answer(request("POST", path, {"id": C}), 1) for path in ("one", "two", "three")]
    bodies = [json.loads(one.answer.body) for one in answers if isinstance(one, Found)]  # type: ignore[union-attr]
    assert bodies == [C, [C], [C, "again"]]
    other = pool.answer(request("POST", "three", {"id": A}), 1)
    assert isinstance(other, Missed)


# --- Through a replay

Agent = Callable[..., str]


def send(method: str, path: str, body: Any = None) -> Any:
    one = request(method, path, body)
    asked = urllib.request.Request(one.url, one.body or None, dict(one.headers), method=method)
    with urllib.request.urlopen(asked) as answer:
        return json.loads(answer.read())


def replayed(
    path: Path,
    agent: Agent,
    exchanges: Sequence[Exchange],
    *,
    turns: int = 1,
    said: str = "done",
    plan: str = "",
    **options: Any,
) -> ReplayResult:
    events: list[Any] = [SessionCreated("sess_1")]
    for number in range(1, turns + 1):
        events.append(TurnStarted(number, {"type": "text", "content": f"turn {number}"}, AT))
        events += options.pop("calls", ())
        events.append(TurnAdded({"type": "text", "content": said}))
    path.mkdir(exist_ok=True)
    (path / "pyproject.toml").touch()
    write_record(path / "s.record.yaml", Ledger(events))
    write_http(path / "s.http.yaml", exchanges)
    (path / "s.session.yaml").write_text(f"cassette: 1\n{plan}", encoding="utf-8")
    return replay(load_cassette(path / "s.session.yaml"), agent, **options)


def test_a_request_that_differs(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        try:
            send("POST", "refunds", {"prompt": "delete all"})
        except Exception:
            return "done"
        return "done"

    result = replayed(tmp_path, agent, [exchange("POST", "refunds", {"prompt": "refund A"})])
    (turn,) = result.turns
    assert turn.verdict is Verdict.UNRECORDED
    (one,) = turn.divergences
    assert (one.facet, one.kind, one.path) == (Facet.HTTP, Kind.VALUE, "http.body.prompt")
    assert (one.recorded, one.replayed) == ("refund A", "delete all")


def test_once_more_and_once_less(tmp_path: Path) -> None:
    recorded = [exchange("GET", "job", answer="pending"), exchange("GET", "job", answer="done")]

    def polling(times: int) -> Agent:
        def agent(user_input: str) -> str:
            return [str(send("GET", "job")) for _ in range(times)][-1]

        return agent

    said = {}
    for times in (1, 2, 3):
        (turn,) = replayed(tmp_path / str(times), polling(times), recorded).turns
        said[times] = (turn.verdict, [(one.kind, one.detail) for one in turn.divergences if one.facet is Facet.HTTP])
    assert said[1] == (Verdict.CHANGED, [(Kind.MISSING, "1 recorded call not made")])
    assert said[2] == (Verdict.UNCHANGED, [])
    told = f"turn 1 sent GET {API}/job once more: extra call, 2 recorded, both used"
    assert said[3] == (Verdict.UNRECORDED, [(Kind.EXTRA, told)])


def test_an_id_made_up_in_a_prompt_comes_back_and_is_no_change(tmp_path: Path) -> None:
    seen: list[str] = []

    def agent(user_input: str) -> str:
        mine = str(uuid.uuid4())
        seen.append(mine)
        answer = send("POST", "chat", {"messages": [{"role": "user", "content": f"Run\n{mine}: hello"}]})
        assert answer == f"{mine} it is"
        return f"done: {answer}"

    prompt = {"messages": [{"role": "user", "content": f"Run\n{A}: hello"}]}
    recorded = [exchange("POST", "chat", prompt, f"{A} it is")]
    result = replayed(tmp_path, agent, recorded, said=f"done: {A} it is")
    assert seen
    assert [turn.verdict for turn in result.turns] == [Verdict.UNCHANGED]
    assert result.turns[0].replayed is not None
    assert result.turns[0].replayed.requests[0].renamed


def note(id: str) -> str:
    """A tool that is stubbed."""
    raise AssertionError


def test_tools_and_requests_know_an_id_by_the_same_name(tmp_path: Path) -> None:
    def agent(user_input: str) -> str:
        mine = str(uuid.uuid4())
        send("POST", "orders", {"id": mine})
        assert note(mine) == f"noted {mine}"
        assert send("POST", "refunds", {"of": mine}) == [mine]
        return "done"

    recorded = [exchange("POST", "orders", {"id": A}), exchange("POST", "refunds", {"of": A}, [A])]
    calls = [ToolCalled("note", {"id": A}, result=f"noted {A}")]
    result = replayed(tmp_path, agent, recorded, calls=calls, tools=[f"{__name__}:note"])
    assert [turn.verdict for turn in result.turns] == [Verdict.UNCHANGED]


def test_an_id_that_a_tool_gave_is_not_made_up(tmp_path: Path) -> None:
    """Told first, and passed to a tool afterwards."""

    def agent(user_input: str) -> str:
        note("")
        send("POST", "orders", {"id": B})
        return "done"

    calls = [ToolCalled("note", {"id": ""}, result=f"order {A}"), ToolCalled("note", {"id": A}, result=f"noted {A}")]
    result = replayed(tmp_path, agent, [exchange("POST", "orders", {"id": A})], calls=calls, tools=[f"{__name__}:note"])
    (turn,) = result.turns
    assert turn.verdict is Verdict.UNRECORDED
    assert [one.path for one in turn.divergences if one.facet is Facet.HTTP] == ["http.body.id"]


def test_an_id_that_a_turn_before_told_back_is_given() -> None:
    events = [
        SessionCreated("s"),
        *(
            TurnStarted(1, {"type": "text", "content": "Go"}, AT),
            ToolCalled("note", {"id": A}, result=A),
            TurnAdded(""),
        ),
        *(
            TurnStarted(2, {"type": "text", "content": "On"}, AT),
            ToolCalled("note", {"id": A}, result=A),
            TurnAdded(""),
        ),
    ]
    ledger = Ledger(events)
    recorded = [exchange("POST", "orders", {"id": A}, turn=number) for number in (1, 2)]
    for turn, kind in ((1, Found), (2, Missed)):
        ids = Pool(ledger, len(events), lambda tool, arguments, ordinal: arguments, lambda tool: True)
        known = Inventions(ids, ledger, recorded)
        pool = Exchanges([recorded[turn - 1]], rules=IgnoreRules(), inventions=known)
        assert isinstance(pool.answer(request("POST", "orders", {"id": B}), turn), kind)


# --- What nobody asked for


@pytest.mark.parametrize("mode", ["continuous", "isolated"])
def test_what_a_recording_without_turns_has_too_much(tmp_path: Path, mode: str) -> None:
    def agent(user_input: str, turn: int, history: Any) -> str:
        send("GET", f"job/{turn}")
        return "done"

    recorded = [exchange("GET", f"job/{number}", turn=None) for number in (1, 2, 3, 4)]
    result = replayed(tmp_path, agent, [*recorded, recorded[3]], turns=2, mode=mode)
    assert result.passed
    told = "api.example.com/v1/job"
    assert result.warnings == [
        f"3 of 5 recorded requests answered nothing: GET {told}/4 (2 times), GET {told}/3",
    ]


def test_nothing_is_too_much_for_a_part_of_the_session(tmp_path: Path) -> None:
    recorded = [exchange("GET", "job", turn=None)]
    result = replayed(tmp_path, lambda user_input, history: "done", recorded, turns=2, fork="turn 2")
    assert result.warnings == []


MODEL = "https://api.openai.com/v1/chat/completions"


def model_call(said: str, turn: int | None, during: int | None = None) -> Exchange:
    body = {"model": "m", "messages": [{"role": "user", "content": said}]}
    asked = Request("POST", MODEL, (("content-type", "application/json"),), json.dumps(body).encode())
    told = Response(200, "OK", (("content-type", "application/json"),), b"{}")
    return Exchange(asked, told, turn, during)


def asks(*said: str) -> Agent:
    """An agent that asks the model these questions, each with the number of the turn."""

    def agent(user_input: str, turn: int, history: Any) -> str:
        for text in said:
            one = model_call(f"{text} {turn}", None).request
            urllib.request.urlopen(urllib.request.Request(one.url, one.body, dict(one.headers))).read()
        return "done"

    return agent


@pytest.mark.parametrize("mode", ["continuous", "isolated"])
def test_recorded_model_calls_that_were_not_made(tmp_path: Path, mode: str) -> None:
    recorded = [model_call(f"{text} {turn}", turn) for turn in (1, 2, 3) for text in ("plan", "act")]
    recorded += [model_call("inside", 1, during=0), exchange("GET", "job", turn=None)]
    result = replayed(tmp_path, asks("plan"), recorded[:-1], turns=3, mode=mode)
    assert [turn.verdict for turn in result.turns] == [Verdict.UNCHANGED] * 3
    assert result.warnings == ["3 of 6 recorded model calls of the replayed turns were not made: turns 1, 2, 3"]


def test_an_agent_that_asks_no_model_at_all(tmp_path: Path) -> None:
    result = replayed(tmp_path, asks(), [model_call("plan 1", 1), model_call("plan 2", 2)], turns=2, fork="turn 2")
    assert result.warnings == ["1 of 1 recorded model calls of the replayed turns were not made: turn 2"]


def test_all_model_calls_made_or_a_turn_that_broke_off_is_no_warning(tmp_path: Path) -> None:
    recorded = [model_call("plan 1", 1), model_call("act 1", 1), model_call("never 1", None)]
    assert replayed(tmp_path, asks("plan", "act"), recorded[:2]).warnings == []
    result = replayed(tmp_path / "other", asks("think"), recorded)
    assert result.turns[0].verdict is Verdict.UNRECORDED
    assert result.warnings == []


@pytest.mark.parametrize("turn", [1, None])
def test_recorded_model_calls_that_accepted_ones_stand_for_are_no_warning(tmp_path: Path, turn: int | None) -> None:
    write_http(tmp_path / "s.accepted.http.yaml", [model_call("think 1", 1)])
    assert replayed(tmp_path, asks("think"), [model_call("plan 1", turn)]).warnings == []


def test_what_the_plan_ignores_is_no_warning(tmp_path: Path) -> None:
    recorded = [exchange("GET", "job", turn=None), model_call("plan 1", 1)]
    name = 'http."GET api.example.com/v1/job"'
    result = replayed(tmp_path, asks(), recorded, plan=f"ignore: ['{name}', 'http.\"POST {MODEL[8:]}\"']\n")
    assert result.warnings == []
