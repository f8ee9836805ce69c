"""`--statebase-accept`: who writes, what, and what is refused; the runs that follow."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_statebase.cassette import Accepted, AcceptedTurn, read_accepted
from pytest_statebase.cassette.accepted import accepted_bytes
from tests import toy
from tests.plugin.conftest import INI, PLAN, Project

SIMULATE = INI + "statebase_unrecorded = simulate\nstatebase_simulator = mine:simulate\n"
MINE = """
import decimal
import toy

def simulate(call, state, cassette):
    return {"item": call.arguments["item"], "price": decimal.Decimal("1.10"), "state": state["turns"]}

class Both(toy.WrongArgument):
    '''Another argument in turn 2, other words in turn 3.'''
    def text(self, turn): return "A fig, then." if turn == 3 else super().text(turn)

class Reordered(toy.Toy):
    def items(self, turn): return super().items(turn)[::-1]

class Twice(toy.Toy):
    '''Buys the same again, which the record answers once.'''
    def items(self, turn): return ["pear", "pear", "plum"] if turn == 2 else super().items(turn)

class Strict(Twice):
    '''Goes by the prices it is told.'''
    def calls(self, turn):
        seen = [toy.price(item) for item in self.items(turn)]
        if turn == 2:
            assert [type(one["price"]).__name__ for one in seen] == ["int", "Decimal", "int"], seen

class Raises(toy.Toy):
    def text(self, turn): return 1 / 0 if turn == 2 else super().text(turn)

class Unstorable(toy.OtherText):
    def state(self, turn): return {**super().state(turn), "lock": object()} if turn == 3 else super().state(turn)
