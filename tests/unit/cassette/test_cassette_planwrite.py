from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_cassette_planread import FULL

from pytest_statebase.cassette import (
    Answer,
    CallExpect,
    Expect,
    OutputExpect,
    Plan,
    ReplaySpec,
    ToolRules,
    ToolsExpect,
    read_plan,
    write_plan,
)
from pytest_statebase.cassette.plan import Positions
from pytest_statebase.cassette.planread import PLAN, plan_of
from pytest_statebase.cassette.planwrite import plan_text
from pytest_statebase.cassette.reading import Reading
from pytest_statebase.cassette.yamlread import parse
from pytest_statebase.errors import PlanError
from pytest_statebase.ledger import ForkPoint

TEXT = st.text(min_size=1, max_size=8)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
CALLS = st.lists(TEXT | st.builds(CallExpect, TEXT, st.dictionaries(TEXT, TEXT, min_size=1)), max_size=3).map(tuple)
TURNS = st.integers(1, 9)
PLANS = st.builds(
    Plan,
    session=st.none() | TEXT, record=st.none() | TEXT, agent=st.none() | TEXT, title=st.none() | TEXT,
    replays=st.lists(
        st.builds(
            ReplaySpec, st.sampled_from([ForkPoint(), ForkPoint("turn", 2), ForkPoint("last-good")]),
            st.none() | st.just("end") | TURNS, st.sampled_from([None, "isolated", "continuous"]),
        ), min_size=1, max_size=2,
    ).map(tuple),
    failing=st.frozensets(TURNS, max_size=2),
    expect=st.dictionaries(
        TURNS,
        st.builds(
            Expect, st.none() | st.builds(OutputExpect, st.tuples(TEXT), TEXTS, equals=st.just(None) | TEXT),
            st.none() | st.builds(ToolsExpect, CALLS, st.tuples(TEXT)),
            st.dictionaries(TEXT, TEXT, min_size=1, max_size=2),
        ), max_size=2,
    ),
    answers=st.lists(
        st.builds(Answer, TEXT, st.dictionaries(TEXT, TEXT, max_size=2), st.none() | TEXT)
        | st.builds(Answer, TEXT, error=st.dictionaries(TEXT, TEXT, max_size=2)), max_size=2,
    ).map(tuple),
    inputs=st.dictionaries(TURNS, TEXT, max_size=2), ignore=TEXTS,
    compare=st.sampled_from([{}, {"output": "exact"}]), owner=st.none() | TEXT, gate=st.sampled_from(["block", "warn"]),
    tools=st.dictionaries(TEXT, st.builds(ToolRules, st.booleans(), TEXTS), max_size=2), where=st.builds(Positions),
)  # fmt: skip


def reread(text: str) -> Plan:
    (document,) = parse(text.encode(), where="f", marks=True)
    found = plan_of(Reading("f", document).fields(document.value, (), PLAN), {})
    answers = tuple(Answer(answer.tool, answer.arguments, answer.result, answer.error) for answer in found.answers)
    return Plan(**{**{name: getattr(found, name) for name in Plan.__slots__}, "answers": answers})


@given(PLANS)
def test_a_plan_reads_back_equal(plan: Plan) -> None:
    assert reread(plan_text(plan)) == plan


def test_a_full_plan_reads_back_equal(tmp_path: Path) -> None:
    first, second = tmp_path / "a.session.yaml", tmp_path / "b.session.yaml"
    first.write_text(FULL, "utf-8")
    plan = read_plan(first)
    write_plan(second, plan)
    assert reread(second.read_text("utf-8")) == reread(plan_text(plan))
    assert "replay: {fork: turn 2, until: turn 4, mode: isolated}\nfailing: [2]\n" in second.read_text("utf-8")


def test_an_empty_plan() -> None:
    assert plan_text(Plan()) == "cassette: 1\n"


def test_a_plan_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.session.yaml"
    write_plan(path, Plan())
    with pytest.raises(PlanError, match="there is a plan already"):
        write_plan(path, Plan(title="x"))
    write_plan(path, Plan(title="x"), overwrite=True)
    assert read_plan(path).title == "x"


def test_notes_cannot_break_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "x.session.yaml"
    write_plan(path, Plan(session="s"), notes=["red \x1b[31m", "two\nfailing: [1]", "\u2028\ud800\u0085"])
    assert read_plan(path).session == "s"
    assert not read_plan(path).failing
    assert path.read_text(encoding="utf-8").startswith("# red \\x1b[31m\n# two\\nfailing: [1]\n# \\u2028\\ud800\\x85\n")
