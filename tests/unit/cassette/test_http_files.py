"""Where HTTP recordings stand, and what is said of one that is not there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cassette_ledgers import support_ledger

from pytest_statebase import Ledger, record_session
from pytest_statebase.cassette import Plan, load_cassette, write_http, write_plan, write_record
from pytest_statebase.cassette.accepted import Accepted, AcceptedTurn, accepted_bytes, read_accepted, repaired
from pytest_statebase.errors import HttpError, PlanError
from pytest_statebase.ledger import SessionCreated
from pytest_statebase.wire.exchange import Exchange, Request, Response

EXCHANGE = Exchange(Request("GET", "http://api.test/x", (), b""), Response(200, "OK", (), b"hi"), 1)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one cassette in `fixtures`, and one recording each inside, beside and outside of it."""
    root = tmp_path / "project"
    (root / "fixtures" / "vcr").mkdir(parents=True)
    (root / "pyproject.toml").touch()
    write_record(root / "fixtures" / "refund.record.yaml", support_ledger())
    for name in ("project/fixtures/vcr/refund.yaml", "project/fixtures/near.yaml", "project/shared.yaml", "out.yaml"):
        write_http(tmp_path / name, [EXCHANGE])
    return root


def plan(project: Path, http: str) -> Path:
    path = project / "fixtures" / "refund.session.yaml"
    path.write_text(f"cassette: 1\nhttp: {http}\n", "utf-8")
    return path


@pytest.mark.parametrize(
    "http",
    ["vcr/refund.yaml", "./vcr/refund.yaml", "{file: vcr/refund.yaml}", "near.yaml", "./near.yaml", "../shared.yaml",
     "vcr/../../shared.yaml"],
)  # fmt: skip
def test_a_relative_path_from_the_plan(project: Path, http: str) -> None:
    found = load_cassette(plan(project, http)).http
    assert found is not None
    assert found.exchanges == (EXCHANGE,)


@pytest.mark.parametrize(
    ("http", "why"),
    [
        ("../../out.yaml", "outside of the project"),
        ("vcr/../../../out.yaml", "outside of the project"),
        ("linked.yaml", "outside of the project"),
        ("linked/out.yaml", "outside of the project"),
        ("/etc/out.yaml", "no path from the directory of the plan"),
        ("~/out.yaml", "no path from the directory of the plan"),
        ("C:/out.yaml", "no path from the directory of the plan"),
        ("C:out.yaml", "no path from the directory of the plan"),
        ("//host/out.yaml", "no path from the directory of the plan"),
        (r"vcr\refund.yaml", "a backslash"),
        (r'"vcr\0refund.yaml"', "cannot be seen"),
    ],
)
def test_what_is_no_file_of_the_project_is_refused_unread(project: Path, http: str, why: str) -> None:
    (project / "fixtures" / "linked.yaml").symlink_to(project.parent / "out.yaml")
    (project / "fixtures" / "linked").symlink_to(project.parent)
    path = plan(project, http)
    with pytest.raises(PlanError) as caught:
        load_cassette(path)
    assert why in caught.value.what
    assert (caught.value.where or "").startswith(f"{path}:2")


def test_the_root_that_is_given_bounds_it(project: Path) -> None:
    path = plan(project, "../shared.yaml")
    with pytest.raises(PlanError, match="outside of the project"):
        load_cassette(path, root=path.parent)


def test_a_directory_without_a_project_bounds_itself(project: Path, tmp_path: Path) -> None:
    (project / "pyproject.toml").unlink()
    with pytest.raises(PlanError, match="outside of the project"):
        load_cassette(plan(project, "../shared.yaml"))
    (project / "pytest.ini").touch()
    assert load_cassette(plan(project, "../shared.yaml")).http is not None


def test_one_that_the_plan_names_and_is_gone(project: Path) -> None:
    with pytest.raises(HttpError) as caught:
        _ = load_cassette(plan(project, "vcr/gone.yaml")).http
    assert caught.value.where == str(project / "fixtures" / "vcr" / "gone.yaml")
    assert "Restore it" in str(caught.value)


def with_http(ledger: Ledger) -> Ledger:
    created, *events = ledger.events
    assert isinstance(created, SessionCreated)
    return Ledger([replace(created, http=True), *events])


def test_a_record_that_knows_of_its_recording_misses_it(tmp_path: Path) -> None:
    write_record(tmp_path / "refund.record.yaml", with_http(support_ledger()))
    write_plan(tmp_path / "refund.session.yaml", Plan(session="sess_1"))
    write_http(tmp_path / "refund.http.yaml", [EXCHANGE])
    for name in ("refund.session.yaml", "refund.record.yaml"):
        found = load_cassette(tmp_path / name).http
        assert found is not None
        assert found.exchanges == (EXCHANGE,)
    (tmp_path / "refund.http.yaml").unlink()
    for name in ("refund.session.yaml", "refund.record.yaml"):
        with pytest.raises(HttpError) as caught:
            _ = load_cassette(tmp_path / name).http
        assert str(caught.value) == (
            f"{tmp_path / 'refund.http.yaml'}: the HTTP recording is missing: the record was made with HTTP exchanges\n"
            "  Restore it from version control. If it was never written: `write_http`."
        )


def test_a_record_that_knows_nothing_of_one_needs_none(tmp_path: Path) -> None:
    write_record(tmp_path / "refund.record.yaml", support_ledger())
    write_plan(tmp_path / "refund.session.yaml", Plan(session="sess_1"))
    assert load_cassette(tmp_path / "refund.session.yaml").http is None


def test_an_accepted_baseline_knows_of_its_exchanges(tmp_path: Path) -> None:
    write_record(tmp_path / "refund.record.yaml", support_ledger())
    write_plan(tmp_path / "refund.session.yaml", Plan(session="sess_1"))
    file = tmp_path / "refund.accepted.yaml"
    file.write_bytes(accepted_bytes(Accepted("sess_1", http=True)))
    assert read_accepted(file) == Accepted("sess_1", http=True)
    with pytest.raises(HttpError) as caught:
        _ = load_cassette(tmp_path / "refund.session.yaml").accepted_http
    assert caught.value.where == str(tmp_path / "refund.accepted.http.yaml")
    assert "refund.accepted.yaml was accepted with HTTP exchanges" in str(caught.value)
    assert "Restore it from version control." in str(caught.value)
    write_http(tmp_path / "refund.accepted.http.yaml", [EXCHANGE])
    found = load_cassette(tmp_path / "refund.session.yaml").accepted_http
    assert found is not None
    assert found.exchanges == (EXCHANGE,)
    file.write_bytes(accepted_bytes(Accepted("sess_1")))
    (tmp_path / "refund.accepted.http.yaml").unlink()
    assert load_cassette(tmp_path / "refund.session.yaml").accepted_http is None


def test_a_merge_forgets_nothing_of_it(tmp_path: Path) -> None:
    turns = {2: AcceptedTurn(2)}
    sides = [accepted_bytes(Accepted("sess_1", turns=turns, http=there)).decode() for there in (False, True)]
    file = tmp_path / "refund.accepted.yaml"
    file.write_text("<<<<<<< ours\n{}=======\n{}>>>>>>> theirs\n".format(*sides), "utf-8")
    assert repaired(file, "sess_1") == Accepted("sess_1", turns=turns, http=True)


def talk(message: str) -> str:
    return message


def test_a_session_without_requests_says_nothing_of_them() -> None:
    http: list[Exchange] = []
    created = record_session(talk, ["hi"], session_id="s", http=http).events[0]
    assert http == []
    assert isinstance(created, SessionCreated)
    assert created.http is False