"""
FILE = "toy.accepted.yaml"


@pytest.fixture
def project(project: Project) -> Project:
    (project.path / "mine.py").write_text(MINE)
    project.ini(SIMULATE)
    return project


def accept(project: Project, what: str = "all", *args: str, agent: str = "mine:Both") -> pytest.RunResult:
    return project.run(f"--statebase-accept={what}", "--statebase-results=results.jsonl", *args, agent=agent)


def replay(project: Project, *args: str, agent: str = "mine:Both") -> list[str]:
    """The verdicts of a run without simulator."""
    project.ini(INI)
    project.run("--statebase-results=results.jsonl", *args, agent=agent)
    return [turn["verdict"] for turn in project.results()[0]["turns"]]


def accepted(project: Project, name: str = FILE) -> Accepted:
    return read_accepted(project.fixtures / name)


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["plain", "xdist"])
def test_accepting_and_then_green_without_the_simulator(project: Project, workers: tuple[str, ...]) -> None:
    project.cassette()
    before = project.hashes()
    result = accept(project, "all", *workers)
    result.stdout.fnmatch_lines(["accepted *fixtures/toy.accepted.yaml: turn 2 (changed), turn 3 (off-script)"])
    assert "accept" not in project.results()[0]
    after = project.hashes()
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {FILE}
    found = accepted(project)
    assert (found.session, sorted(found.turns)) == ("sess_toy", [2, 3])
    assert found.of is not None
    assert found.of.encode() in before["toy.record.yaml"]
    assert [(call.arguments["item"], call.source) for call in found.turns[2].calls] == [
        ("pear", None),
        ("peach", "simulated"),
    ]
    assert str(found.turns[2].calls[1].result["price"]) == "1.10"
    assert replay(project, *workers) == ["unchanged", "accepted", "accepted"]
    (row,) = project.results()
    assert row["outcome"] == "passed"
    assert (row["calls"]["accepted"], row["calls"]["simulated"]) == (1, 0)
    assert project.hashes() == after


@pytest.mark.parametrize(
    ("what", "turns"),
    [
        (["all"], [2, 3]),
        (["sess_toy"], [2, 3]),
        (["sess_toy:2"], [2]),
        (["3"], [3]),
        (["turn 3"], [3]),
        (["sess_toy:2", "3"], [2, 3]),
        (["sess_other"], []),
        (["sess_other:2"], []),
        (["tools.price#2.arguments.item"], [2]),
        (["tools.price"], [2]),
        (["tools.*"], [2]),
        (["*.item"], [2]),
        (["tools.pri"], []),
        (["output"], []),
    ],
)
def test_what_can_be_selected(project: Project, what: list[str], turns: list[int]) -> None:
    project.cassette()
    project.run(*(f"--statebase-accept={one}" for one in what), agent="mine:Both")
    assert (sorted(accepted(project).turns) if turns else []) == turns
    assert (project.fixtures / FILE).exists() is bool(turns)


def test_a_fingerprint_selects_the_turns_that_show_it(project: Project) -> None:
    project.cassette()
    project.cassette("b", session="sess_b")
    accept(project, "nothing-of-the-kind").stdout.fnmatch_lines(
        ["--statebase-accept=nothing-of-the-kind names no turn that was replayed"]
    )
    wanted = project.results()[0]["turns"][1]["divergences"][0]["fingerprint"]
    accept(project, wanted)
    assert [sorted(accepted(project, name).turns) for name in (FILE, "b.accepted.yaml")] == [[2], [2]]


def test_the_option_alone_means_all_and_takes_no_path(project: Project) -> None:
    path = project.cassette()
    project.run("--statebase-accept", agent="mine:Both")
    assert sorted(accepted(project).turns) == [2, 3]
    result = project.run("--statebase-accept", str(path.relative_to(project.path)), agent="mine:Both")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*took 'fixtures/toy.session.yaml' for what to accept*", "*--statebase-accept=all*"])


@pytest.mark.parametrize(
    ("agent", "plan", "turn", "why"),
    [
        ("toy:WrongArgument", "", 2, "unrecorded: a call had no answer"),
        ("mine:Raises", "", 2, "error: the agent raised"),
        ("mine:Both", "failing: [2]\nexpect: {2: {output: {contains: quince}}}\n", 2, "still-failing: it is marked"),
        ("toy:Toy", "expect: {3: {output: {contains: quince}}}\n", 3, "broken: its `expect` does not hold"),
        ("mine:Unstorable", "", 3, "cannot be stored: "),
    ],
)
def test_what_cannot_be_accepted_is_refused_with_the_reason(
    project: Project, agent: str, plan: str, turn: int, why: str
) -> None:
    project.cassette(plan=PLAN + plan)
    if "unrecorded" in why:
        project.ini(INI)
    before = project.hashes()
    result = accept(project, agent=agent)
    result.stdout.fnmatch_lines([f"refused *fixtures/toy.session.yaml: turn {turn}: {why}*"])
    assert result.ret == 1
    assert project.hashes() == before


def test_turns_after_a_stop_are_refused_and_those_before_it_accepted(project: Project) -> None:
    project.ini(INI)
    project.cassette()
    (project.path / "late.py").write_text(
        "import toy\nclass Late(toy.WrongArgument):\n"
        "    def text(self, turn): return 'Hello.' if turn == 1 else super().text(turn)\n"
    )
    result = accept(project, agent="late:Late")
    result.stdout.fnmatch_lines(
        ["accepted *: turn 1 (reworded)", "refused *turn 2: unrecorded*", "refused *turn 3: not-*"]
    )


def test_one_turn_leaves_the_others_as_they_were(project: Project) -> None:
    project.cassette()
    accept(project)
    first = accepted(project)
    result = accept(project, "3", agent="toy:WrongArgument")
    result.stdout.fnmatch_lines(["removed *turn 3, as recorded again"])
    assert accepted(project).turns == {2: first.turns[2]}
    accept(project, "2", agent="toy:Toy").stdout.fnmatch_lines(["removed *turn 2, as recorded again"])
    assert not (project.fixtures / FILE).exists()


def test_accepting_the_same_again_writes_nothing(project: Project) -> None:
    project.cassette()
    accept(project)
    before = project.hashes()
    accept(project).stdout.fnmatch_lines(["unchanged *turns 2 to 3"])
    project.ini(INI)
    accept(project).stdout.fnmatch_lines(["unchanged *turns 2 to 3"])
    assert project.hashes() == before


def test_answers_come_back_in_the_order_in_which_they_were_given(project: Project) -> None:
    project.cassette()
    accept(project, agent="mine:Twice")
    calls = accepted(project).turns[2].calls
    assert [(call.arguments["item"], call.source) for call in calls] == [
        ("pear", None),
        ("pear", "simulated"),
        ("plum", None),
    ]
    assert replay(project, agent="mine:Strict")[1] == "accepted"


def test_what_the_real_tool_answered_is_kept(project: Project) -> None:
    project.ini(INI + "statebase_unrecorded = call\n")
    project.cassette(plan=PLAN + "tools: {price: {live: true}}\n")
    accept(project, "2", agent="toy:WrongArgument").stdout.fnmatch_lines(["accepted *turn 2 (changed)"])
    (peach,) = (call for call in accepted(project).turns[2].calls if call.source)
    assert (peach.source, peach.result) == ("live", {"item": "peach", "price": 5, "currency": "EUR"})
    assert replay(project, agent="toy:WrongArgument")[1] == "accepted"
    assert project.results()[0]["calls"]["accepted"] == 1


def test_what_people_wrote_stays_theirs_to_change(project: Project) -> None:
    answer = "answers: [{tool: price, arguments: {item: peach}, result: {price: %d}}]\n"
    path = project.cassette(plan=PLAN + answer % 5)
    project.ini(INI)
    accept(project, agent="toy:WrongArgument").stdout.fnmatch_lines(["accepted *turn 2 (changed)"])
    path.write_text(PLAN + answer % 7)
    assert replay(project, agent="toy:WrongArgument")[1] == "accepted"
    (row,) = project.results()
    assert (row["calls"]["authored"], row["warnings"]) == (1, [])
    path.write_text(PLAN)
    assert replay(project, agent="toy:WrongArgument")[1] == "accepted"
    assert project.results()[0]["calls"]["accepted"] == 1


FRESH = """
import uuid, toy
from datetime import UTC, datetime

