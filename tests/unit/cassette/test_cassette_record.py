from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from cassette_ledgers import ledgers, support_ledger
from cassette_values import shape
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_statebase.cassette import read_record, record_bytes, seal, verify, write_record
from pytest_statebase.cassette.record import ledger_from
from pytest_statebase.errors import FileError, FormatVersionError, RecordError, SealError, UnstorableError
from pytest_statebase.ledger import (
    Event,
    Ledger,
    Said,
    SessionCreated,
    SessionForked,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)

HEAD = "record: 1\nkind: session\nid: s\n"
END = "---\nkind: end\n"


def told(event: Event) -> Any:
    fields = {field.name: shape(getattr(event, field.name)) for field in dataclasses.fields(event)}
    return type(event).__name__, fields


def error(text: str) -> str:
    with pytest.raises(FileError) as caught:
        ledger_from(text.encode(), where="f.yaml")
    assert caught.value.remedy
    return str(caught.value)


@settings(max_examples=150, deadline=None)
@given(ledgers())
def test_a_ledger_loads_back_event_by_event(ledger: Ledger) -> None:
    loaded = ledger_from(record_bytes(ledger), where="f")
    assert [told(event) for event in loaded.events] == [told(event) for event in ledger.events]


@settings(max_examples=50, deadline=None)
@given(ledgers())
def test_writing_again_gives_the_same_bytes(ledger: Ledger) -> None:
    data = record_bytes(ledger)
    assert record_bytes(ledger_from(data, where="f")) == data


def test_the_file_as_a_person_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "a.record.yaml"
    write_record(path, support_ledger())
    text = path.read_text("utf-8")
    head, first, *_ = text.split("---\n")
    assert head == (
        "record: 1\nkind: session\nid: sess_1\nagent_id: support\n"
        'created_at: "2026-03-15T10:23:45Z"\nstate: {status: new}\nmetadata: {a: 1}\n'
    )
    assert first.startswith(
        "kind: turn\nnumber: 1\n"
        'at: "2026-03-15T10:24:01Z"\ninput: {type: text, content: "Where is my order 1047?"}\nevents:\n'
        "  - said: Let me look that up.\n  - tool: lookup_order\n    step: 1\n    id: c1\n"
        '    arguments: {order_id: "1047"}\n    result: !json {status: delivered}\n    latency_ms: 1.5\n'
    )
    assert "  - state: 2\n    patch:\n      - {op: replace, path: /status, value: done}\n" in first
    assert "own: null\n" in first
    assert "kind: event\nrollback: 3\nto: 0\nreason: wrong order\nactor: operator\n" in text
    assert "kind: event\nrollback: 4\nto: 9\nvalue: {status: odd}\n" in text
    assert "kind: event\nmemory: {content: likes tea, type: preference, tags: [tea], id: m1}\nscore: 1\n" in text
    assert "kind: turn\nnumber: 3\nauthored: true\n" in text
    assert "output: null\n" in text
    assert "---\nkind: end\nreason: completed\ninput: {type: text, content: bye}\nseal: sha256:" in text
    assert read_record(path).events == support_ledger().events


def test_a_record_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.record.yaml"
    write_record(path, support_ledger())
    with pytest.raises(RecordError, match="there is a record already"):
        write_record(path, support_ledger())
    write_record(path, support_ledger(), overwrite=True)


def test_absent_is_not_null() -> None:
    ledger = ledger_from(
        (HEAD + "---\nkind: turn\nnumber: 1\nevents:\n- {tool: a}\n- {tool: b, result: null}\n" + END).encode(),
        where="f",
    )
    first, second = ledger.turn(1).calls
    assert first.result is not None
    assert second.result is None
    assert ledger.turn(1).output is not None


def test_rolled_back_states_share_nothing() -> None:
    text = HEAD + "state: {a: [1]}\n---\nkind: event\nstate: 1\nvalue: {}\n---\nkind: event\nrollback: 2\nto: 0\n" + END
    ledger = ledger_from(text.encode(), where="f")
    assert ledger.state == {"a": [1]}
    assert ledger.versions[0].event.state["a"] is not ledger.versions[2].event.value["a"]  # type: ignore[union-attr]


