"""Which recorded exchange answers a request, and what is said where none does."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_statebase import Ledger, load_cassette, replay
from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.cassette.redaction import redacted
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.compare.model import Divergence, Facet, Kind, ReplayResult, Source, Verdict
from pytest_statebase.engine.matching import Pool
from pytest_statebase.engine.web import pool as module
from pytest_statebase.engine.web.explain import explain
from pytest_statebase.engine.web.inventions import Inventions, told_by
from pytest_statebase.engine.web.pool import Exchanges, Found, Missed
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Answer, Exchange, Failure, Request, Response

URL = "http://api.example.com/v1/refunds"
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
A, B, C = (f"{letter * 8}-1111-4111-8111-{letter * 12}" for letter in "abc")


def post(body: Any, url: str = URL, kind: str = JSON, **headers: str) -> Request:
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    others = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request("POST", url, (("content-type", kind), *others), data)


def get(url: str = URL) -> Request:
    return Request("GET", url)


def ok(body: Any = "done") -> Response:
    return Response(200, "OK", (("content-type", JSON),), json.dumps(body).encode())


def exchange(request: Request, answer: Any = "done", turn: int | None = 1, **others: Any) -> Exchange:
    told: Answer = answer if isinstance(answer, (Response, Failure)) else ok(answer)
    return Exchange(request, told, turn, **others)


def pool(*recorded: Exchange, ignore: Sequence[str] = (), session: Session | None = None, **options: Any) -> Exchanges:
    """session: what tells ids that the agent makes up."""
    inventions = session and Inventions(session.ids, session.ledger, recorded, ())
    return Exchanges(recorded, rules=IgnoreRules.parse(ignore), inventions=inventions, **options)


class Session:
    """What an agent was told, a text a turn, and what it said to it."""

    def __init__(self, *given: str, said: str = "done") -> None:
        events: list[Any] = [SessionCreated("sess_1")]
        for number, text in enumerate(given, 1):
            events.append(TurnStarted(number, {"type": "text", "content": text}, NOW.isoformat()))
            events.append(TurnAdded({"type": "text", "content": said}))
        self.ledger = Ledger(events)
        self.ids = Pool(self.ledger, 1, lambda tool, arguments, ordinal: arguments, lambda tool: True)

    def take(self, found: Found | Missed) -> Found:
        """What the agent knows from an answer."""
        assert isinstance(found, Found), found
        self.ids.learn([told_by(found.answer)])
        return found


def body_of(found: Found | Missed) -> Any:
    assert isinstance(found, Found), found
    assert isinstance(found.answer, Response)
    return json.loads(found.answer.body)


def missed(found: Found | Missed) -> Missed:
    assert isinstance(found, Missed)
    return found


def is_found(recorded: Request, asked: Request, **options: Any) -> bool:
    return isinstance(pool(exchange(recorded), **options).answer(asked, 1), Found)


# --- What counts


def test_a_changed_prompt_is_not_answered_and_the_field_is_named() -> None:
    asked = post({"prompt": "delete all"})
    found = missed(pool(exchange(post({"prompt": "refund A"}))).answer(asked, 1))
    assert found.reason == "differs"
    told = explain(found, asked, 1)
    assert f"turn 1 sent POST {URL}" in told
    assert 'body.prompt: recorded "refund A", sent "delete all"' in told


def test_order_of_keys_and_blanks_do_not_count() -> None:
    assert is_found(
        post('{"a": 1, "b": [1, {"c": null, "d": "x"}]}'), post('{ "b":[1,{"d":"\\u0078","c":null}],"a":1 }')
    )
    assert is_found(
        post('{"a": 1}', kind="application/vnd.api+json; charset=utf-8"), post('{"a":1}', kind="text/plain")
    )


@pytest.mark.parametrize("pair", [(1, 1.0), (1, True), (0, False), ("1", 1), (None, ""), ([], {}), ([1, 2], [2, 1])])
def test_types_and_order_of_lists_count(pair: tuple[Any, Any]) -> None:
    assert not is_found(post({"n": pair[0]}), post({"n": pair[1]}))


def test_a_body_is_no_other_one_that_looks_like_it() -> None:
    bodies: list[tuple[str | bytes, str]] = [
        ("", JSON), ("null", JSON), ('"null"', JSON), ("null", "text/plain"), ("a=1", FORM), ("a=1", "text/plain"),
        ('{"a": ["1"]}', JSON), (b"\xff\x00", "image/png"), ('["bytes", "ff00"]', JSON), ("ÿ\0", "text/plain"),
        ("{not json", JSON), ('{"\\u0000": "\\u00ff\\u0000"}', JSON),
    ]  # fmt: skip
    known = pool(*(exchange(post(body, kind=kind), at) for at, (body, kind) in enumerate(bodies)))
    assert [body_of(known.answer(post(body, kind=kind), 1)) for body, kind in bodies] == list(range(len(bodies)))


def test_binary_bodies_are_no_ids() -> None:
    old, new = b"\xff" + b"refund all of it" * 9, b"\xff" + b"refund nothing .." * 9
    assert not is_found(post(old, kind="application/octet-stream"), post(new, kind="application/octet-stream"))


def test_forms() -> None:
    assert is_found(post("a=1&b=2&a=3&c=", kind=FORM), post("b=2&a=1&c=&a=%33", kind=FORM))
    assert not is_found(post("a=1&a=3", kind=FORM), post("a=3&a=1", kind=FORM))
    assert not is_found(post("a=1", kind=FORM), post("a=1&b=", kind=FORM))


def multipart(boundary: str, *parts: tuple[str, bytes]) -> Request:
    lines = [f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data for head, data in parts]
    body = b"\r\n".join([*lines, f"--{boundary}--\r\n".encode()])
    return post(body, kind=f"multipart/form-data; boundary={boundary}")


FILE = 'name="file"; filename="a.bin"'


def test_multipart_with_another_boundary() -> None:
    recorded = multipart("Xa1b2", ('name="order"', b"1047"), (FILE, b"\xff\x00\r\n\n"))
    assert is_found(recorded, multipart("Yc3d4", ('name="order"', b"1047"), (FILE, b"\xff\x00\r\n\n")))
    for other in (
        multipart("Y", ('name="order"', b"1047"), (FILE, b"\xfe\x00\r\n\n")),
        multipart("Y", ('name="order"', b"1048"), (FILE, b"\xff\x00\r\n\n")),
        multipart("Y", ('name="order"', b"1047"), ('name="file"; filename="b.bin"', b"\xff\x00\r\n\n")),
        multipart("Y", ('name="order"', b"1047")),
    ):
        assert not is_found(recorded, other)


def test_multipart_inside_of_multipart() -> None:
    def nested(boundary: str, text: str) -> Request:
        inner = f"--in{boundary}\r\n\r\n{text}\r\n--in{boundary}--\r\n"
        head = f"--{boundary}\r\nContent-Type: multipart/mixed; boundary=in{boundary}\r\n\r\n"
        return post(f"{head}{inner}\r\n--{boundary}--\r\n", kind=f"multipart/mixed; boundary={boundary}")

    assert is_found(nested("X", "one"), nested("Y", "one"))
    assert not is_found(nested("X", "one"), nested("Y", "two"))


def test_multipart_that_is_none() -> None:
    assert not is_found(post("one", kind="multipart/form-data"), post("two", kind="multipart/form-data"))


def test_query_by_name() -> None:
    assert is_found(get(f"{URL}?a=1&b=2&a=3"), get(f"{URL}?b=2&a=1&a=3"))
    assert not is_found(get(f"{URL}?a=1&a=3"), get(f"{URL}?a=3&a=1"))
    assert not is_found(get(f"{URL}?a="), get(URL))
    assert is_found(get("HTTP://user:pw@API.example.com:80/v1/refunds#x"), get(URL))
    assert not is_found(get(f"{URL}/"), get(URL))


def test_headers_that_count() -> None:
    recorded, other = post({}, X_Tenant="a"), post({}, x_tenant="b")
    assert is_found(recorded, other)
    assert not is_found(recorded, other, headers=["X-TENANT"])
    assert is_found(recorded, post({}, x_TENANT="a", accept="x"), headers=["X-TENANT"])
    assert is_found(recorded, other, headers=["X-Tenant"], ignore=["http.headers.x-tenant"])


def test_deep_bodies() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    rules = ["**.request_id"]
    assert is_found(post(deep), post(deep), ignore=rules)
    assert not is_found(post(deep), post(f"{deep} "), ignore=rules)
    for depth in (150, 400, 900):
        body = '{"a":' * depth + "1" + "}" * depth
        assert is_found(post(body), post(body), ignore=rules)
        assert not is_found(post(body), post(body.replace("1", "2")), ignore=rules)


@pytest.mark.parametrize(
    ("rule", "recorded", "asked"),
    [
        ("http.body.x", post({"x": 1, "y": 2}), post({"x": 2, "y": 2})),
        ("http.body.x", post({"y": 2}), post({"x": 2, "y": 2})),
        ("http.body.items[*].at", post({"items": [{"at": 1}]}), post({"items": [{"at": 2}]})),
        ("http.body", post({"x": 1}), post({"z": 2})),
        ("http.query.ts", get(f"{URL}?ts=1&a=b"), get(f"{URL}?a=b&ts=2")),
        ("http.query", get(f"{URL}?ts=1"), get(URL)),
        ("**.request_id", post({"a": {"request_id": 1}}), post({"a": {"request_id": 2}})),
        ("request_id", get(f"{URL}?request_id=1"), get(f"{URL}?request_id=2")),
        ("http.body.token", post("token=1&a=b", kind=FORM), post("a=b&token=2", kind=FORM)),
        ("http.body.order", multipart("X", ('name="order"', b"1")), multipart("Y", ('name="order"', b"2"))),
    ],
)
def test_what_is_ignored(rule: str, recorded: Request, asked: Request) -> None:
    assert not is_found(recorded, asked)
    rules = IgnoreRules.parse([rule])
    assert isinstance(Exchanges([exchange(recorded)], rules=rules).answer(asked, 1), Found)
    assert rules.unmatched() == []


# --- Which of several


def test_the_same_call_twice() -> None:
    known = pool(exchange(get(), "pending"), exchange(get(), "done"))
    assert [body_of(known.answer(get(), 1)) for _ in range(2)] == ["pending", "done"]
    found = missed(known.answer(get(), 1))
    assert (found.reason, found.used) == ("used up", 2)
    assert explain(found, get(), 1) == f"turn 1 sent GET {URL} once more: extra call, 2 recorded, both used"
    assert known.unused([1]) == []


def test_what_was_not_asked_for() -> None:
    known = pool(
        exchange(get(), "pending"), exchange(get(), "done"), exchange(get(), turn=2), exchange(get(), turn=None)
    )
    known.answer(get(), 1)
    assert [json.loads(one.answer.body) for one in known.unused([1]) if isinstance(one.answer, Response)] == ["done"]
    assert len(known.unused([None])) == 1


def test_accepted_ones_first_then_the_turns_own_then_in_order() -> None:
    recorded = [exchange(get(), f"{turn}{letter}", turn) for turn, letter in ((1, "a"), (2, "a"), (3, "a"), (2, "b"))]
    accepted = [exchange(get(), "accepted 3", 3), exchange(get(), "accepted 2", 2)]
    known = Exchanges(recorded, accepted, rules=IgnoreRules())
    found = [known.answer(get(), 2) for _ in range(6)]
    assert [body_of(one) for one in found] == ["accepted 2", "2a", "2b", "accepted 3", "1a", "3a"]
    places = [(one.source, one.index) for one in found if isinstance(one, Found)]
    assert places[:3] == [(Source.ACCEPTED, 1), (Source.RECORD, 1), (Source.RECORD, 3)]


def test_writes_from_before_the_fork_do_not_answer_and_reads_do() -> None:
    chat = "http://models.example.com/v1/chat/completions"
    recorded = [exchange(post({})), exchange(get()), exchange(post({}, chat)), exchange(Request("OPTIONS", URL))]
    known = pool(*recorded, first=2, is_model=lambda request: request.url == chat)
    assert isinstance(known.answer(post({}), 2), Missed)
    assert all(isinstance(known.answer(request, 2), Found) for request in (get(), post({}, chat), recorded[3].request))
    assert isinstance(pool(exchange(post({}), turn=None), first=2).answer(post({}), 2), Found)


def test_traffic_of_a_tool_that_is_stubbed_is_used_with_it() -> None:
    known = pool(
        exchange(get(), 0, during=0), exchange(get(), 1, during=1), exchange(get(), 2), exchange(get(), 3, 2, during=0)
    )
    known.consumed(1, 0)
    known.consumed(1, 7)
    assert [body_of(known.answer(get(), 1)) for _ in range(3)] == [1, 2, 3]
    assert missed(known.answer(get(), 1)).used == 4


def test_recordings_without_turns() -> None:
    known = pool(*(exchange(get(), number, None) for number in range(3)))
    assert [body_of(known.answer(get(), turn)) for turn in (3, 1, 2)] == [0, 1, 2]


def test_failures_are_answers() -> None:
    found = pool(exchange(get(), Failure("timeout"))).answer(get(), 1)
    assert isinstance(found, Found)
    assert found.answer == Failure("timeout")


def test_the_nearest_is_of_the_turn_and_unused() -> None:
    def body(text: str) -> Request:
        return post({"prompt": text, "tools": [1, 2]})

    known = pool(exchange(body("a")), exchange(body("b"), turn=2), exchange(post({"x": 1}), turn=2))
    known.answer(body("a"), 1)
    nearest = missed(known.answer(body("c"), 2)).nearest
    assert nearest is not None
    assert nearest.request == body("b")
    assert missed(known.answer(get("http://other.example.com/"), 2)).reason == "never recorded"
    found = missed(known.answer(get(), 2))
    told = explain(found, get(), 2)
    assert f"turn 2 sent GET {URL}" in told
    assert "POST" in told


def test_long_texts_are_shown_where_they_differ() -> None:
    filler = "word " * 2_000
    asked = post({"prompt": f"{filler}cancel\x1b[31m {filler}"})
    told = explain(missed(pool(exchange(post({"prompt": f"{filler}refund {filler}"}))).answer(asked, 1)), asked, 1)
    assert "refund" in told
    assert "cancel\\x1b" in told
    assert len(told) < 400


# --- Ids and times that are made up


def prompt(text: str) -> Request:
    return post({"messages": [{"role": "user", "content": text}]})


def test_made_up_ids_in_a_prompt_are_renamed_back_in_the_answer() -> None:
    known = pool(exchange(prompt(f"Trace:\n{A}. Refund 1047."), f"as {A} says"), session=Session("Refund 1047."))
    found = known.answer(prompt(f"Trace:\n{B}. Refund 1047."), 1, [NOW])
    assert body_of(found) == f"as {B} says"
    assert isinstance(found, Found)
    assert found.renamed


def test_an_id_keeps_its_name_in_later_requests_and_answers() -> None:
    knows = Session("Refund 1047.")
    recorded = [exchange(prompt(f"{A} {text}"), f"{A} {text}") for text in ("one", "two")]
    known = pool(*recorded, exchange(get(), [A]), exchange(prompt(f"{A} three")), session=knows)
    for text in ("one", "two"):
        assert body_of(knows.take(known.answer(prompt(f"{B} {text}"), 1, [NOW]))) == f"{B} {text}"
    assert body_of(known.answer(get(), 1, [NOW])) == [B]
    assert missed(known.answer(prompt(f"{C} three"), 1, [NOW])).reason == "differs"


@pytest.mark.parametrize("before", ["", "Order:\n", "\t", "é"])
def test_an_id_that_was_given_has_to_be_the_same(before: str) -> None:
    for one, other in ((A, B), ("9f8a7b6c5d4e", "1a2b3c4d5e6f")):
        recorded = exchange(prompt(f"{before}{one}"))
        assert isinstance(pool(recorded, session=Session("hello")).answer(prompt(f"{before}{other}"), 1, [NOW]), Found)
        for given_one in (one, other):
            known = pool(recorded, session=Session(f"Refund {given_one}, please."))
            assert missed(known.answer(prompt(f"{before}{other}"), 1, [NOW])).reason == "differs"


def test_an_id_that_an_answer_gave_has_to_be_the_same() -> None:
    knows = Session("hello")
    known = pool(exchange(get(), f"orders:\n{A}, {B}"), exchange(post({"refund": A})), session=knows)
    knows.take(known.answer(get(), 1))
    asked = post({"refund": B})
    assert f'recorded "{A}", sent "{B}"' in explain(missed(known.answer(asked, 1, [NOW])), asked, 1)


def test_an_id_that_the_agent_told_later_was_made_up_all_the_same() -> None:
    knows = Session("go", said=f"filed as {A}")
    assert isinstance(pool(exchange(post({"id": A})), session=knows).answer(post({"id": B}), 1, [NOW]), Found)
    told_before = exchange(post({"id": A}), turn=2)
    knows = Session("go", "go on", said=f"filed as {A}")
    assert isinstance(pool(told_before, session=knows).answer(post({"id": C}), 2, [NOW]), Missed)


def test_two_ids_are_not_one() -> None:
    recorded = exchange(post({"a": A, "b": B}))
    assert isinstance(pool(recorded, session=Session("x")).answer(post({"a": C, "b": C}), 1, [NOW]), Missed)
    same = exchange(post({"a": A, "b": A}))
    assert isinstance(pool(same, session=Session("x")).answer(post({"a": B, "b": C}), 1, [NOW]), Missed)
    assert isinstance(pool(same, session=Session("x")).answer(post({"a": B, "b": B}), 1, [NOW]), Found)


def test_nothing_is_made_up_without_who_tells() -> None:
    assert missed(pool(exchange(post({"id": A}))).answer(post({"id": B}), 1, [NOW])).reason == "differs"


@pytest.mark.parametrize(
    "form", [datetime.isoformat, datetime.timestamp, lambda moment: int(moment.timestamp() * 1000)]
)
@pytest.mark.parametrize(("hours", "found"), [(0.1, True), (23, True), (25, False), (-25, False), (8760, False)])
def test_times_within_a_day(form: Callable[[datetime], Any], hours: float, found: bool) -> None:
    then = NOW - timedelta(days=300)
    recorded = exchange(post({"now": form(then), "text": f"It is {then.isoformat()}."}), at=then.isoformat())
    moment = NOW + timedelta(hours=hours)
    asked = post({"now": form(moment), "text": f"It is {moment.isoformat()}."})
    assert isinstance(pool(recorded, session=Session("x")).answer(asked, 1, [NOW]), Found) is found


def test_a_time_that_was_no_clocks_has_to_be_the_same() -> None:
    due = (NOW - timedelta(days=90)).isoformat()
    recorded = exchange(post({"due": due}), at=(NOW - timedelta(days=300)).isoformat())
    for body, kind in (({"due": due}, Found), ({"due": NOW.isoformat()}, Missed)):
        assert isinstance(pool(recorded, session=Session()).answer(post(body), 1, [NOW]), kind)


# --- In general

_BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
).filter(lambda body: redacted(post(body)) == post(body))
"""What holds nothing to redact: requests come redacted."""


@settings(max_examples=80, deadline=None)
@given(st.lists(_BODIES, min_size=1, max_size=8, unique_by=lambda body: json.dumps(body, sort_keys=True)), st.data())
def test_each_request_gets_its_own_answer(bodies: list[Any], data: st.DataObject) -> None:
    order = data.draw(st.permutations([*range(len(bodies))] * 2))
    known = pool(
        *(exchange(post(body), [at, copy]) for copy in (0, 1) for at, body in enumerate(bodies)), session=Session("x")
    )
    given_out: dict[int, int] = {}
    for at in order:
        assert body_of(known.answer(post(bodies[at]), 1, [NOW])) == [at, given_out.get(at, 0)]
        given_out[at] = given_out.get(at, 0) + 1
    assert known.unused([1]) == []


def test_the_work_grows_with_the_number_of_recordings(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    class Looked(module.Entry):
        def __getattribute__(self, name: str) -> Any:
            looked[-1] += name == "used"
            return super().__getattribute__(name)

    monkeypatch.setattr(module, "Entry", Looked)
    for recorded in (lambda at: post({"n": at}), lambda at: post({}), lambda at: post({"id": f"{at:08}-{A[9:]}"})):
        for count in (100, 400):
            looked.append(0)
            known = pool(*(exchange(recorded(at), at) for at in range(count)), session=Session("x"))
            asked = (lambda at: post({"id": f"{at:08}-{B[9:]}"})) if "id" in recorded(0).body.decode() else recorded
            assert all(isinstance(known.answer(asked(at), 1, [NOW]), Found) for at in range(count))
        assert looked[-1] <= 4.5 * looked[-2], looked


# --- Through a replay

AgentFunction = Callable[..., Any]
RECORDED = [
    exchange(get(f"{URL}/job"), "pending"),
    exchange(get(f"{URL}/job"), "done"),
    exchange(post({"order": "1047"}), turn=2),
]


def send(url: str, body: Any = None, **headers: str) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data, {"Content-Type": JSON, **{k.replace("_", "-"): v for k, v in headers.items()}}
    )
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


class Stored:
    """A session of two turns with what it sent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "pyproject.toml").touch()

    def replay(
        self,
        agent: AgentFunction,
        *exchanges: Exchange,
        plan: str = "",
        calls: Sequence[ToolCalled] = (),
        **options: Any,
    ) -> ReplayResult:
        events: list[Any] = [SessionCreated("sess_1")]
        for number in (1, 2):
            events.append(TurnStarted(number, {"type": "text", "content": f"turn {number}"}, NOW.isoformat()))
            events += calls if number == 1 else ()
            events.append(TurnAdded({"type": "text", "content": "done"}))
        write_record(self.path / "s.record.yaml", Ledger(events), overwrite=True)
        (self.path / "s.http.yaml").unlink(missing_ok=True)
        write_http(self.path / "s.http.yaml", exchanges or RECORDED)
        (self.path / "s.session.yaml").write_text(f"cassette: 1\n{plan}", encoding="utf-8")
        return replay(load_cassette(self.path / "s.session.yaml"), agent, **options)


