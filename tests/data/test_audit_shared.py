"""The audit of recorded sessions that others made finds what is there and no flood."""

from __future__ import annotations

import os
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from pytest_statebase.audit.export import session_line
from pytest_statebase.audit.lint import Rule, lint
from pytest_statebase.audit.parting import part
from pytest_statebase.audit.signs import Kind, signs_of
from pytest_statebase.cassette import Cassette, load_cassette
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.importers.store import Store
from pytest_statebase.report.measures import MEASURES, Sample, sample_of

DATA = Path(os.environ.get("STATEBASE_DATA", "/nowhere"))
pytestmark = pytest.mark.skipif(not DATA.exists(), reason="STATEBASE_DATA names no directory of recorded sessions")
AIRLINE = "tau2-bench/airline__gpt-4.1.json.gz"
OTHER = "tau2-bench/airline__ft-gpt-4.1-sft.json.gz"
MANY = "tau-bench/gpt-4o-airline.json.gz"


def sessions(name: str) -> list[ImportedSession]:
    return [one for one in import_file(DATA / name) if isinstance(one, ImportedSession)]


@pytest.mark.parametrize("name", [AIRLINE, MANY])
def test_signs_are_few_and_none_is_about_reasoning(name: str) -> None:
    found = [signs_of(one.ledger) for one in sessions(name)]
    assert sum(map(len, found)) < len(found)
    assert max(map(len, found)) < 12
    assert Kind.REASON not in Counter(sign.kind for signs in found for sign in signs)


def test_lint_tells_once_that_there_is_no_reasoning_and_hardly_anything_else(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for one in sessions(MANY):
        store.add(one)
    store.finish()
    counts: Counter[Rule] = Counter()
    plans = list(tmp_path.glob("*.session.yaml"))
    for plan in plans:
        findings = lint(load_cassette(plan), date(2026, 12, 10))
        assert [finding.bare for finding in findings if finding.rule is Rule.REASONING] == [True]
        counts.update(finding.rule for finding in findings)
    assert len(plans) == 200
    assert counts.pop(Rule.REASONING) == 200
    assert counts.total() <= 4
    assert set(counts) <= {Rule.EMAIL}


def test_figures_of_two_agents_on_the_same_tasks() -> None:
    samples = [sample_of(one.ledger, None) for one in sessions(AIRLINE)]
    values = {measure.name: measure.of(samples) for measure in MEASURES}
    assert values["completion"] == 1.0
    assert values["tool-success"] == pytest.approx(1 - 1 / 148)
    assert values["rollback-rate"] == 0
    assert values["response-time"] is None
    assert Sample(None).turns == 0


def test_two_agents_part_in_their_actions() -> None:
    others = {one.name: one for one in sessions(OTHER)}
    pairs = [(one, others[one.name]) for one in sessions(AIRLINE)]
    found = [part(one.ledger, other.ledger) for one, other in pairs]
    assert sum(parting.first is not None for parting in found) == 19
    # The agent speaks first, always in the same words.
    assert all(parting.together >= 1 for parting in found)


def test_every_session_is_exported(tmp_path: Path) -> None:

    lines = [session_line(Cassette.from_ledger(one.ledger, one.plan)) for one in sessions(AIRLINE)]
    (tmp_path / "x.jsonl").write_text("".join(f"{line}\n" for line in lines if line), encoding="utf-8")
    again = [one for one in import_file(tmp_path / "x.jsonl") if isinstance(one, ImportedSession)]
    assert len(again) == len(lines)
    for one, other in zip(sessions(AIRLINE), again, strict=True):
        calls = [(call.tool, call.arguments, call.result) for turn in one.ledger.turns for call in turn.calls]
        assert calls == [(call.tool, call.arguments, call.result) for turn in other.ledger.turns for call in turn.calls]
