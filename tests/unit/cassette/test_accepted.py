"""Accepted baselines as files: to the type, sealed, and repaired after a merge."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path

import pytest
from cassette_ledgers import support_ledger

from pytest_statebase.cassette import Accepted, AcceptedCall, AcceptedTurn, load_cassette, read_accepted, write_record
from pytest_statebase.cassette.accepted import accepted_bytes, repaired, salvaged, turn_from, turn_text
from pytest_statebase.cassette.record import record_bytes, seal, seal_of
from pytest_statebase.errors import AcceptedError, FormatVersionError, UnstorableError
from pytest_statebase.values import ABSENT, TypedData

TURN = AcceptedTurn(
    2,
    (
        AcceptedCall("lookup", {"id": "02134", 7: None}, step=1, agent="desk"),
        AcceptedCall("price", {"at": datetime.date(2026, 1, 2)}, result=decimal.Decimal("1.10"), source="simulated"),
        AcceptedCall("buy", "not JSON", error={"type": "app:Sold", "message": "no"}, source="live"),
        AcceptedCall("look", {}, result=None, source="authored"),
    ),
    {"type": "text", "content": "two\nlines, one lone \ud83d"},
    {"type": "app:Late", "message": ""},
    {"cart": ("a", {1, 2}), "order": TypedData("app:Order", {"id": 1})},
    [{"content": "likes figs", "type": "general", "tags": []}],
    ("0123456789ab",),
)
ACCEPTED = Accepted("sess_1", "sha256:" + "0" * 64, "2026-03-15T10:00:00+00:00", {2: TURN, 4: AcceptedTurn(4)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "refund.accepted.yaml"
    path.write_bytes(accepted_bytes(ACCEPTED))
    return path


def test_it_reads_back_equal_to_the_type(path: Path) -> None:
    found = read_accepted(path, session="sess_1")
    assert found == ACCEPTED
    assert type(found.turns[2].calls[1].result) is decimal.Decimal
    assert (found.turns[4].output, found.turns[4].state, found.turns[4].memory) == (ABSENT, ABSENT, ABSENT)
    assert turn_from(turn_text(TURN)) == TURN


def test_layout_is_free_and_turns_stand_in_order(path: Path) -> None:
    text = accepted_bytes(Accepted("s", turns={4: AcceptedTurn(4), 2: AcceptedTurn(2)})).decode()
    assert text.index("number: 2") < text.index("number: 4")
    data = path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes(data.replace(b"session: sess_1", b"session:   'sess_1' # mine"))
    assert read_accepted(path) == ACCEPTED


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        (b"likes figs", b"likes pears", "the seal is broken: document 2 (turn 2, line 7) was changed"),
        (b"kind: turn\n", b"<<<<<<< HEAD\nkind: turn\n", ":7: the accepted baseline cannot be used: there are"),
        (b"seal: ", b"zeal: ", "there is no seal"),
        (b"source: live", b"source: dead", "`source` is one of simulated, authored, live, sibling, not 'dead'"),
        (b"number: 4", b"nummer: 4", "the key 'nummer' is unknown"),
        (b"number: 4", b"number: four", "`number` is 'four'"),
        (b"session: sess_1\n", b"", "`session` is missing"),
        (b"kind: end", b"kind: turn", "it is cut off"),
        (b"accepted: 1", b"cassette: 1", "it does not begin with `accepted: 1`"),
        (b"at: ", b"session: ", "session"),
        (b"at: ", b"\xff: ", "not UTF-8"),
        (b"at: ", b"[: ", "refund.accepted.yaml:6:1"),
    ],
)
def test_a_broken_file_is_an_error_that_says_how_to_go_on(path: Path, before: bytes, after: bytes, what: str) -> None:
    assert before in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(before, after, 1))
    with pytest.raises(AcceptedError) as caught:
        read_accepted(path, session="sess_1")
    assert what in str(caught.value)
    assert "refund.accepted.yaml" in str(caught.value)
    assert "pytest --statebase-replay --statebase-accept=sess_1" in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\n", b"- 1\n", b"accepted: 1\n"])
def test_a_file_without_content_is_broken(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(AcceptedError, match="Accept again"):
        read_accepted(path)


def test_another_session_and_another_format(path: Path) -> None:
    with pytest.raises(AcceptedError, match="accepted for session sess_1, the cassette holds sess_2"):
        read_accepted(path, session="sess_2")
    path.write_bytes(path.read_bytes().replace(b"accepted: 1", b"accepted: 2"))
    with pytest.raises(FormatVersionError, match=r"(?s)format 2.*reads format 1.*Upgrade"):
        read_accepted(path)


def test_what_has_no_form_is_refused() -> None:
    call = AcceptedCall("price", result={"lock": object()}, source="live")
    with pytest.raises(UnstorableError, match=r"turn 1, tool price, result\.lock"):
        accepted_bytes(Accepted("s", turns={1: AcceptedTurn(1, (call,))}))


def merged(ours: AcceptedTurn, theirs: AcceptedTurn) -> bytes:
    """A file as git leaves it where both sides changed the last turn."""
    files = [accepted_bytes(Accepted("sess_1", turns={2: TURN, turn.number: turn})) for turn in (ours, theirs)]
    head = files[0].partition(b"---\nkind: turn\nnumber: ")[0]
    rest = [file.removeprefix(head) for file in files]
    return head + b"<<<<<<< HEAD\n" + rest[0] + b"||||||| base\nodd: [\n=======\n" + rest[1] + b">>>>>>> theirs\n"


def test_both_sides_of_a_conflict_can_be_salvaged(path: Path) -> None:
    path.write_bytes(merged(AcceptedTurn(3, fingerprints=("a",)), AcceptedTurn(5)))
    with pytest.raises(AcceptedError, match="conflict markers"):
        read_accepted(path)
    assert [sorted(side.turns) for side in salvaged(path.read_bytes(), where="f")] == [[2, 3], [2, 5]]
    found = repaired(path, "sess_1")
    assert found is not None
    assert sorted(found.turns) == [2, 3, 5]
    path.write_bytes(merged(AcceptedTurn(3, fingerprints=("a",)), AcceptedTurn(3)))
    found = repaired(path, "sess_1")
    assert found is not None
    assert found.turns[3].fingerprints == ("a",)
    assert repaired(path, "sess_2") is None
    assert repaired(path.with_name("none"), "sess_1") is None


def test_a_cassette_reads_it_when_it_is_asked_for(tmp_path: Path) -> None:
    ledger = support_ledger()
    write_record(tmp_path / "refund.record.yaml", ledger)
    (tmp_path / "refund.session.yaml").write_text("cassette: 1\n")
    assert load_cassette(tmp_path / "refund.session.yaml").accepted is None
    file = tmp_path / "refund.accepted.yaml"
    file.write_bytes(accepted_bytes(Accepted(ledger.id, turns={1: TURN})))
    cassette = load_cassette(tmp_path / "refund.session.yaml")
    assert cassette.accepted_path == file
    assert cassette.accepted is not None
    assert cassette.accepted is cassette.accepted
    assert load_cassette(tmp_path / "refund.record.yaml").accepted is None
    file.write_bytes(b"<<<<<<< HEAD\n")
    cassette = load_cassette(tmp_path / "refund.session.yaml")
    with pytest.raises(AcceptedError):
        cassette.accepted  # noqa: B018
    cassette.repair_accepted()
    assert cassette.accepted is None
    assert file.read_bytes() == b"<<<<<<< HEAD\n"


def test_the_seal_of_a_record(tmp_path: Path) -> None:
    ledger = support_ledger()
    sealed = tmp_path / "a.record.yaml"
    write_record(sealed, ledger)
    assert f"seal: {seal_of(sealed)}" in sealed.read_text().replace('"', "")
    odd = tmp_path / "b.record.yaml"
    odd.write_bytes(sealed.read_bytes().replace(b"\nseal:", b"\n'seal' :"))
    assert seal_of(odd) == seal_of(sealed)
    bare = tmp_path / "c.record.yaml"
    bare.write_bytes(record_bytes(ledger, sealed=False))
    assert seal_of(bare).startswith("sha256:")
    seal(bare)
    assert seal_of(bare) == seal_of(sealed)
