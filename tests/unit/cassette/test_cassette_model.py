from __future__ import annotations

from pathlib import Path

import pytest
from cassette_ledgers import support_ledger

from pytest_statebase.cassette import Cassette, Plan, load_cassette, write_plan, write_record
from pytest_statebase.cassette.plan import Expect
from pytest_statebase.errors import FileError, PlanError, SealError


@pytest.fixture
def plan_path(tmp_path: Path) -> Path:
    path = tmp_path / "refund.session.yaml"
    write_plan(path, Plan(session="sess_1", failing=frozenset({2})))
    write_record(tmp_path / "refund.record.yaml", support_ledger())
    return path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_plan_with_its_record(plan_path: Path) -> None:
    cassette = load_cassette(str(plan_path))
    assert cassette.path == plan_path
    assert cassette.record_path == plan_path.with_name("refund.record.yaml")
    assert cassette.name == "refund"
    assert cassette.session_id == "sess_1"
    assert cassette.ledger.events == support_ledger().events
    assert cassette.ledger is cassette.ledger
    assert cassette.warnings == []


def test_the_record_is_read_only_when_it_is_needed(plan_path: Path) -> None:
    plan_path.with_name("refund.record.yaml").unlink()
    cassette = load_cassette(plan_path)
    assert cassette.session_id == "sess_1"
    with pytest.raises(PlanError) as caught:
        _ = cassette.ledger
    assert "there is no record" in str(caught.value)
    assert str(plan_path) in str(caught.value)


def test_a_record_of_its_own_name(plan_path: Path) -> None:
    plan_path.with_name("refund.record.yaml").rename(plan_path.with_name("other.record.yaml"))
    edit(plan_path, "session:", "record: other.record.yaml\nsession:")
    assert load_cassette(plan_path).ledger.id == "sess_1"
    plan_path.with_name("other.record.yaml").unlink()
    with pytest.raises(PlanError) as caught:
        _ = load_cassette(plan_path).ledger
    assert caught.value.where == f"{plan_path}:2:1"


def test_a_record_alone_is_replayed_whole(plan_path: Path) -> None:
    cassette = load_cassette(plan_path.with_name("refund.record.yaml"))
    assert cassette.path is None
    assert cassette.plan == Plan()
    assert cassette.name == "refund"
    assert cassette.session_id == "sess_1"
    cassette = load_cassette(plan_path.with_name("none.record.yaml"))
    with pytest.raises(FileError, match="no such file"):
        _ = cassette.ledger


def test_a_missing_seal_warns(plan_path: Path) -> None:
    write_record(plan_path.with_name("refund.record.yaml"), support_ledger(), overwrite=True, sealed=False)
    cassette = load_cassette(plan_path)
    assert cassette.ledger
    assert len(cassette.warnings) == 1


def test_a_broken_seal_is_an_error(plan_path: Path) -> None:
    edit(plan_path.with_name("refund.record.yaml"), "On Tuesday.", "On Monday.")
    with pytest.raises(SealError, match=r"refund\.record\.yaml:\d+: the seal is broken: document 2 \(turn 1"):
        _ = load_cassette(plan_path).ledger


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("sess_1", "sess_2", "2:1", "the plan is for session sess_2, the record holds sess_1"),
        ("failing: [2]", "failing: [2, 15]", "3:1", "`failing` names turn 15"),
        ("failing: [2]", "expect: {7: {tools: {called: a}}}", "3:10", "`expect` names turn 7"),
        ("failing: [2]", "inputs: {7: x}", "3:10", "`inputs` names turn 7"),
    ],
)
def test_a_plan_that_does_not_fit_its_record(plan_path: Path, old: str, new: str, line: str, says: str) -> None:
    edit(plan_path, old, new)
    with pytest.raises(PlanError) as caught:
        _ = load_cassette(plan_path).ledger
    assert str(caught.value).startswith(f"{plan_path}:{line}: {says}")


@pytest.mark.parametrize(
    "name", ["a.yaml", "a.session.yml", "a [1].session.yaml", f"{'a' * 81}.session.yaml", ".session.yaml"]
)
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(PlanError) as caught:
        load_cassette(tmp_path / name)
    assert name[:20] in str(caught.value)


def test_a_missing_plan(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        load_cassette(tmp_path / "a.session.yaml")


def test_a_cassette_in_memory() -> None:
    cassette = Cassette.from_ledger(support_ledger())
    assert cassette.ledger.id == cassette.session_id == cassette.name == "sess_1"
    with pytest.raises(PlanError, match=r"sess_1: `expect` names turn 9"):
        Cassette.from_ledger(support_ledger(), Plan(expect={9: Expect()}))