def test_unknown_keys_are_kept() -> None:
    text = (
        HEAD
        + "region: eu\n---\nkind: turn\nnumber: 1\ncolour: red\nevents:\n- {said: x, mood: 1}\n---\nkind: end\nz: 1\n"
    )
    ledger = ledger_from(text.encode(), where="f")
    assert ledger.created.extra == {"region": "eu"}
    assert ledger.turn(1).added == TurnAdded(extra={"colour": "red"})
    assert ledger.turn(1).events == [Said("x", extra={"mood": 1})]
    assert ledger.ended is not None
    assert ledger.ended.extra == {"z": 1}
    assert ledger_from(record_bytes(ledger), where="f").events == ledger.events


def test_a_fork_and_an_unfinished_turn_can_be_written() -> None:
    ledger = Ledger([SessionCreated("s"), SessionForked("f", "s", "turn 1", None), TurnStarted(1), Said("x")])
    assert ledger_from(record_bytes(ledger), where="f").events == ledger.events


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\n", "f.yaml:1: this is no record"),
        ("cassette: 1\n", "f.yaml:1: this is a plan"),
        ("- 1\n", "f.yaml:1: this is no record"),
        ("record: one\n", "f.yaml:1: this is no record"),
        (HEAD, "f.yaml:3: the record is cut off: it ends after kind session"),
        (HEAD + "---\nkind: turn\nnumber: 1\noutput: {type: te", "f.yaml:7:18: this is not YAML"),
        (HEAD + "---\nkind: turn\nnumber: 1\n", "f.yaml:6: the record is cut off: it ends after turn 1"),
        ("record: 1\nkind: session\n" + END, "f.yaml:1:1: `id` is missing"),
        ("record: 1\nkind: session\nid: 7\n" + END, "f.yaml:3:1: `id` must be a text, not 7"),
        ("record: 1\nkind: turn\nnumber: 1\n" + END, "f.yaml:2:1: the first document"),
        (HEAD + "---\nkind: session\nid: t\n" + END, "f.yaml:5:1: the first document, and no other"),
        (HEAD + "---\nkind: trun\n" + END, "f.yaml:5:1: `kind` must be one of"),
        (HEAD + "---\n- 1\n" + END, "f.yaml:5:1: a document of a record must be a mapping"),
        (HEAD + END + "---\nkind: event\nsaid: x\n", "f.yaml:7:1: a document stands after `kind: end`"),
        (HEAD + "---\nkind: turn\n" + END, "f.yaml:5:1: `number` is missing"),
        (HEAD + "---\nkind: turn\nnumber: 1\n---\nkind: turn\nnumber: 3\n" + END, "f.yaml:9:1: turn 3 follows turn 1"),
        (HEAD + "---\nkind: turn\nnumber: 0\n" + END, "f.yaml:6:1: turn 0"),
        (HEAD + "---\nkind: turn\nnumber: true\n" + END, "f.yaml:6:1: `number` must be an integer, not True"),
        (HEAD + "---\nkind: turn\nnumber: 1\nevents: {a: 1}\n" + END, "f.yaml:7:1: `events` must be a list"),
        (HEAD + "---\nkind: turn\nnumber: 1\nevents:\n- x\n" + END, "f.yaml:8:3: an event must be a mapping"),
        (
            HEAD + "---\nkind: turn\nnumber: 1\nevents:\n- {said: 1}\n- {x: 1}\n" + END,
            "f.yaml:8:4: `said` must be a text",
        ),
        (
            HEAD + "---\nkind: turn\nnumber: 1\nevents:\n- {said: a}\n- {x: 1}\n" + END,
            "f.yaml:9:3: an event needs one of",
        ),
        (HEAD + "---\nkind: turn\nnumber: 1\nevents:\n- {tool: a, error: x}\n" + END, "f.yaml:8:13: `error` must be"),
        (HEAD + "---\nkind: event\nstate: 1\n" + END, "f.yaml:5:1: `value` is missing"),
        (HEAD + "---\nkind: event\nstate: 1\npatch: []\n" + END, "f.yaml:7:1: `patch` has no state before it"),
        (HEAD + "state: 1\n---\nkind: event\nstate: 1\npatch: 1\n" + END, "f.yaml:8:1: `patch` does not fit"),
        (HEAD + "state: 1\n---\nkind: event\nstate: 1\npatch: []\nvalue: 1\n" + END, "exclude each other"),
        (HEAD + "state: 1\n---\nkind: event\nstate: 2\nvalue: 1\n" + END, "state version 2 follows version 0"),
        (HEAD + "---\nkind: event\nrollback: 2\nto: 0\n" + END, "f.yaml:7:1: version 0 is not in the record"),
        (HEAD + "---\nkind: event\nmemory: x\n" + END, "f.yaml:6:1: `memory` must be a mapping"),
        (
            HEAD + "---\nkind: event\nmemory: {content: a, at: b}\nat: c\n" + END,
            "f.yaml:7:1: `at` stands inside and beside",
        ),
    ],
)
def test_a_record_that_is_none(text: str, says: str) -> None:
    assert says in error(text)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_record_that_was_cut_off_anywhere_says_so(data: st.DataObject) -> None:
    whole = record_bytes(support_ledger())
    cut = data.draw(st.integers(len("record: 1\n"), whole.rindex(b"kind: end") + 5))
    assert "cut off" in error(whole[:cut].decode())