@pytest.fixture
def session(tmp_path: Path) -> Stored:
    return Stored(tmp_path)


def told(result: ReplayResult, turn: int) -> list[Divergence]:
    return [one for one in result.turns[turn - 1].divergences if one.facet is Facet.HTTP]


def explanations(result: ReplayResult, turn: int) -> list[str | None]:
    seen = next(one for one in result.turns if one.turn == turn).replayed
    return [request.explanation for request in seen.requests] if seen else []


def agent_of(
    polls: int = 2, refunds: Sequence[Any] = ({"order": "1047"},), seen: list[Any] | None = None
) -> AgentFunction:
    def agent(user_input: str, turn: int) -> str:
        for _ in range(polls if turn == 1 else 0):
            (seen if seen is not None else []).append(send(f"{URL}/job"))
        for refund in refunds if turn == 2 else ():
            send(URL, refund)
        return "done"

    return agent


def test_a_replay_that_sends_the_same(session: Stored) -> None:
    seen: list[Any] = []
    result = session.replay(agent_of(seen=seen))
    assert [turn.verdict for turn in result.turns] == [Verdict.UNCHANGED, Verdict.UNCHANGED]
    assert seen == ["pending", "done"]


def test_a_replay_that_sends_once_more(session: Stored) -> None:
    result = session.replay(agent_of(polls=3))
    assert result.turns[0].verdict is Verdict.UNRECORDED
    (one,) = [one for one in told(result, 1) if one.kind is Kind.EXTRA]
    assert one.path == 'http."GET api.example.com/v1/refunds/job"'
    (explanation,) = filter(None, explanations(result, 1))
    assert "turn 1 sent GET http://api.example.com/v1/refunds/job" in explanation
    assert "extra call, 2 recorded, both used" in explanation


