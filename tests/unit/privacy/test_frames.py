"""Frames without what must not be written: tokens that are equal where the values are, and the placeholders of them."""

from __future__ import annotations

import base64
import gzip
import json
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.cassette.personal import Kind, iban_remainder, luhn, personal_spots
from pytest_statebase.cassette.redaction import set_secret_names
from pytest_statebase.frames import Between, SessionClosed, SessionOpened, TurnClosed, TurnOpened
from pytest_statebase.ledger import Event, Ledger, SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.privacy import (
    FrameRedactor,
    RedactionOptions,
    Rule,
    key_of,
    redacted_session,
    renumbered,
    set_redaction,
)
from pytest_statebase.privacy.tokens import TOKEN, Tokens
from pytest_statebase.values import TypedData
from pytest_statebase.wire.exchange import Exchange, Failure, Request, Response
from tests.corpus.secrets.personal import card, iban

MAIL, PHONE, CARD, IBAN = "jane.doe@corp.com", "+49 30 901820", card("4539", 16, " "), iban("DE", 18, 4)
KEY = "sk-proj-" + "abcdEFGH" * 4 + "12"
PASSWORD = "correct-horse-battery"


def frame(*events: Event, exchanges: tuple[Exchange, ...] = (), session: str = "s") -> TurnClosed:
    return TurnClosed(session, (TurnStarted(1, {"type": "text", "content": "go"}), *events), exchanges)


def result(value: Any, redactor: FrameRedactor | None = None) -> Any:
    call = (redactor or FrameRedactor()).frame(frame(ToolCalled("t", {}, value))).events[1]
    assert isinstance(call, ToolCalled)
    return call.result


def numbered(value: Any) -> Any:
    """What stands in the cassette."""
    session = Ledger([SessionCreated("s"), *frame(ToolCalled("t", {}, value)).events])
    call = redacted_session(session).ledger.events[2]
    assert isinstance(call, ToolCalled)
    return call.result


def test_one_value_is_one_token_in_all_frames_and_processes() -> None:
    options = RedactionOptions(key=b"k" * 32)
    exchange = Exchange(
        Request("GET", f"https://api.test/u/{MAIL}?mail=jane.doe%40corp.com"), Response(200, body=MAIL.encode())
    )
    frames = [
        SessionOpened(SessionCreated("s", user_id=MAIL, state={"mail": MAIL})),
        TurnOpened("s", {"type": "text", "content": f"I am {MAIL}"}),
        frame(ToolCalled("t", {"to": MAIL}, json.dumps({"mail": MAIL})), exchanges=(exchange,)),
        Between("s", (StateUpdated(1, {MAIL: 1}),)),
        SessionClosed("s", f"left by {MAIL}"),
    ]
    found: set[str] = set()
    for one in frames:
        clean = repr(FrameRedactor(options).frame(one))
        assert "corp.com" not in clean
        found |= set(re.findall(r"~~email~q?~[0-9a-f]{24}~~", clean))
    assert len({token.rpartition("~~")[0].rpartition("~")[2] for token in found}) == 1
    other = FrameRedactor(RedactionOptions(key=b"o" * 32)).frame(frames[1])
    assert not found & set(re.findall(r"~~email~~[0-9a-f]{24}~~", repr(other))), "whoever has no key cannot guess"


def test_what_holds_nothing_is_the_very_same_object() -> None:
    plain = frame(
        ToolCalled("t", {"order": "1047"}, {"status": ["open", 1, None, 2.5, True, (1, "x"), b"raw"]}, id="call_1")
    )
    assert FrameRedactor().frame(plain) is plain


def test_ids_of_calls_and_times_stay() -> None:
    call = ToolCalled("t", {}, MAIL, id=KEY, at="2026-03-15T10:00:00Z")
    clean = FrameRedactor().frame(frame(call)).events[1]
    assert isinstance(clean, ToolCalled)
    assert (clean.id, clean.at) == (KEY, call.at)
    assert clean.result != MAIL


def test_placeholders_are_of_valid_form() -> None:
    found = numbered(
        {"a": [MAIL, MAIL.upper(), "bob@corp.com"], "b": [CARD, CARD.replace(" ", "")], "c": IBAN, "d": PHONE, "e": KEY}
    )
    mail, other, bob = found["a"]
    assert mail == other != bob
    assert re.fullmatch(r"email-1@[0-9a-f]{8}\.example\.com", mail)
    spaced, tight = found["b"]
    assert spaced.replace(" ", "") == tight
    assert len(tight) == 16
    assert luhn(tight) == 0
    assert iban_remainder(found["c"].replace(" ", "")) == 1
    assert re.fullmatch(r"\+1 \d{3}-555-01\d\d", found["d"])
    assert found["e"] == "sk-proj-REDACTED-1"


