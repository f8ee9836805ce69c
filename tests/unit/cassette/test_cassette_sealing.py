from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cassette_ledgers import ledgers, support_ledger
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_statebase.cassette import Verification, record_bytes, verify
from pytest_statebase.cassette.canonical import parts_of
from pytest_statebase.cassette.record import ledger_from
from pytest_statebase.cassette.sealing import Chain, without_seal
from pytest_statebase.cassette.yamlread import parse
from pytest_statebase.errors import FileError, SealError
from pytest_statebase.ledger import Ledger


def verified(text: str, tmp_path: Path) -> Verification:
    path = tmp_path / "a.record.yaml"
    path.write_bytes(text.encode())
    return verify(path)


SEALED = record_bytes(support_ledger()).decode()
DOCUMENTS = SEALED.split("---\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "# a comment\n" + text.replace("kind: turn", "kind: turn   # here"),
        lambda text: text.replace('{order_id: "1047"}', "\n      order_id: '1047'"),
        lambda text: text.replace("said: Let me", 'said: "Let me').replace("that up.", 'that up."'),
        lambda text: "\ufeff" + text,
    ],
)
def test_layout_is_free(change: Callable[[str], str], tmp_path: Path) -> None:
    assert verified(change(SEALED), tmp_path).ok


@pytest.mark.parametrize(
    ("change", "says", "document", "turn"),
    [
        (lambda text: text.replace("On Tuesday.", "On Monday."), "document 2 (turn 1, line", 2, 1),
        (lambda text: text.replace('"1047"', "1047"), "document 2 (turn 1", 2, 1),
        (lambda text: text.replace("!json ", ""), "document 2 (turn 1", 2, 1),
        (lambda text: text.replace("own: null", 'own: "null"'), "document 2 (turn 1", 2, 1),
        (
            lambda text: text.replace("id: sess_1", "id: sess_2"),
            "document 1 (kind session, line 1) was changed",
            1,
            None,
        ),
        (lambda text: text.replace("reason: completed", "reason: other"), "the last document was changed", 8, None),
        (lambda text: text.replace("seal: sha256:", "seal: sha256:0"), "the last document was changed", 8, None),
        (lambda text: re.sub(r"documents:\n(  - .*\n)+", "", text), "`documents` are gone", 8, None),
    ],
)
def test_the_first_document_that_changed_is_named(
    change: Callable[[str], str], says: str, document: int, turn: int | None, tmp_path: Path
) -> None:
    result = verified(change(SEALED), tmp_path)
    assert not result.ok
    assert result.state == "broken"
    assert says in result.message
    assert (result.document, result.turn) == (document, turn)
    assert result.line is not None


def test_missing_added_and_moved_documents(tmp_path: Path) -> None:
    missing = verified("---\n".join([*DOCUMENTS[:2], *DOCUMENTS[3:]]), tmp_path)
    assert "document 3 is missing" in missing.message
    last = verified("---\n".join([*DOCUMENTS[:6], *DOCUMENTS[7:]]), tmp_path)
    assert "document 7 is missing" in last.message
    added = verified("---\n".join([*DOCUMENTS[:3], "kind: event\nsaid: new\n", *DOCUMENTS[3:]]), tmp_path)
    assert "document 4 (kind event, line" in added.message
    assert "was added" in added.message
    moved = verified("---\n".join([*DOCUMENTS[:2], DOCUMENTS[3], DOCUMENTS[2], *DOCUMENTS[4:]]), tmp_path)
    assert "document 3 (kind event, line" in moved.message
    assert "was moved" in moved.message


def test_the_check_names_the_file() -> None:
    with pytest.raises(SealError) as caught:
        ledger_from(SEALED.replace("On Tuesday.", "On Monday.").encode(), where="a.record.yaml")
    assert caught.value.where is not None
    assert caught.value.where.startswith("a.record.yaml:")
    assert caught.value.remedy


def test_no_seal(tmp_path: Path) -> None:
    result = verified(record_bytes(support_ledger(), sealed=False).decode(), tmp_path)
    assert (result.ok, result.state) == (False, "unsealed")


@pytest.mark.parametrize(
    "text", ["kind: end\nx: {seal: 1}\nseal: a\ny: !tuple [1]\n", "seal: a\nkind: end\n", "kind: end\n"]
)
def test_the_seal_is_computed_without_itself(text: str) -> None:
    (document,) = parse(text.encode(), where="f")
    rest = {key: value for key, value in document.value.items() if key != "seal"}
    assert without_seal(document.parts) == parts_of(rest)


@settings(max_examples=100, deadline=None)
@given(ledgers(), st.data())
def test_no_change_of_a_character_goes_unseen(ledger: Ledger, data: st.DataObject) -> None:
    text = record_bytes(ledger)
    at = data.draw(st.integers(0, len(text) - 1))
    other = text[:at] + bytes([data.draw(st.sampled_from(b'x7 "-:'))]) + text[at + 1 :]
    try:
        chain = Chain()
        for document in parse(other, where="f"):
            chain.add(document)
        same = chain.verification().ok
    except (FileError, UnicodeDecodeError):
        return
    if same:
        assert [document.parts for document in parse(other, where="f")] == [
            document.parts for document in parse(text, where="f")
        ]
