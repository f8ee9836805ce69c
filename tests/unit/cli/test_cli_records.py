"""`verify` and `seal`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pytest_statebase.cassette import write_plan, write_record
from pytest_statebase.cli import main
from pytest_statebase.importers.chat import ledger_from_messages
from pytest_statebase.importers.model import Facts
from pytest_statebase.importers.proposal import propose_plan


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def record(tmp_path: Path) -> Path:
    return recorded(tmp_path / "refund.record.yaml")


def recorded(path: Path) -> Path:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    ledger = ledger_from_messages(messages, Facts("refund"), "x")
    write_record(path, ledger)
    write_plan(path.with_name(path.name.replace(".record.", ".session.")), propose_plan(ledger, "Hi"))
    return path


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def unseal(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("seal:")), encoding="utf-8")


def test_verify_what_is_sealed(record: Path, tmp_path: Path) -> None:
    result = run("verify", record)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"sealed    {record}\n1 record: 1 sealed, 0 unsealed, 0 broken\n"
    for path in (tmp_path, tmp_path / "refund.session.yaml"):
        assert run("verify", path).stdout == result.stdout
    assert run("verify", "-q", record, tmp_path).stdout == "1 record: 1 sealed, 0 unsealed, 0 broken\n"


def test_verify_names_what_changed(record: Path) -> None:
    other = recorded(record.with_name("other.record.yaml"))
    replace(record, "Hello", "Goodbye")
    result = run("verify", record.parent)
    assert result.exit_code == 1
    assert "broken" in result.stderr
    assert str(record) in result.stderr
    assert "turn 1" in result.stderr
    assert f"sealed    {other}" in result.stdout
    assert "2 records: 1 sealed, 0 unsealed, 1 broken" in result.stdout


def test_verify_a_record_that_is_none(record: Path) -> None:
    record.write_bytes(b"\xff\xfe")
    result = run("verify", record)
    assert result.exit_code == 1
    assert str(record) in result.stderr
    assert "Traceback" not in result.output


def test_seal_what_is_not_sealed(record: Path) -> None:
    unseal(record)
    result = run("verify", record)
    assert result.exit_code == 1
    assert "unsealed" in result.stderr
    assert result.stdout == "1 record: 0 sealed, 1 unsealed, 0 broken\n"
    assert run("verify", "--allow-unsealed", record).exit_code == 0
    result = run("seal", record)
    assert result.exit_code == 0, result.output
    assert "1 record: 1 sealed, 0 sealed already, 0 refused" in result.stdout
    assert run("verify", record).stdout.endswith("1 record: 1 sealed, 0 unsealed, 0 broken\n")


def test_verify_fails_where_the_seal_was_taken_away(record: Path) -> None:
    text = record.read_text(encoding="utf-8").replace("Hello", "Goodbye")
    head, _, _ = text.partition("documents:")
    record.write_text(head, encoding="utf-8")
    assert run("verify", record).exit_code == 1
    replace(record, "record: 1", "record: 99")
    assert run("verify", "--allow-unsealed", record).exit_code == 1


def test_seal_leaves_what_is_sealed(record: Path) -> None:
    before = record.read_bytes()
    result = run("seal", record)
    assert "sealed already" in result.stdout
    assert record.read_bytes() == before


def test_seal_refuses_what_is_broken(record: Path) -> None:
    replace(record, "Hello", "Goodbye")
    before = record.read_bytes()
    result = run("seal", record)
    assert result.exit_code == 1
    assert "refused" in result.stderr
    assert record.read_bytes() == before
    assert run("seal", "--force", record).exit_code == 0
    assert run("verify", record).exit_code == 0


@pytest.mark.parametrize("command", ["verify", "seal"])
def test_paths_that_mean_no_record(tmp_path: Path, command: str) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("x", encoding="utf-8")
    plan = tmp_path / "lonely.session.yaml"
    plan.write_text("cassette: 1\n", encoding="utf-8")
    for path, said in ((tmp_path, "no record"), (other, "is no record"), (plan, "no record")):
        result = run(command, path)
        assert result.exit_code == 1
        assert said in result.output
        assert "Traceback" not in result.output
    assert run(command, tmp_path / "none").exit_code == 2