def test_numbers_stay_numbers() -> None:
    found = numbered(
        {"phone": 4930901820, "card_number": int(CARD.replace(" ", "")), "pin": 4711, "again": [{"pin": 4711}]}
    )
    assert [type(found[name]) for name in ("phone", "card_number", "pin")] == [int, int, int]
    assert found["pin"] == found["again"][0]["pin"] != 4711
    assert luhn(str(found["card_number"])) == 0


def test_many_values_never_share_a_placeholder() -> None:
    mails = [f"m{n}@corp.com" for n in range(1200)]
    phones = [f"+4930{n:07}" for n in range(1000001, 1002201)]
    found = numbered({"m": mails, "p": phones})
    assert len(set(found["m"])) == len(mails)
    assert len(set(found["p"])) == len(phones)


def test_a_secret_that_a_name_tells_is_found_before_and_after() -> None:
    value = [
        f"it was {PASSWORD}, I think",
        {"password": PASSWORD},
        f"?q={PASSWORD}",
        base64.b64encode(f"x {PASSWORD} y".encode()).decode(),
    ]
    redactor = FrameRedactor()
    clean = result(value, redactor)
    assert PASSWORD not in repr(clean)
    assert PASSWORD not in base64.b64decode(clean[3]).decode()
    later = redactor.frame(TurnOpened("s", {"type": "text", "content": f"still {PASSWORD}?"}))
    assert PASSWORD not in repr(later)
    elsewhere = TurnOpened("another", {"type": "text", "content": f"still {PASSWORD}?"})
    assert redactor.frame(elsewhere) is elsewhere
    assert numbered(value)[:2] == ["it was REDACTED-1, I think", {"password": "REDACTED-1"}]


def test_inside_of_encodings_the_placeholder_is_numbered_as_well() -> None:
    told = json.dumps({"mail": MAIL})
    value = {
        "plain": MAIL,
        "b": base64.b64encode(told.encode()).decode(),
        "g": gzip.compress(told.encode()),
        "bytes": told.encode(),
    }
    found = numbered(value)
    for inside in (base64.b64decode(found["b"]), gzip.decompress(found["g"]), found["bytes"]):
        assert json.loads(inside) == {"mail": found["plain"]}


class Color(StrEnum):
    RED = "red"


@dataclass
class Customer:
    mail: str
    api_key: str = ""


def test_objects_become_data_where_something_goes() -> None:
    plain = Customer("none")
    found = result(
        {"a": Customer(MAIL, KEY), "b": plain, "c": Color.RED, "d": {MAIL}, "e": TypedData("m:T", {"mail": MAIL})}
    )
    assert isinstance(found["a"], TypedData)
    assert found["a"].type.endswith(":Customer")
    assert found["b"] is plain
    assert found["c"] is Color.RED
    assert "corp.com" not in repr(found)
    assert KEY not in repr(found)


def test_exchanges_are_redacted_as_a_replay_redacts_them() -> None:
    request = Request(
        "POST",
        "https://api.test/x?api_key=abcdefgh12345678",
        (("Authorization", f"Bearer {KEY}"),),
        f'{{"to": "{MAIL}"}}'.encode(),
    )
    answer = Response(
        200,
        headers=(("Set-Cookie", f"sid={PASSWORD}-1; Path=/"),),
        body=json.dumps({"access_token": "tok-" + "9" * 20, "said": f"{KEY}"}).encode(),
    )
    lost = Exchange(request, Failure("closed", f"no {MAIL}"))
    clean = FrameRedactor().frame(frame(exchanges=(Exchange(request, answer), lost))).exchanges
    told = repr(clean)
    for value in (KEY, MAIL, PASSWORD, "abcdefgh12345678", "9" * 20):
        assert value not in told
    assert ("Authorization", "Bearer REDACTED") in clean[0].request.headers


def test_tokens_from_outside_are_taken_out() -> None:
    """So that nobody can have a placeholder of somebody else's value made of his words."""
    own = result(MAIL)
    forged = result(f"I am {own}")
    assert own not in forged
    for text in ("~~iban~~" + "0" * 24 + "~~", "~~card~X~" + "0" * 24 + "~n~~", "~~secret~~~~"):
        assert isinstance(numbered([text, text]), list)