def test_a_replay_that_sends_less(session: Stored) -> None:
    result = session.replay(agent_of(polls=1, refunds=[]))
    assert [turn.verdict for turn in result.turns] == [Verdict.CHANGED, Verdict.OFF_SCRIPT]
    found = [(one.kind, one.path) for turn in (1, 2) for one in told(result, turn)]
    assert found == [
        (Kind.MISSING, 'http."GET api.example.com/v1/refunds/job"'),
        (Kind.MISSING, 'http."POST api.example.com/v1/refunds"'),
    ]
    allowed = session.replay(agent_of(polls=1), plan="ignore: ['http.\"GET api.example.com/v1/refunds/job\"']\n")
    assert allowed.passed
    assert not [warning for warning in allowed.warnings if "hid nothing" in warning]


def test_a_replay_that_sends_it_in_another_turn(session: Stored) -> None:
    def agent(user_input: str, turn: int) -> str:
        if turn == 1:
            send(f"{URL}/job"), send(f"{URL}/job"), send(URL, {"order": "1047"})
        return "done"

    result = session.replay(agent)
    assert [(one.kind, one.path) for one in told(result, 1)] == [(Kind.MOVED, 'http."POST api.example.com/v1/refunds"')]
    assert told(result, 2) == []


def test_a_replay_that_sends_something_else(session: Stored) -> None:
    result = session.replay(agent_of(refunds=[{"order": "2093"}]))
    assert result.turns[1].verdict is Verdict.UNRECORDED
    (explanation,) = explanations(result, 2)
    assert explanation is not None
    assert 'body.order: recorded "1047", sent "2093"' in explanation


