"""Sessions that others recorded: each figure that is known of them must come out of the import.

They are not part of the project: STATEBASE_DATA names the folder that holds `tau-bench` and `tau2-bench`.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from pytest_statebase.cassette import read_record, verify
from pytest_statebase.cli import main
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.ledger import Ledger, Said
from pytest_statebase.privacy import redacted_session
from pytest_statebase.values import ABSENT

DATA = os.environ.get("STATEBASE_DATA")
pytestmark = pytest.mark.skipif(DATA is None, reason="STATEBASE_DATA names no folder of recorded sessions")

SESSIONS = {
    "tau-bench/gpt-4o-airline": 200,
    "tau2-bench/airline__gpt-4.1": 20,
    "tau2-bench/airline__ft-gpt-4.1-sft": 20,
    "tau2-bench/retail__gpt-4.1": 40,
    "tau2-bench/retail__ft-gpt-4.1-sft": 40,
    "tau2-bench/telecom-solo__gpt-4.1": 40,
    "tau2-bench/telecom-solo__ft-gpt-4.1-sft": 40,
}


def source(name: str) -> Path:
    return Path(DATA or "") / f"{name}.json.gz"


@pytest.fixture(scope="module")
def ledgers() -> dict[str, list[Ledger]]:
    return {name: [imported(session) for session in import_file(source(name))] for name in SESSIONS}


def imported(session: object) -> Ledger:
    assert isinstance(session, ImportedSession), str(session)
    return session.ledger


def count(ledgers: list[Ledger]) -> Counter[str]:
    turns = [turn for ledger in ledgers for turn in ledger.turns]
    calls = [call for turn in turns for call in turn.calls]
    return Counter(
        sessions=len(ledgers),
        turns=len(turns),
        calls=len(calls),
        unanswered=sum(ledger.ended is not None and ledger.ended.input is not None for ledger in ledgers),
        greetings=sum(turn.is_opening and not turn.calls for turn in turns),
        solo=sum(turn.is_opening and bool(turn.calls) for turn in turns),
        text_and_calls=sum(
            bool(turn.calls) and any(isinstance(event, Said) for event in turn.events) for turn in turns
        ),
        no_output=sum(turn.output is ABSENT for turn in turns),
        interrupted=sum(turn.added is not None and turn.added.interrupted for turn in turns),
        errors=sum(call.is_error for call in calls),
        empty=sum(call.result == "" for call in calls),
        pending=sum(call.result is ABSENT for call in calls),
    )


def test_every_session_is_read(ledgers: dict[str, list[Ledger]]) -> None:
    assert {name: len(found) for name, found in ledgers.items()} == SESSIONS


def test_figures_of_all(ledgers: dict[str, list[Ledger]]) -> None:
    found = count([ledger for some in ledgers.values() for ledger in some])
    assert found == {
        "sessions": 400,
        "turns": 2297,
        "calls": 3265,
        "unanswered": 269,
        "greetings": 120,
        "solo": 80,
        "text_and_calls": 83,
        "no_output": 51,
        "interrupted": 0,
        "errors": 112,
        "empty": 92,
        "pending": 0,
    }


def test_figures_of_tau_bench(ledgers: dict[str, list[Ledger]]) -> None:
    found = count(ledgers["tau-bench/gpt-4o-airline"])
    assert (found["turns"] + found["unanswered"], found["calls"]) == (1490, 1164)
    assert (found["text_and_calls"], found["no_output"], found["errors"]) == (83, 51, 73)


def test_results_are_paired_with_the_calls_that_got_them(ledgers: dict[str, list[Ledger]]) -> None:
    repeating = 0
    for ledger in ledgers["tau-bench/gpt-4o-airline"]:
        calls = [call for turn in ledger.turns for call in turn.calls]
        asked = {(call.id, call.tool, repr(call.arguments)) for call in calls}
        repeating += len({call.id for call in calls}) < len(asked)
        # The result of `calculate` can be told from its arguments: no other call may have got it.
        for call in calls:
            if call.tool == "calculate" and not call.is_error:
                value = eval(call.arguments["expression"], {"__builtins__": {}})
                assert float(call.result) == pytest.approx(value, abs=0.01)
    assert repeating == 49


def test_as_files(tmp_path: Path) -> None:
    files = [str(source(name)) for name in SESSIONS]
    first = CliRunner().invoke(main, ["import", *files, "--out", str(tmp_path)])
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith("400 sessions, 2,297 turns, 3,265 calls; files: 801 written, 0 unchanged, 0 refused")
    records = sorted(tmp_path.glob("*.record.yaml"))
    assert len({path.name.casefold() for path in records}) == 400
    assert all(verify(path).state == "sealed" for path in records)
    sizes = [path.stat().st_size for path in records]
    assert statistics.median(sizes) < 15_000
    assert max(sizes) < 50_000
    again = CliRunner().invoke(main, ["import", *files, "--out", str(tmp_path)])
    assert "files: 0 written, 801 unchanged, 0 refused" in again.stdout


def test_records_read_back_equal(tmp_path: Path, ledgers: dict[str, list[Ledger]]) -> None:
    for name in SESSIONS:
        out = tmp_path / name
        assert CliRunner().invoke(main, ["import", str(source(name)), "--out", str(out)]).exit_code == 0
        stored = {ledger.id: ledger.events for ledger in map(read_record, out.glob("*.record.yaml"))}
        assert stored == {ledger.id: redacted_session(ledger, ()).ledger.events for ledger in ledgers[name]}