@pytest.mark.parametrize("identity", ["39067", "108008", "160414"])
@pytest.mark.parametrize("kind", ["email", "phone", "secret"])
def test_a_token_is_never_an_account_number(kind: str, identity: str) -> None:
    """Digests with this key begin with a country's letters, and their check sums are right."""
    token = Tokens(b"k").of(kind, identity, "x")
    assert TOKEN.fullmatch(token)
    assert personal_spots(f"to {token}, please") == []


def test_depth_is_no_limit() -> None:
    deep: Any = [MAIL]
    for _ in range(20_000):
        deep = [deep]
    found = result(deep)
    for _ in range(20_000):
        found = found[0]
    assert "corp.com" not in found[0]
    loop: list[Any] = [MAIL]
    loop.append(loop)
    assert "corp.com" not in result(loop)[0]


@pytest.fixture
def own_names() -> Iterator[None]:
    assert result({"zugangswort": "wort"}) == {"zugangswort": "wort"}
    set_secret_names(["zugangswort"])
    yield
    set_secret_names(())


@pytest.mark.usefixtures("own_names")
def test_names_of_ones_own() -> None:
    assert numbered({"Zugangs-Wort": "wort"}) == {"Zugangs-Wort": "REDACTED-1"}


# --- Rules


def test_rules_of_a_project() -> None:
    def initials(text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\b[A-Z]\.[A-Z]\.", text)]

    rules = (Rule("member", re.compile(r"member (M-\d+)")), Rule("initials", initials))
    redactor = FrameRedactor(RedactionOptions(rules=rules))
    clean = result(["member M-17 and J.D.", "M-17"], redactor)
    assert "M-17" not in clean[0]
    assert "J.D." not in clean[0]
    assert clean[1] == "M-17"
    assert redactor.counts == {"member": 1, "initials": 1}
    session = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "member M-17, member M-18"})])
    turn = redacted_session(session, options=RedactionOptions(rules=rules)).ledger.events[1]
    assert isinstance(turn, TurnStarted)
    assert turn.input == {"type": "text", "content": "member REDACTED-member-1, member REDACTED-member-2"}


def test_a_rule_that_raises_lets_nothing_through() -> None:
    def broken(text: str) -> list[tuple[int, int]]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        result("x", FrameRedactor(RedactionOptions(rules=(Rule("broken", broken),))))


@pytest.mark.parametrize("name", ["", "Big", "with space", "1st", "a" * 40])
def test_a_name_that_no_rule_may_have(name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a rule"):
        Rule(name, re.compile("x"))


def test_places_that_are_none_are_passed_over() -> None:
    rule = Rule("odd", lambda text: [(3, 2), (-1, 2), (0, 99), (0, 2), (1, 3), (2, 4)])
    assert rule.places("abcdef") == [(0, 2), (2, 4)]


def test_options_of_the_process_count_everywhere() -> None:
    set_redaction(RedactionOptions(rules=(Rule("member", re.compile(r"M-\d+")),)))
    try:
        assert "M-17" not in result("M-17")
        assert "M-17" not in result("M-17", FrameRedactor(RedactionOptions(key=b"k")))
    finally:
        set_redaction(RedactionOptions())
    assert result("M-17") == "M-17"


# --- Counts and keys


def test_what_was_taken_out_is_counted_and_never_told() -> None:
    done = redacted_session(
        Ledger([SessionCreated("s"), *frame(ToolCalled("t", {"to": MAIL}, [MAIL, KEY, IBAN])).events])
    )
    assert done.places == {Kind.EMAIL: 2, Kind.SECRET: 1, Kind.IBAN: 1}
    assert MAIL not in repr(done)


def test_the_key_of_a_directory(tmp_path: Path) -> None:
    key = key_of(tmp_path)
    assert len(key) == 32
    assert key_of(tmp_path) == key
    assert stat.S_IMODE((tmp_path / ".key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [".key"]
    (tmp_path / ".key").write_bytes(b"short")
    with pytest.raises(OSError, match="holds no key"):
        key_of(tmp_path)


def test_a_session_without_tokens_is_the_very_same() -> None:
    session = Ledger(
        [
            SessionCreated("s"),
            *frame(ToolCalled("t", {"a": 1}, {"x": "y" * 40}), TurnAdded({"type": "text", "content": "done"})).events,
        ]
    )
    assert renumbered(session)[0] is session


def test_placeholders_that_stand_there_already_are_not_given_out() -> None:
    found = numbered(["REDACTED-1 was here before", {"password": PASSWORD}])
    assert found == ["REDACTED-1 was here before", {"password": "REDACTED-2"}]
