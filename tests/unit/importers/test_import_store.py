from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_statebase.cassette import load_cassette, read_record
from pytest_statebase.errors import HttpError, ImportFileError
from pytest_statebase.importers import ImportedSession
from pytest_statebase.importers.chat import ledger_from_messages
from pytest_statebase.importers.grades import Reason, graded
from pytest_statebase.importers.model import Facts
from pytest_statebase.importers.proposal import defaults_text, propose_plan
from pytest_statebase.importers.store import Store
from pytest_statebase.wire.exchange import Exchange, Request, Response


def session(name: str = "refund", answer: str = "Hello", *, id: str | None = None) -> ImportedSession:
    call = {"id": "1", "function": {"name": "look_up", "arguments": '{"id": "017"}'}}
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": '{"total": 1.50, "note": "no"}'},
        {"role": "assistant", "content": answer},
    ]
    ledger = ledger_from_messages(messages, Facts(id or name, agent="support"), "x.json")
    return ImportedSession(name, ledger, propose_plan(ledger, "Hi"))


def counts(store: Store) -> tuple[int, int, int]:
    return store.tally.written, store.tally.unchanged, store.tally.refused


def test_record_plan_and_defaults(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "out")
    one = session()
    store.add(one)
    store.finish()
    out = store.out
    assert sorted(path.name for path in out.iterdir()) == [
        "refund.record.yaml",
        "refund.session.yaml",
        "statebase.yaml",
    ]
    assert read_record(out / "refund.record.yaml").events == one.ledger.events
    cassette = load_cassette(out / "refund.session.yaml")
    assert (cassette.session_id, cassette.plan.agent, cassette.plan.title) == ("refund", "support", "Hi")
    assert not cassette.plan.failing
    assert not cassette.plan.tools
    assert cassette.ledger.events == one.ledger.events
    assert counts(store) == (3, 0, 0)
    assert (store.tally.sessions, store.tally.turns, store.tally.calls) == (1, 1, 1)


def test_again_is_unchanged_and_plans_are_never_touched(tmp_path: Path) -> None:
    first = Store(tmp_path)
    first.add(session())
    first.finish()
    (tmp_path / "refund.session.yaml").write_text("cassette: 1\nfailing: [1]\n", encoding="utf-8")
    (tmp_path / "statebase.yaml").write_text("tools: {look_up: {reads: true}}\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    again = Store(tmp_path)
    again.add(session())
    again.finish()
    assert counts(again) == (0, 3, 0)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_layout_of_a_record_is_no_change(tmp_path: Path) -> None:
    Store(tmp_path).add(session())
    record = tmp_path / "refund.record.yaml"
    record.write_bytes(b"# moved here\r\n" + record.read_bytes().replace(b"\n", b"\r\n"))
    again = Store(tmp_path)
    again.add(session())
    assert counts(again) == (0, 2, 0)


def test_a_missing_plan_is_written_again(tmp_path: Path) -> None:
    Store(tmp_path).add(session())
    (tmp_path / "refund.session.yaml").unlink()
    again = Store(tmp_path)
    again.add(session())
    assert counts(again) == (1, 1, 0)


def test_other_content_is_refused(tmp_path: Path) -> None:
    Store(tmp_path).add(session())
    before = (tmp_path / "refund.record.yaml").read_bytes()
    again = Store(tmp_path)
    with pytest.raises(ImportFileError, match="exists with other content"):
        again.add(session(answer="Goodbye"))
    assert counts(again) == (0, 0, 1)
    assert (tmp_path / "refund.record.yaml").read_bytes() == before


def test_a_record_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "refund.record.yaml").write_text("record: 1\nkind: [", encoding="utf-8")
    store = Store(tmp_path)
    with pytest.raises(ImportFileError, match="cannot be read"):
        store.add(session())
    assert counts(store) == (0, 0, 1)
    assert not (tmp_path / "refund.session.yaml").exists()


def test_two_sessions_of_one_name_keep_their_files_in_every_run(tmp_path: Path) -> None:
    pair = [session(id="a"), session(id="b", answer="Goodbye"), session("REFUND", id="c")]
    for written in (6, 0):
        store = Store(tmp_path)
        for one in pair:
            store.add(one)
        assert counts(store) == (written, 6 - written, 0)
    alone = Store(tmp_path)
    alone.add(pair[1])
    assert counts(alone) == (0, 2, 0)
    stems = {path.name.casefold() for path in tmp_path.glob("*.record.yaml")}
    assert len(stems) == 3


