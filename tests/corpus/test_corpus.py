from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from .pair import MEANING, WORDING, states
from .scores import PAIRS, Finding, Score, lines, score, table

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "replay.md").read_text("utf-8")


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    return [score(pair) for pair in PAIRS]


def test_there_are_pairs_of_every_facet() -> None:
    facets = {report.split()[0] for pair in PAIRS for report in pair.report}
    assert facets == {"output", "tools", "state", "memory", "error"}
    assert len({pair.name for pair in PAIRS}) == len(PAIRS) >= 250
    assert sum(not pair.report for pair in PAIRS) >= 50


def test_everything_but_the_meaning_of_text_is_told_and_nothing_else(scores: list[Score]) -> None:
    wrong = [(each.pair.name, found) for each in scores for found in each.wrong if not found.is_text]
    assert wrong == []


def test_a_text_is_only_ever_taken_for_reworded(scores: list[Score]) -> None:
    """No difference of texts is passed over: it passes, but it is shown."""
    for each in scores:
        for missed in (found for found in each.misses if found.is_text):
            assert missed.kind == MEANING
            assert each.false_alarms == [Finding("output", WORDING, "output")]


def test_every_miss_is_explained(scores: list[Score]) -> None:
    missed = {each.pair.because for each in scores if each.misses}
    explained = {line.split("|")[1].strip() for line in PAGE.splitlines() if line.startswith("| ")}
    assert missed <= explained, missed - explained


def test_exact_outputs_miss_nothing() -> None:
    texts = [pair for pair in PAIRS if pair.because]
    told = [score(dataclasses.replace(pair, exact=True)) for pair in texts]
    assert len(texts) >= 14
    assert not any(each.wrong for each in told)


def test_the_figures_of_the_docs(scores: list[Score]) -> None:
    figures = [line for line in lines(scores) if not line.startswith(("missed", "false alarm"))]
    assert "\n".join(figures) in PAGE, "put the figures of `python -m tests.corpus` into docs/replay.md"


def test_a_wrong_label_is_noticed() -> None:
    scored = score(states("a label that is wrong", {"a": 1}, {"a": 2}, "state type state.a"))
    assert scored.misses == [Finding("state", "type", "state.a")]
    assert scored.false_alarms == [Finding("state", "value", "state.a")]
    assert table([scored]) == [("state", "type", 0, 1, 0), ("state", "value", 0, 0, 1)]
    assert "missed: state type state.a (a label that is wrong)" in list(lines([scored]))


def test_the_script_prints_the_misses() -> None:
    run = subprocess.run([sys.executable, "-m", "tests.corpus"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("facet ")
    assert "missed: output meaning output (negation: You cannot bring your dog.)" in run.stdout
