"""What `lint` finds, and that it tells no value."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from audit_sessions import call, session, turn, update

from pytest_statebase.audit.lint import Finding, lint
from pytest_statebase.cassette import Plan, load_cassette, write_http, write_plan, write_record
from pytest_statebase.errors import FileError
from pytest_statebase.ledger import Ledger, StateRolledBack, StateUpdated, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Exchange, Request, Response

TODAY = date(2026, 12, 10)
REASON = "The user gave an order number"


def cassette_of(path: Path, ledger: Ledger, plan: str = "", http: list[Exchange] | None = None) -> Path:
    write_record(path / "case.record.yaml", ledger)
    (path / "case.session.yaml").write_text(f"cassette: 1\n{plan}\n", encoding="utf-8")
    if http is not None:
        write_http(path / "case.http.yaml", http)
    return path / "case.session.yaml"


def found(path: Path, recorded: date | None = None) -> list[tuple[str, str, int | None, str]]:
    findings = lint(load_cassette(path), TODAY, recorded)
    return [(one.rule.value, one.path.name, one.line, one.text) for one in findings]


def test_nothing_is_found_in_a_good_session(tmp_path: Path) -> None:
    ledger = session(
        turn(1, "Where is order 1047? sara@example.com", update(1, {"step": "found"}, REASON), reasoning=REASON)
    )
    assert found(cassette_of(tmp_path, ledger)) == []


def test_missing_and_vague_reasoning(tmp_path: Path) -> None:
    ledger = session(
        [StateUpdated(1, {"step": "a"}), StateRolledBack(2, 0, {"step": "new"})],
        turn(1, "x", update(3, {"step": "b"}, "Updated state"), reasoning=REASON),
        turn(2, "y", StateUpdated(4, {"step": "c"}, during=0)),
        [TurnStarted(3), TurnAdded(error={"type": "E", "message": ""})],
    )
    assert found(cassette_of(tmp_path, ledger)) == [
        (
            "reasoning",
            "case.record.yaml",
            None,
            "no reasoning: state 1 between turns; rollback to 0 between turns; turn 2",
        ),
        ("vague", "case.record.yaml", None, "reasoning that says nothing: state 3 in turn 1"),
    ]


def test_a_session_without_any_reasoning_is_one_finding(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, "x"), turn(2, "y")))
    (one,) = lint(load_cassette(path), TODAY)
    assert one.bare
    assert one.text == "the session records no reasoning at all"


def test_values_are_told_by_place_and_not_by_value(tmp_path: Path) -> None:
    result = {"email": "jane@corp.com", "phone": "030 901820", "token": "hunter2hunter2", "jane@corp.com": 1}
    ledger = session(
        turn(1, "I am jane@corp.com", call("find_user", result, email="JANE@corp.com"), reasoning=REASON),
        turn(2, "Card 4539 1488 0343 6467", answer="bob@corp.com", reasoning="IBAN DE44500105175407324931 was given"),
    )
    path = cassette_of(tmp_path, ledger, "title: Ask jane@corp.com\nexpect: {1: {output: {contains: jane@corp.com}}}")
    lines = {(rule, name): (line, text) for rule, name, line, text in found(path)}
    assert lines["email", "case.record.yaml"] == (
        11,
        "2 e-mail addresses: turn 1, input.content; turn 1, tool find_user, arguments.email; "
        'turn 1, tool find_user, result.email; turn 1, tool find_user, result."(a key)"; turn 2, output.content',
    )
    assert lines["phone", "case.record.yaml"][1] == "1 phone number: turn 1, tool find_user, result.phone"
    assert lines["secret", "case.record.yaml"][1] == "1 secret: turn 1, tool find_user, result.token"
    assert lines["card", "case.record.yaml"][1] == "1 card number: turn 2, input.content"
    assert lines["iban", "case.record.yaml"][1] == "1 bank account: turn 2, reasoning"
    assert lines["email", "case.session.yaml"] == (2, "1 e-mail address: title; expect.1.output.contains")
    told = str(lines).casefold()
    assert not any(value in told for value in ("jane", "bob", "901820", "hunter2", "6467", "5001"))


def test_http_recordings_are_looked_into(tmp_path: Path) -> None:
    request = Request("GET", "https://api.shop.example/u?mail=jane%40corp.com", (("authorization", "Bearer REDACTED"),))
    clean = Exchange(Request("GET", "https://api.shop.example/"), Response(200))
    raw = Exchange(Request("GET", "https://x.example/?api_key=abcdef123456"), Response(200, body=b"+49 30 901820"))
    stream = b'data: {"text": "jane@"}\n\ndata: {"text": "corp.com"}\n\n'
    told = Exchange(Request("GET", "https://x.example/"), Response(200, body=stream))
    ledger = session(turn(1, "x", reasoning=REASON))
    path = cassette_of(tmp_path, ledger, http=[clean, Exchange(request, Response(200)), raw, told])
    assert [(rule, text) for rule, _, _, text in found(path)] == [
        ("email", "1 e-mail address: interaction 2, the address; interaction 4, answer body"),
        ("phone", "1 phone number: interaction 3, answer body"),
        ("secret", "1 secret: interaction 3"),
    ]


def test_what_was_pulled_is_looked_into(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, "x", reasoning=REASON)))
    text = '{\n"session": {"user": "jane@corp.com"},\n"turns": [{"jane@corp.com": 1, "phone": 4155552671}]}'
    (tmp_path / "case.pulled.json").write_text(text, encoding="utf-8")
    assert found(path) == [
        ("email", "case.pulled.json", 2, "1 e-mail address: under user; a key"),
        ("phone", "case.pulled.json", 3, "1 phone number: under phone"),
    ]
    (tmp_path / "case.pulled.json").write_text("{", encoding="utf-8")
    with pytest.raises(FileError, match="is no JSON"):
        found(path)


@pytest.mark.parametrize(
    ("retention", "recorded", "told"),
    [
        ("{until: 2026-12-09}", None, "the retention ended on 2026-12-09: remove its files, or redact them"),
        ("{until: 2026-12-10}", None, None),
        ("{days: 9}", date(2026, 11, 30), "the retention ended on 2026-12-09: remove its files, or redact them"),
        ("{days: 10}", date(2026, 11, 30), None),
        ("{days: 10}", None, "when the session was recorded is not known: say `until`"),
    ],
)
def test_retention(tmp_path: Path, retention: str, recorded: date | None, told: str | None) -> None:
    path = cassette_of(tmp_path, session(turn(1, "x", reasoning=REASON)), f"retention: {retention}")
    expected = [] if told is None else [("retention", "case.session.yaml", 2, told)]
    assert found(path, recorded) == expected


def test_retention_of_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "statebase.yaml").write_text("# all of them\nretention: {days: 1}\n", encoding="utf-8")
    path = cassette_of(tmp_path, session(turn(1, "x", reasoning=REASON)))
    ((rule, name, line, text),) = found(path, date(2026, 11, 30))
    assert (rule, name, line) == ("retention", "statebase.yaml", 2)
    assert text.startswith("the retention of case ended on 2026-12-01")


def test_a_plan_is_written_with_its_retention(tmp_path: Path) -> None:
    path = cassette_of(tmp_path, session(turn(1, "x")), "retention: {until: 2027-01-31}")
    plan: Plan = load_cassette(path).plan
    write_plan(tmp_path / "again.session.yaml", plan)
    assert 'retention: {until: "2027-01-31"}' in (tmp_path / "again.session.yaml").read_text(encoding="utf-8")


def test_a_finding_has_a_rule_that_can_be_skipped() -> None:
    from pytest_statebase.audit.lint import Rule
    from pytest_statebase.cli.lint import RULES

    assert tuple(rule.value for rule in Rule) == RULES
    assert Finding(Rule.VAGUE, Path("x"), None, "").bare is False