class Fresh(toy.Toy):
    def calls(self, turn):
        ids = {"request_id": str(uuid.uuid4()), "at": datetime.now(UTC).isoformat()}
        for item in self.items(turn):
            toy.price(item, **ids)
        if turn == 2:
            toy.price("peach", **ids)
            self.last = ids["request_id"]

    def text(self, turn):
        return f"Noted as {self.last}." if turn == 2 else super().text(turn)
"""


def test_ids_and_times_that_the_agent_makes_up_anew(project: Project) -> None:
    (project.path / "fresh.py").write_text(FRESH)
    project.cassette(agent=toy.FreshIds)
    accept(project, "2", agent="fresh:Fresh").stdout.fnmatch_lines(["accepted *turn 2 (changed)"])
    assert replay(project, agent="fresh:Fresh")[1] == "accepted", project.results()[0]["turns"][1]


def test_nothing_to_accept_is_said(project: Project) -> None:
    project.cassette(plan=PLAN + "replay: {until: turn 2}\n")
    accept(project, agent="toy:Toy").stdout.fnmatch_lines(["nothing *to accept: the turns are as recorded"])
    accept(project, "3").stdout.fnmatch_lines(["--statebase-accept=3 names no turn that was replayed"])
    assert not (project.fixtures / FILE).exists()


def test_back_to_the_record_is_reverted(project: Project) -> None:
    project.cassette()
    accept(project, "2")
    assert replay(project, "-v", agent="toy:Toy") == ["unchanged", "changed", "unchanged"]
    (found,) = project.results()[0]["turns"][1]["divergences"]
    assert (found["kind"], found["path"]) == ("reverted", "tools.price#2.arguments.item")
    assert (found["recorded"], found["replayed"], found["baseline"]) == ("peach", "plum", True)


def test_three_columns_in_terminal_rows_and_report(project: Project) -> None:
    project.cassette()
    accept(project)
    project.ini(SIMULATE)
    columns = [
        "*calls",
        '*recorded  price(item="pear"), price(item="plum")',
        '*accepted  price(item="pear"), price(item="peach")',
    ]
    passing = project.run("-v", agent="mine:Both")
    passing.stdout.fnmatch_lines(["ok *::version-0  turn 2 accepted", *columns])
    result = project.run("-v", "--statebase-results=results.jsonl", agent="toy:Swapped")
    result.stdout.fnmatch_lines([*columns, '*replayed  price(item="plum"), price(item="pear")'])
    turn = project.results()[0]["turns"][1]
    assert [turn[side]["output"] for side in ("recorded", "accepted", "replayed")] == ["That is turn 2."] * 3
    assert [call["accepted"] and call["accepted"].get("arguments") for call in turn["calls"]]
    page = project.page()
    assert '<th scope="col">production</th><th scope="col">accepted</th><th scope="col">now</th>' in page


def test_an_unproven_turn_is_proven_by_accepting_it(project: Project) -> None:
    project.cassette(plan=PLAN + "failing: [2]\n")
    result = accept(project)
    result.stdout.fnmatch_lines(
        ["*turn 2 unproven*", "*--statebase-accept=sess_toy:2 accepts turn 2*", "accepted *turn 2*"]
    )
    assert replay(project) == ["unchanged", "fixed", "not-replayed"]
    assert project.results()[0]["outcome"] == "passed"
    assert replay(project, agent="toy:Toy") == ["unchanged", "still-failing", "not-replayed"]


CONFLICT = re.compile(rb"(?s)^(---\nkind: turn\n.*)", re.MULTILINE)


@pytest.mark.parametrize("simulator", [True, False])
def test_accepting_repairs_what_a_merge_left_behind(project: Project, simulator: bool) -> None:
    project.cassette()
    accept(project)
    file = project.fixtures / FILE
    good = file.read_bytes()
    match = CONFLICT.search(good)
    assert match is not None
    file.write_bytes(CONFLICT.sub(rb"<<<<<<< HEAD\n\1=======\n\1>>>>>>> theirs\n", good.replace(match[1], match[1])))
    broken = project.hashes()
    result = project.run("--statebase-results=results.jsonl", agent="mine:Both")
    result.stdout.fnmatch_lines(["*toy.accepted.yaml*conflict markers*", "*--statebase-accept=sess_toy*"])
    assert (project.results()[0]["outcome"], project.hashes()) == ("error", broken)
    accept(project, "sess_other").stdout.fnmatch_lines(["*conflict markers*"])
    assert project.hashes() == broken
    project.ini(SIMULATE if simulator else INI)
    accept(project).stdout.fnmatch_lines(["repaired *fixtures/toy.accepted.yaml"])
    assert accepted(project).turns.keys() == {2, 3}
    assert replay(project) == ["unchanged", "accepted", "accepted"]


def test_a_broken_seal_and_a_newer_format(project: Project) -> None:
    project.cassette()
    accept(project)
    file = project.fixtures / FILE
    file.write_bytes(file.read_bytes().replace(b"A fig, then.", b"A date, then."))
    project.run(agent="mine:Both").stdout.fnmatch_lines(["*toy.accepted.yaml:*the seal is broken*"])
    accept(project).stdout.fnmatch_lines(["repaired *"])
    newer = file.read_bytes().replace(b"accepted: 1", b"accepted: 2")
    file.write_bytes(newer)
    accept(project).stdout.fnmatch_lines(["*format 2*"])
    assert file.read_bytes() == newer


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["plain", "xdist"])
def test_several_replays_of_a_cassette_are_merged(project: Project, workers: tuple[str, ...]) -> None:
    project.cassette(plan=PLAN + "replay: [{until: turn 2}, {fork: turn 3}]\n")
    accept(project, "all", *workers)
    assert sorted(accepted(project).turns) == [2, 3]


def test_of_two_replays_that_differ_the_first_counts_and_the_other_is_told(project: Project) -> None:
    project.cassette()
    result = accept(project, "2", "--statebase-agent=toy:MissingCall")
    result.stdout.fnmatch_lines(["refused *turn 2: two replays of it differ, and the first one was taken*"])
    assert len(accepted(project).turns[2].calls) == 2


def test_accepting_through_the_fixture(project: Project) -> None:
    project.cassette()
    (project.path / "test_mine.py").write_text(
        "import pytest\n@pytest.mark.statebase('sess_toy')\n"
        "def test_it(statebase_replay):\n    assert statebase_replay(agent='mine:Both').turns\n"
    )
    project.pytester.runpytest_inprocess("--statebase-accept", "-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert sorted(accepted(project).turns) == [2, 3]


def test_what_cannot_be_written_fails_the_run(project: Project) -> None:
    project.cassette()
    (project.fixtures / FILE / "in-the-way").mkdir(parents=True)
    result = accept(project, agent="toy:OtherText")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["nothing was accepted in fixtures/toy.accepted.yaml: *cannot be written*"])


# --- what no longer matters ---------------------------------------------------------------------------------------


def warnings(result: pytest.RunResult) -> list[str]:
    return [line.removeprefix("warning").strip() for line in result.outlines if line.startswith("warning ")]


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["plain", "xdist"])
def test_baselines_that_no_longer_matter_are_told_once_a_run(project: Project, workers: tuple[str, ...]) -> None:
    plan = PLAN + "replay: [{until: turn 2}, {fork: turn 2, until: turn 2}]\n"
    project.cassette(plan=plan)
    turns = {number: AcceptedTurn(number, output={"type": "text", "content": "x"}) for number in (3, 9)}
    file = project.fixtures / FILE
    file.write_bytes(accepted_bytes(Accepted("sess_toy", "sha256:" + "0" * 64, None, turns)))
    result = project.run(*workers, "--statebase-results=results.jsonl", agent="toy:Toy")
    result.assert_outcomes(passed=2)
    assert warnings(result) == [
        "fixtures/toy.session.yaml: turn 9 is accepted, and the session has no such turn",
        "fixtures/toy.session.yaml: the baseline was accepted for a record with another seal",
        "fixtures/toy.session.yaml: turn 3 is accepted, and no replay reaches it",
    ]
    head = json.loads((project.path / "results.jsonl").read_text().splitlines()[0])
    assert head["run"]["warnings"] == warnings(result)
    narrow = project.run("-k", "turn-2", *workers, agent="toy:Toy")
    assert not any("no replay reaches" in line for line in warnings(narrow))


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["plain", "xdist"])
def test_rules_that_hid_nothing_in_the_whole_run(project: Project, workers: tuple[str, ...]) -> None:
    (project.fixtures / "statebase.yaml").write_text("ignore: [state.cart, '**.never', state.turns]\n")
    project.cassette("a", plan=PLAN + "ignore: [output.nowhere]\n", session="sess_a")
    project.cassette("b", session="sess_b")
    project.ini(INI)
    result = project.run(*workers, agent="toy:Toy")
    result.assert_outcomes(passed=2)
    assert warnings(result) == [
        "fixtures/a.session.yaml: the ignore rule `output.nowhere` hid nothing",
        "statebase.yaml: the ignore rule `**.never` hid nothing",
    ]
    assert warnings(project.run("-k", "b.session", *workers, agent="toy:Toy")) == []
    assert warnings(project.run("fixtures/b.session.yaml", *workers, agent="toy:Toy")) == []


def test_a_baseline_whose_plan_is_gone(project: Project) -> None:
    project.cassette()
    (project.fixtures / "gone.accepted.yaml").write_bytes(accepted_bytes(Accepted("sess_gone")))
    (project.fixtures / "lost.accepted.http.yaml").write_text("interactions: []\nversion: 1\n")
    result = project.run()
    assert warnings(result) == [
        "fixtures/gone.accepted.yaml: there is no gone.session.yaml, so nothing reads it",
        "fixtures/lost.accepted.http.yaml: there is no lost.session.yaml, so nothing reads it",
    ]


def test_rows_keep_their_size(project: Project) -> None:
    project.cassette()
    project.run("--statebase-results=results.jsonl")
    row: dict[str, Any] = project.results()[0]
    assert "upkeep" not in row
    assert len(json.dumps(row)) < 2900


def test_a_baseline_for_a_turn_that_is_gone_goes_with_the_next_accepting(project: Project) -> None:
    project.cassette()
    accept(project)
    path = project.fixtures / FILE
    held = accepted(project)
    turns = {**held.turns, 9: replace(held.turns[2], number=9)}
    path.write_bytes(accepted_bytes(replace(held, turns=turns)))
    result = accept(project, "sess_toy")
    result.stdout.fnmatch_lines(["removed *turn 9, which the session does not have"])
    assert sorted(accepted(project).turns) == [2, 3]


def test_turns_that_stay_off_script_are_named(project: Project) -> None:
    project.cassette()
    result = accept(project, "2", agent="mine:Both")
    result.stdout.fnmatch_lines(["left *turn 3: off-script, judged by nothing until --statebase-accept=sess_toy"])


def test_what_is_known_is_not_accepted_with_the_rest(project: Project) -> None:
    project.cassette()
    project.run("--statebase-results=results.jsonl", agent="toy:OtherState")
    (found,) = [d["fingerprint"] for turn in project.results()[0]["turns"] for d in turn["divergences"]]
    project.cassette(
        "other",
        session="sess_other",
        plan=PLAN + f'known: [{{fingerprint: "{found}", until: "2099-01-01", ticket: A-1}}]\n',
    )
    path = project.fixtures / "other.accepted.yaml"
    result = project.run("-k", "other", "--statebase-accept", agent="toy:OtherState")
    result.stdout.fnmatch_lines(["refused *turn 3: known: *"])
    assert not path.exists()
    project.run("-k", "other", "--statebase-accept=sess_other:3", agent="toy:OtherState")
    assert path.exists()