@pytest.mark.parametrize("name", ["../../evil", "a/b", "NUL", "x" * 300, "..", "", "\ud800"])
def test_files_stay_inside(tmp_path: Path, name: str) -> None:
    out = tmp_path / "deep" / "out"
    Store(out).add(session(name, id="s"))
    assert len(list(out.iterdir())) == 2
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == sorted(
        path.name for path in out.iterdir()
    )


@pytest.mark.parametrize("id", ["\ud800", "a\nb", "007", "null", "é", "x" * 5000, "- #: {"])
def test_ids_read_back_equal(tmp_path: Path, id: str) -> None:
    Store(tmp_path).add(session(id, id=id))
    (plan,) = tmp_path.glob("*.session.yaml")
    cassette = load_cassette(plan)
    assert cassette.session_id == cassette.ledger.id == id


def test_defaults_name_every_tool_and_decide_nothing(tmp_path: Path) -> None:
    text = defaults_text({"look_up": 12, "no": 1, 'odd "name": #\n': 2, "srv.search": 3})
    assert all(line.startswith("#") for line in text.splitlines())
    for line in ("look_up: {reads: true}", "# 12 calls", '"no": {reads: false}', "# 1 call\n", "srv.search: {"):
        assert line in text
    before, _, tools = text.partition("# tools:\n")
    assert "reads: true" in before
    uncommented = "tools:\n" + "\n".join(line.removeprefix("# ") for line in tools.splitlines())
    (tmp_path / "statebase.yaml").write_text(uncommented, encoding="utf-8")
    Store(tmp_path).add(session())
    plan = load_cassette(tmp_path / "refund.session.yaml", root=tmp_path).plan
    assert {tool: rules.reads for tool, rules in plan.tools.items()} == {
        "look_up": True,
        "no": False,
        'odd "name": #\n': False,
        "srv.search": False,
    }


def test_defaults_where_no_tool_was_called() -> None:
    assert defaults_text({}).startswith("#")


def with_http(answer: str = "Hello", key: str = "sk-live-0123456789abcdef") -> ImportedSession:
    request = Request("POST", "https://api.example.com/v1/x", (("Authorization", f"Bearer {key}"),), b'{"a": 1}')
    response = Response(200, "OK", (("content-type", "application/json"),), json.dumps({"key": key}).encode())
    return replace(session(answer=answer), exchanges=(Exchange(request, response, turn=1),))


def test_exchanges_stand_beside_the_record(tmp_path: Path) -> None:
    for written in (3, 0):
        store = Store(tmp_path)
        store.add(with_http())
        assert counts(store) == (written, 3 - written, 0)
    cassette = load_cassette(tmp_path / "refund.session.yaml")
    assert cassette.ledger.created.http
    assert cassette.http is not None
    assert [exchange.turn for exchange in cassette.http.exchanges] == [1]
    assert b"sk-live" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    (tmp_path / "refund.http.yaml").unlink()
    with pytest.raises(HttpError, match="is missing"):
        _ = load_cassette(tmp_path / "refund.session.yaml").http


def test_other_exchanges_are_refused(tmp_path: Path) -> None:
    Store(tmp_path).add(with_http())
    path = tmp_path / "refund.http.yaml"
    before = path.read_bytes()
    other = with_http()
    other = replace(other, exchanges=(replace(other.exchanges[0], turn=2),))
    again = Store(tmp_path)
    with pytest.raises(ImportFileError, match="HTTP recording of the session exists with other content"):
        again.add(other)
    assert counts(again) == (0, 0, 1)
    assert path.read_bytes() == before
    path.write_bytes(b"interactions: [")
    with pytest.raises(ImportFileError, match="exists with other content"):
        Store(tmp_path).add(with_http())


def test_a_plan_tells_what_is_missing(tmp_path: Path) -> None:
    Store(tmp_path).add(replace(session(), grade=graded([Reason("no-results", "1 call has no result", "Turn it on")])))
    lines = (tmp_path / "refund.session.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["# Partly replayable:", "# - 1 call has no result. Turn it on"]
    assert load_cassette(tmp_path / "refund.session.yaml").ledger.turns