def test_a_future_format_is_refused_naming_both_versions() -> None:
    with pytest.raises(FormatVersionError, match="format 2; this version of pytest-statebase reads format 1"):
        ledger_from(b"record: 2\nkind: session\nnew_things: 1\n", where="f")


def test_the_error_of_a_value_names_turn_tool_and_path() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1), Said("x"), ToolCalled("lookup", result={"a": [object()]})])
    with pytest.raises(UnstorableError) as caught:
        record_bytes(ledger)
    assert caught.value.where == "turn 1, tool lookup, result.a[0]"
    with pytest.raises(UnstorableError) as caught:
        record_bytes(Ledger([SessionCreated("s", state={"x": object()})]))
    assert caught.value.where == "session, state.x"


def test_an_extra_key_with_a_meaning_of_its_own_cannot_be_written() -> None:
    for event in (ToolCalled("a", extra={"result": 1}), TurnAdded(extra={"number": 1})):
        with pytest.raises(UnstorableError, match="meaning of its own"):
            record_bytes(Ledger([SessionCreated("s"), TurnStarted(1), event]))


def test_a_record_without_a_seal_warns_and_can_be_sealed(tmp_path: Path) -> None:
    path = tmp_path / "a.record.yaml"
    path.write_text("# by hand\n" + HEAD + "---\nkind: turn\nnumber: 1\n" + END + "reason: done\n")
    warnings: list[str] = []
    ledger = read_record(path, warnings=warnings)
    assert len(warnings) == 1
    assert "no seal" in warnings[0]
    assert verify(path).state == "unsealed"
    assert seal(path).ok
    assert seal(path).ok
    assert path.read_text().startswith("# by hand\n" + HEAD)
    warnings.clear()
    assert read_record(path, warnings=warnings).events == ledger.events
    assert not warnings


def test_a_broken_record_is_sealed_only_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "a.record.yaml"
    write_record(path, support_ledger())
    path.write_text(path.read_text("utf-8").replace("On Tuesday.", "On Monday."), "utf-8")
    before = path.read_bytes()
    with pytest.raises(SealError, match="turn 1"):
        seal(path)
    assert path.read_bytes() == before
    assert seal(path, force=True).ok
    assert read_record(path).turn(1).output["content"] == "On Monday."


def test_a_tampered_record_is_refused_before_anything_else_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.record.yaml"
    write_record(path, support_ledger())
    documents = path.read_text("utf-8").split("---\n")
    path.write_text("---\n".join([documents[0], *documents[2:]]), "utf-8")
    with pytest.raises(SealError, match=r"document 2 is missing"):
        read_record(path)