@pytest.mark.parametrize("rule", ["http.body.note", "**.note", "note"])
def test_rules_of_a_plan_count_as_used(session: Stored, rule: str) -> None:
    plan = f'ignore: ["{rule}", "http.body.never"]\n'
    result = session.replay(agent_of(refunds=[{"order": "1047", "note": "x"}]), plan=plan)
    assert result.passed
    assert [warning for warning in result.warnings if "hid nothing" in warning or rule in warning] == [
        "the ignore rule `http.body.never` hid nothing"
    ]


@pytest.mark.parametrize(("plan", "passed"), [("", True), ("http: {headers: [X-Tenant]}\n", False)])
def test_headers_of_a_plan(session: Stored, plan: str, passed: bool) -> None:
    def agent(user_input: str, turn: int) -> str:
        if turn == 1:
            send(URL, {}, X_Tenant="b")
        return "done"

    assert session.replay(agent, exchange(post({}, x_tenant="a")), plan=plan).passed is passed
    assert session.replay(agent, exchange(post({}, x_tenant="b")), plan=plan).passed


def lookup(order: str) -> Any:
    """A tool that asks a service."""
    return send(f"{URL}/{order}")


def test_a_stubbed_tool_sends_nothing_and_nothing_is_missed(session: Stored) -> None:
    def agent(user_input: str, turn: int) -> str:
        if turn == 1:
            lookup("1047")
            assert send(f"{URL}/1047") == "the agent's own"
        return "done"

    inside = exchange(get(f"{URL}/1047"), "the tool's", during=0)
    own = exchange(get(f"{URL}/1047"), "the agent's own")
    calls = [ToolCalled("lookup", {"order": "1047"}, result="the tool's")]
    result = session.replay(agent, inside, own, calls=calls, tools=[f"{__name__}:lookup"])
    assert result.passed, result


def test_before_the_fork(session: Stored) -> None:
    def agent(user_input: str, turn: int) -> str:
        send(f"{URL}/job")
        send(URL, {"order": "1047"})
        return "done"

    recorded = [exchange(get(f"{URL}/job")), exchange(post({"order": "1047"}))]
    result = session.replay(agent, *recorded, fork="turn 2")
    assert [told is None for told in explanations(result, 2)] == [True, False]
