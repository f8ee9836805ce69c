"""Redaction of files that are there: no value is left, equal values stay equal, and replays still match."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from audit_sessions import call, said, session, turn, update
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_statebase import load_cassette, replay
from pytest_statebase.audit.redact import Outcome, grouped, redact
from pytest_statebase.audit.subject import Subject
from pytest_statebase.cassette import read_record, seal, verify, write_http, write_record
from pytest_statebase.cassette.accepted import Accepted, AcceptedCall, AcceptedTurn, accepted_bytes
from pytest_statebase.cassette.personal import Kind
from pytest_statebase.cassette.record import seal_of
from pytest_statebase.errors import HttpError, PlanError, SealError
from pytest_statebase.ledger import Ledger, MemoryAdded, ToolCalled
from pytest_statebase.testing import Reenact
from pytest_statebase.wire.exchange import Exchange, Request, Response

AT = "2026-12-10T12:00:00+00:00"
MAIL, PHONE, CARD, IBAN = "jane.doe@corp.com", "+49 30 901820", "4539 1488 0343 6467", "DE44500105175407324931"
TOKEN = "hunter2hunter2"


def cassette_of(path: Path, ledger: Ledger, plan: str = "") -> Path:
    write_record(path / "case.record.yaml", ledger)
    (path / "case.session.yaml").write_text(f"# by hand\ncassette: 1\n{plan}\n", encoding="utf-8")
    return path / "case.session.yaml"


def redacted(path: Path, *subjects: str) -> Outcome:
    """Redact in place."""
    (group,) = grouped([load_cassette(path)])
    outcome = redact(group, subjects=subjects, target=lambda file: file, at=AT)
    outcome.write()
    return outcome


def everything() -> Ledger:
    user = {"email": MAIL.upper(), "phone": PHONE, "session_token": TOKEN, "n": 1047, MAIL: True}
    return session(
        turn(1, f"I am Jane Doe, {MAIL}", call("find_user", user, email=MAIL), answer=f"Hello {MAIL}"),
        turn(2, f"Card {CARD}, IBAN {IBAN}", update(1, {"step": PHONE, "card": CARD}, f"{MAIL} said so"), answer=IBAN),
        turn(3, "And?", MemoryAdded(f"Call {PHONE}"), call("log", json.dumps({"to": MAIL, "key": TOKEN}), text=TOKEN)),
    )


def test_a_quoted_address_is_the_same_address_and_keeps_its_quotes(tmp_path: Path) -> None:
    sent = call("send", "sent", text=f"update users where mail = '{MAIL}'")
    path = cassette_of(tmp_path, session(turn(1, f"I am {MAIL}", sent, answer=f"Wrote to '{MAIL}'")))
    redacted(path)
    (only,) = load_cassette(path).ledger.turns
    address = only.text.removeprefix("I am ")
    assert address.startswith("email-1@")
    assert only.calls[0].arguments == {"text": f"update users where mail = '{address}'"}
    assert only.output["content"] == f"Wrote to '{address}'"


def test_no_value_is_left_and_equal_ones_stay_equal(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything())
    outcome = redacted(path)
    text = (tmp_path / "case.record.yaml").read_text(encoding="utf-8")
    assert not any(value.casefold() in text.casefold() for value in (MAIL, PHONE, CARD, IBAN, TOKEN))
    ledger = read_record(tmp_path / "case.record.yaml")
    one, two, three = ledger.turns
    mail = one.calls[0].arguments["email"]
    assert mail.endswith(".example.com")
    assert one.text == f"I am Jane Doe, {mail}"
    assert one.calls[0].result["email"] == mail
    assert mail in one.calls[0].result
    assert one.calls[0].result["n"] == 1047
    assert two.events[0].reasoning == f"{mail} said so"  # type: ignore[union-attr]
    assert json.loads(three.calls[0].result) == {"to": mail, "key": "REDACTED-1"}
    assert three.calls[0].arguments == {"text": "REDACTED-1"}
    assert one.calls[0].result["session_token"] == "REDACTED-1"
    assert outcome.values == {Kind.EMAIL: 1, Kind.PHONE: 1, Kind.SECRET: 1, Kind.CARD: 1, Kind.IBAN: 1}


def test_the_record_is_sealed_anew_and_says_what_was_done(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything())
    before = seal_of(tmp_path / "case.record.yaml")
    redacted(path)
    assert verify(tmp_path / "case.record.yaml").ok
    assert before not in (tmp_path / "case.record.yaml").read_text(encoding="utf-8")
    (note,) = read_record(tmp_path / "case.record.yaml").created.extra["redacted"]
    assert note["at"] == AT
    assert note["by"].startswith("pytest-statebase ")
    assert note["card"] == {"values": 1, "places": 2}


def test_a_second_time_changes_nothing_and_a_further_one_adds_a_note(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything())
    redacted(path)
    data = (tmp_path / "case.record.yaml").read_bytes()
    assert redacted(path).places.total() == 0
    assert (tmp_path / "case.record.yaml").read_bytes() == data
    redacted(path, "Jane Doe")
    ledger = read_record(tmp_path / "case.record.yaml")
    assert [set(note) & {"name", "email"} for note in ledger.created.extra["redacted"]] == [{"email"}, {"name"}]
    assert ledger.turns[0].text.startswith("I am Person 1, email-1@")


def test_replays_still_match(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything())
    before = load_cassette(path)
    verdicts = replay(before, Reenact(before)).verdicts
    redacted(path)
    cassette = load_cassette(path)
    # What was remembered is no act of the agent that re-enacts.
    assert replay(cassette, Reenact(cassette)).verdicts == verdicts == {"unchanged": 2, "changed": 1}


def test_plan_and_baseline_are_redacted_alike(tmp_path: Path) -> None:
    plan = f'title: Ask {MAIL}\nexpect: {{1: {{output: {{contains: "{MAIL}"}}}}}}   # a comment\nfailing: [1]'
    path = cassette_of(tmp_path, everything(), plan)
    accepted = AcceptedTurn(
        1, (AcceptedCall("find_user", {"email": MAIL}),), said(f"Dear {MAIL}"), fingerprints=("0" * 12,)
    )
    old = seal_of(tmp_path / "case.record.yaml")
    (tmp_path / "case.accepted.yaml").write_bytes(accepted_bytes(Accepted("sess_1", old, AT, {1: accepted})))
    redacted(path)
    cassette = load_cassette(path)
    mail = cassette.ledger.turns[0].calls[0].arguments["email"]
    assert cassette.plan.title == f"Ask {mail}"
    assert cassette.plan.expect[1].output is not None
    assert cassette.plan.expect[1].output.contains == (mail,)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# by hand\n")
    assert "# a comment" in text
    assert cassette.accepted is not None
    assert cassette.accepted.of == seal_of(tmp_path / "case.record.yaml") != old
    assert cassette.accepted.turns[1].calls[0].arguments == {"email": mail}
    assert cassette.accepted.turns[1].output == said(f"Dear {mail}")


def test_a_plan_whose_text_cannot_be_changed_is_refused(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything(), f'title: "{MAIL[:4]}\\x2e{MAIL[5:]}"')
    (group,) = grouped([load_cassette(path)])
    with pytest.raises(PlanError, match="cannot be replaced in its text"):
        redact(group, target=lambda file: file, at=AT)


def asks(mail: str) -> str:
    url = f"http://api.shop.example/users/{quote(mail, safe='')}?mail={quote_plus(mail)}"
    body = json.dumps({"to": mail, "name": "Jürgen Groß"}).encode()
    request = urllib.request.Request(url, data=body, headers={"content-type": "application/json"}, method="POST")
    with urllib.request.urlopen(request) as answer:
        return str(json.loads(answer.read())["found"])


def agent(user_input: str) -> str:
    return f"Found {asks(user_input)}"


def test_http_recordings_answer_redacted_replays(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, MAIL, answer=f"Found {MAIL}")))
    url = f"http://api.shop.example/users/{quote(MAIL, safe='')}?mail={quote_plus(MAIL)}"
    body = json.dumps({"to": MAIL, "name": "Jürgen Groß"}).encode()
    request = Request("POST", url, (("content-type", "application/json"), ("content-length", str(len(body)))), body)
    found = json.dumps({"found": MAIL, "password": "hunter2"}).encode()
    answer = Response(200, "OK", (("content-type", "application/json"),), found)
    write_http(tmp_path / "case.http.yaml", [Exchange(request, answer, 1)])
    assert replay(load_cassette(path), agent).verdicts == {"unchanged": 1}
    outcome = redacted(path)
    text = (tmp_path / "case.http.yaml").read_text(encoding="utf-8")
    assert "jane" not in text
    assert "hunter2" not in text
    cassette = load_cassette(path)
    assert cassette.http is not None
    kept = cassette.http.exchanges[0].request
    assert kept.header("content-length") == str(len(kept.body))
    assert replay(cassette, agent).verdicts == {"unchanged": 1}
    assert outcome.values[Kind.EMAIL] == 1


def test_a_name_is_found_in_the_escapes_of_json_and_of_addresses(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, "I am Jürgen Groß")))
    body = json.dumps({"name": "Jürgen Groß"}).encode()
    request = Request("POST", f"http://x.example/?n={quote_plus('Jürgen Groß')}", (), body)
    write_http(tmp_path / "case.http.yaml", [Exchange(request, Response(200), 1)])
    redacted(path, "Jürgen Groß")
    cassette = load_cassette(path)
    assert cassette.http is not None
    kept = cassette.http.exchanges[0].request
    assert kept.url == "http://x.example/?n=Person+1"
    assert json.loads(kept.body) == {"name": "Person 1"}


def test_values_that_a_stream_tells_in_pieces_go_too(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, f"Mail {MAIL} and {PHONE}", answer=f"Mail {MAIL}")))
    told = ["Mail ", "ja", "ne.d", "oe@", "corp.com, call +49 3", "0 901820. ", f"And {MAIL}.", ""]
    events = [{"id": "c1", "choices": [{"delta": {"content": piece}}]} for piece in told]
    body = "".join([f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"])
    answer = Response(200, "OK", (("content-type", "text/event-stream"),), body.encode())
    write_http(tmp_path / "case.http.yaml", [Exchange(Request("GET", "http://x.example/"), answer, 1)])
    redacted(path)
    cassette = load_cassette(path)
    assert cassette.http is not None
    kept = cassette.http.exchanges[0].answer
    assert isinstance(kept, Response)
    lines = [line.removeprefix("data: ") for line in kept.body.decode().split("\n\n") if line]
    pieces = [json.loads(line)["choices"][0]["delta"]["content"] for line in lines[:-1]]
    mail = cassette.ledger.turns[0].text.split()[1]
    phone = cassette.ledger.turns[0].text.partition(" and ")[2]
    assert mail.startswith("email-1@")
    assert pieces == ["Mail ", mail, "", "", f", call {phone}", ". ", f"And {mail}.", ""]


def test_what_would_be_lost_is_refused(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything())
    (tmp_path / "case.http.yaml").write_text(
        "interactions:\n- request: {method: GET, uri: 'http://x/', headers: {}, body: null}\n"
        "  response: {status: {code: 200, message: OK}, headers: {}, body: {string: ''}}\n"
        "- direction: sent\n  message: x\nversion: 1\n",
        encoding="utf-8",
    )
    (group,) = grouped([load_cassette(path)])
    with pytest.raises(HttpError, match="would be lost"):
        redact(group, target=lambda file: file, at=AT)


def test_a_broken_seal_is_refused(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything())
    record = tmp_path / "case.record.yaml"
    record.write_text(record.read_text(encoding="utf-8").replace("And?", "Or?"), encoding="utf-8")
    (group,) = grouped([load_cassette(path)])
    with pytest.raises(SealError):
        redact(group, target=lambda file: file, at=AT)
    seal(record, force=True)
    assert redacted(path).places


def test_two_plans_of_one_record_have_their_placeholders_in_common(tmp_path: Path) -> None:
    cassette_of(tmp_path, everything())
    other = tmp_path / "other.session.yaml"
    other.write_text(f"cassette: 1\nrecord: case.record.yaml\ntitle: For {MAIL}\n", encoding="utf-8")
    paths = [tmp_path / "case.session.yaml", other]
    (group,) = grouped([load_cassette(path) for path in paths])
    redact(group, target=lambda file: file.with_name(f"new-{file.name}"), at=AT).write()
    cassette = load_cassette(tmp_path / "new-other.session.yaml")
    assert cassette.record_path == tmp_path / "new-case.record.yaml"
    mail = cassette.ledger.turns[0].calls[0].arguments["email"]
    assert cassette.plan.title == f"For {mail}"


def test_what_was_pulled_is_redacted_alike_and_keeps_its_layout(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, everything())
    pulled = tmp_path / "case.pulled.json"
    lines = [
        "{",
        '"pulled": 1,',
        f'"session": {{"id": "sess_1", "e": "{MAIL}", "n": [1.50, true, null, 4155552671]}},',
        '"turns": [',
        f'{{"phone": 4155552671, "tok\\u0065n": "{TOKEN}", "é": "say \\"{MAIL.upper()}\\" é", "{MAIL}": {{}}}}',
        "]}",
    ]
    text = "\n".join(lines)
    pulled.write_text(text, encoding="utf-8")
    redacted(path)
    mail = read_record(tmp_path / "case.record.yaml").turns[0].calls[0].arguments["email"]
    after = pulled.read_text(encoding="utf-8")
    phone = str(json.loads(after)["turns"][0]["phone"])
    wanted = text.replace(MAIL, mail).replace(MAIL.upper(), mail).replace(TOKEN, "REDACTED-1")
    assert after == wanted.replace("4155552671", phone)
    assert phone != "4155552671"
    assert redacted(path).places.total() == 0


def test_binary_values_are_counted(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, MAIL, call("scan", b"jane.doe@corp.com"), call("scan", b"x"))))
    answer = Response(200, "OK", (("content-type", "image/png"),), b"\xff\xfe")
    write_http(tmp_path / "case.http.yaml", [Exchange(Request("GET", "http://x.example/"), answer, 1)])
    assert redacted(path).unread == 3


# --- One person


def test_only_the_subjects_values_go(tmp_path: Path) -> None:
    ledger = session(turn(1, f"Jane  Doe, {MAIL}, and bob@corp.com", call("x", {"token": TOKEN})))
    path = cassette_of(tmp_path, ledger)
    outcome = redacted(path, "jane doe", MAIL)
    (one,) = read_record(tmp_path / "case.record.yaml").turns
    assert one.text.startswith("Person 1, email-1@")
    assert one.text.endswith("and bob@corp.com")
    assert one.calls[0].result == {"token": TOKEN}
    assert outcome.values == {Kind.NAME: 1, Kind.EMAIL: 1}


def test_by_user_id_all_personal_data_of_their_sessions_goes(tmp_path: Path) -> None:
    result = {"first_name": "Jane", "phone": "030 901820", "token": TOKEN, "user": "user_1"}
    path = cassette_of(tmp_path, session(turn(1, f"I am Jane, {MAIL}", call("find", result))))
    redacted(path, "user_1")
    ledger = read_record(tmp_path / "case.record.yaml")
    assert ledger.created.user_id == "user_redacted_1"
    assert ledger.turns[0].text.startswith("I am Person 1, email-1@")
    found = ledger.turns[0].calls[0].result
    assert (found["first_name"], found["user"], found["token"]) == ("Person 1", "user_redacted_1", TOKEN)
    assert "901820" not in found["phone"]


def test_single_words_of_a_name_are_counted(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, "Jane Doe here. Yes, Jane."), turn(2, "Mrs. Doe", answer="Hello.")))
    assert redacted(path, "Jane Doe").names_left == 2


@pytest.mark.parametrize(
    ("value", "kind", "spellings"),
    [
        ("jane@corp.com", Kind.EMAIL, ["Jane@Corp.COM", "<jane@corp.com>"]),
        ("Jane van Doe", Kind.NAME, ["JANE VAN DOE", "jane van\n doe's"]),
        ("+49 30 901820", Kind.PHONE, ["004930901820", "+49-30-901820", "+49 30/901820"]),
        ("(415) 555-2671", Kind.PHONE, ["4155552671", "+1 415.555.2671", "1-415-555-2671"]),
        ("4539148803436467", Kind.CARD, ["4539 1488 0343 6467", "4539-1488-0343-6467"]),
        ("DE44500105175407324931", Kind.IBAN, ["DE44 5001 0517 5407 3249 31", "de44500105175407324931"]),
        ("customer_1", Kind.USER, ["customer_1", "user:customer_1"]),
    ],
)
def test_a_subject_in_other_spellings(value: str, kind: Kind, spellings: Iterable[str]) -> None:
    subject = Subject.of(value)
    assert subject.kind is kind
    for text in spellings:
        assert [spot.identity for spot in subject.spots(f"x {text} y")] == [subject.identity], text
    assert list(subject.spots(f"a{value}b 9{value}9")) == []


def test_a_subject_that_is_nobody() -> None:
    with pytest.raises(ValueError, match="too short"):
        Subject.of(" x ")


# --- Wherever a value stands

values = st.sampled_from([MAIL, "bob@corp.com", PHONE, "415-555-2671", CARD, IBAN, "sk-proj-abcdEFGH1234567890abcd"])
words = st.text('abc {}[]":,é\n', max_size=12)
texts = st.builds(lambda before, value, after: f"{before} {value} {after}", words, values, words)
trees: Any = st.recursive(
    texts | st.integers(0, 9) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "email", "note"]) | values, inner, max_size=3)
        | inner.map(lambda tree: json.dumps(tree))
    ),
    max_leaves=8,
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(texts, trees, trees), min_size=1, max_size=3))
def test_no_value_survives_and_the_replay_is_the_same(told: list[tuple[str, Any, Any]]) -> None:
    turns = [
        turn(number, text, ToolCalled("t", {"x": tree}, result), update(number, {"s": result}), answer=text)
        for number, (text, tree, result) in enumerate(told, 1)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = cassette_of(Path(folder), session(*turns))
        redacted(path)
        data = repr(read_record(Path(folder) / "case.record.yaml").events)
        for value in (MAIL, "bob@corp.com", "901820", "2671", CARD, IBAN, "abcdEFGH"):
            assert value not in data
        cassette = load_cassette(path)
        assert replay(cassette, Reenact(cassette)).verdicts == {"unchanged": len(told)}
        for number, (text, _, _) in enumerate(told, 1):
            same = [other for other, (said, _, _) in enumerate(told, 1) if said == text]
            assert all(cassette.ledger.turn(other).text == cassette.ledger.turn(number).text for other in same)
