"""Who writes what: results, report, JUnit, terminal; plain, with xdist, after crashes and interruptions."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from pytest_statebase.report.page.view import anchors_of
from tests import toy
from tests.plugin.conftest import PLAN, QUICK, Project
from tests.plugin.strange import SHOWN, strange_sessions

FAILING = PLAN + "failing: [3]\nexpect: {3: {output: {contains: quince}}}\n"


def rows_without_times(project: Project, name: str) -> list[object]:
    text = (project.path / name).read_text(encoding="ascii")
    return [json.loads(re.sub(r'"duration_ms":[0-9.e+-]+', '"duration_ms":0', line)) for line in text.splitlines()[1:]]


def test_results_are_json_lines(project: Project) -> None:
    project.cassette()
    project.run("--statebase-results=results.jsonl")
    lines = (project.path / "results.jsonl").read_text(encoding="ascii").splitlines()
    head = json.loads(lines[0])
    assert head["format"] == 1
    assert head["run"]["agent"] == "toy:Toy"
    (row,) = project.results()
    wanted = {
        "cassette": "fixtures/toy.session.yaml",
        "session": "sess_toy",
        "fork": "version 0",
        "until": 3,
        "mode": "continuous",
        "outcome": "passed",
        "verdicts": {"unchanged": 3},
        "nodeid": "fixtures/toy.session.yaml::version-0",
    }
    assert {key: row[key] for key in wanted} == wanted
    assert row["calls"] == {**dict.fromkeys(row["calls"], 0), "answered": 4}
    assert [(turn["turn"], turn["verdict"]) for turn in row["turns"]] == [
        (1, "unchanged"),
        (2, "unchanged"),
        (3, "unchanged"),
    ]


def test_rows_tell_whether_the_agent_was_named_on_the_command_line(project: Project) -> None:
    project.cassette()
    project.run("--statebase-results=given.jsonl")
    project.pytester.makeconftest("import pytest, toy\n@pytest.fixture\ndef statebase_agent(): return toy.Toy\n")
    project.run("--statebase-results=fixture.jsonl", agent=None)
    rows = [project.results(f"{name}.jsonl")[0] for name in ("given", "fixture")]
    assert [(row["agent"], row.get("agent_given")) for row in rows] == [("toy:Toy", True), ("toy:Toy", None)]


def test_a_failing_replay_names_turn_facet_path_and_both_values(project: Project) -> None:
    project.cassette()
    result = project.run(agent="toy:WrongArgument")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "turn 2 unrecorded*",
            "*tools.price#2.arguments.item*another argument*",
            "*recorded*plum*",
            "*replayed*peach*",
            "*price(item='peach') has no answer*",
            "*nearest recording: turn 2, call 2, price(item='plum')*",
            "*answers:*",
            "*turn 3 not-replayed*",
            "*--statebase-mode=isolated*",
            "fail *fixtures/toy.session.yaml::version-0*tools.price#2.arguments.item*plum*peach*",
            "FAILED fixtures/toy.session.yaml::version-0 - turn 2 unrecorded*",
        ]
    )


@pytest.mark.parametrize("flag", ["-q", "-v", "-vv"])
def test_verbosity(project: Project, flag: str) -> None:
    project.cassette()
    project.cassette("other", session="sess_other")
    result = project.run(flag, agent="toy:OtherState")
    assert result.ret == 1
    text = result.stdout.str()
    assert "state.cart[1]" in text
    assert ("statebase replay" in text) is (flag != "-q")


def test_verdict_groups_in_the_summary(project: Project) -> None:
    project.cassette()
    project.run(agent="toy:Toy").stdout.fnmatch_lines(["ok *1 session*3 unchanged*", "calls *4 answered*"])
    project.run(agent="toy:OtherText").stdout.fnmatch_lines(["review *1 session*1 reworded*"])
    project.run(agent="toy:MissingCall").stdout.fnmatch_lines(["fail *1 session*1 changed*"])


def test_the_failing_turn_is_fixed_still_failing_or_unproven(project: Project) -> None:
    project.cassette(plan=FAILING)
    (project.path / "mine.py").write_text(
        "from toy import Toy\n"
        "class Fixed(Toy):\n    def text(self, turn): return 'A quince.' if turn == 3 else super().text(turn)\n"
        "class Other(Toy):\n    def text(self, turn): return 'A medlar.' if turn == 3 else super().text(turn)\n"
    )
    for agent, verdict, ret in (
        ("mine:Fixed", "fixed", 0),
        ("toy:Toy", "still-failing", 1),
        ("mine:Other", "still-failing", 1),
    ):
        result = project.run("--statebase-results=results.jsonl", agent=agent)
        (row,) = project.results()
        assert (row["verdicts"], result.ret) == ({"unchanged": 2, verdict: 1}, ret)
    project.cassette("bare", plan=PLAN + "failing: [2]\n", session="sess_bare")
    result = project.run("-k", "bare", agent="toy:MissingCall")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*turn 2 unproven*", "*expect:*"])


def test_gate_warn_reports_without_failing(project: Project) -> None:
    project.cassette(plan=PLAN + "gate: warn\nowner: fruit-team\n")
    result = project.run("--statebase-results=results.jsonl", agent="toy:MissingCall")
    assert result.ret == 0
    (row,) = project.results()
    assert (row["outcome"], row["gate"], row["owner"]) == ("failed", "warn", "fruit-team")
    result.stdout.fnmatch_lines(["*(gate: warn)*"])


def test_junit_has_one_line_in_the_message(project: Project) -> None:
    project.cassette()
    for extra in ((), ("-n2",)):
        project.run("--junitxml=junit.xml", *extra, agent="toy:MissingCall")
        failure = ElementTree.parse(project.path / "junit.xml").find(".//failure")
        assert failure is not None
        assert "\n" not in failure.attrib["message"]
        assert "turn 2 changed" in failure.attrib["message"]
        assert "tools.price#2" in failure.attrib["message"]


def properties(project: Project) -> list[dict[str, str]]:
    cases = ElementTree.parse(project.path / "junit.xml").iter("testcase")
    return [{one.attrib["name"]: one.attrib["value"] for one in case.iter("property")} for case in cases]


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_junit_has_verdict_and_link(project: Project, workers: str) -> None:
    project.cassette(plan=PLAN + "owner: fruit-team\n")
    project.run("--junitxml=junit.xml", workers, agent="toy:MissingCall")
    [told] = properties(project)
    link = told.pop("statebase_link")
    assert told == {
        "statebase_verdict": "1 changed, 1 off-script, 1 unchanged",
        "statebase_session": "sess_toy",
        "statebase_owner": "fruit-team",
    }
    page, _, anchor = link.partition("#")
    assert page == "statebase-report.html"
    assert f'id="{anchor}"' in (project.path / page).read_text(encoding="utf-8")
    project.run("--junitxml=junit.xml", "--statebase-report-url=https://ci.example/r.html", agent="toy:MissingCall")
    assert properties(project)[0]["statebase_link"] == f"https://ci.example/r.html#{anchor}"


def test_junit_leads_to_each_replay_of_a_cassette_that_several_items_make(project: Project) -> None:
    """The plan's own items, tests with the marker, and a test that replays twice."""
    plan = project.cassette(plan=PLAN + "replay: [{fork: version 0}, {fork: turn 2}]\n")
    tests = project.pytester.makepyfile(
        """
        import pytest
        @pytest.mark.statebase("sess_toy")
        def test_one(statebase_replay): statebase_replay()
        @pytest.mark.statebase("sess_toy")
        def test_two(statebase_replay): statebase_replay(until=2), statebase_replay(until=1)
        """
    )
    written = ("--statebase-results=results.jsonl", "--statebase-report=page.html", "--junitxml=junit.xml")
    args = (*QUICK, "--statebase-agent=toy:Toy", *written)
    project.pytester.runpytest_inprocess(*args, str(plan), str(tests)).assert_outcomes(passed=4)
    anchors = anchors_of(project.results())
    cases = ElementTree.parse(project.path / "junit.xml").iter("testcase")
    links = [one.attrib["value"] for case in cases for one in case.iter("property") if "link" in one.attrib["name"]]
    assert links == [f"page.html#{anchor}" for anchor in anchors]
    assert len(set(links)) == 5


def test_both_sides_of_an_a_b_run_have_their_own_link(project: Project) -> None:
    project.cassette()
    project.run("--statebase-agent=toy:OtherText", "--junitxml=junit.xml", "--statebase-results=results.jsonl")
    rows = project.results()
    links = [told["statebase_link"].partition("#")[2] for told in properties(project)]
    assert links == anchors_of(rows) == anchors_of(rows[::-1])[::-1]
    assert len(set(links)) == 2


def test_each_rerun_says_what_it_is_once(project: Project) -> None:
    project.cassette()
    project.run("--junitxml=junit.xml", "--reruns=1", agent="toy:MissingCall")
    for case in ElementTree.parse(project.path / "junit.xml").iter("testcase"):
        names = [one.attrib["name"] for one in case.iter("property")]
        assert names == ["statebase_verdict", "statebase_session", "statebase_link"]


def test_without_junit_items_have_no_properties(project: Project) -> None:
    project.cassette()
    (project.path / "conftest.py").write_text(
        "def pytest_runtest_logreport(report): assert not report.user_properties\n"
    )
    project.run().assert_outcomes(passed=1)


def test_workers_give_the_same_rows_and_only_the_controller_writes(project: Project) -> None:
    for number in range(6):
        project.cassette(f"toy-{number}", session=f"sess_{number}")
    project.run("-n0", "--statebase-results=plain.jsonl", agent="toy:MissingCall").assert_outcomes(failed=6)
    project.run("-n2", "--statebase-results=workers.jsonl", agent="toy:MissingCall").assert_outcomes(failed=6)
    assert rows_without_times(project, "plain.jsonl") == rows_without_times(project, "workers.jsonl")
    assert (project.path / "statebase-report.html").stat().st_size > 1000


ODD = """
import enum, datetime
from pytest_statebase import AgentReply
class Colour(enum.Enum):
    RED = 1
class Text(str): pass
class Rude:
    def __repr__(self): raise RuntimeError("no")
def agent(user_input, turn):
    odd = {"when": datetime.datetime(2026, 1, 1), "enum": Colour.RED, "lone": "\\ud83d", "text": Text("x"),
           1: float("nan"), "raw": b"\\xff", "nul": "\\0\\x1b[31m", "set": {1}}
    return AgentReply({"odd": odd} if turn == 3 else f"That is turn {turn}.", state=odd)
"""


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_odd_values_cross_the_wire_and_reach_the_report(project: Project, workers: str) -> None:
    project.cassette()
    (project.path / "odd.py").write_text(ODD)
    result = project.run(workers, "--statebase-results=results.jsonl", "--junitxml=junit.xml", agent="odd:agent")
    result.assert_outcomes(failed=1)
    assert "INTERNALERROR" not in result.stdout.str()
    assert "\x1b[31m" not in result.stdout.str()
    assert project.results()[0]["verdicts"]
    (project.path / "statebase-report.html").read_text(encoding="utf-8")
    ElementTree.parse(project.path / "junit.xml")


def test_workers_give_the_same_rows_of_strange_values_in_the_order_of_collection(project: Project) -> None:
    """Though with workers the first session ends after others."""
    strange_sessions(project)
    options = ("--statebase-mode=isolated", "--statebase-results=results.jsonl")
    beside: list[list[object]] = []
    for workers in ("-n0", "-n2"):
        (project.path / "done").unlink(missing_ok=True)
        project.run(workers, *options, agent="strange:agent").assert_outcomes(failed=len(SHOWN))
        beside.append(rows_without_times(project, "results.jsonl"))
    for plain, of_workers in zip(*beside, strict=True):
        assert plain == of_workers
    for number, (row, shown) in enumerate(zip(project.results(), SHOWN, strict=True)):
        assert row["session"] == f"sess_{number}"
        differences = {one["path"]: one["replayed"] for turn in row["turns"] for one in turn["divergences"]}
        assert differences == {
            "output": {"odd": shown},
            "state.turns": shown,
            "http.body.amount": number,
            "http.body.lone": "\ud83d",
            "tools.price.arguments.item": shown,
        }
        [request] = row["turns"][1]["requests"]
        assert request["asked"] == {"body": {"amount": number, "lone": "\ud83d"}}
        assert [trace["action"] for trace in row["traces"]] == ["session.created", "memory.created"]


def test_a_crashed_worker_is_told(project: Project) -> None:
    project.cassette("a", session="sess_a")
    project.cassette("b", session="sess_b")
    (project.path / "crash.py").write_text(
        "import os\ndef agent(session_id, user_input):\n    if 'sess_b' in session_id: os._exit(3)\n    return 'x'\n"
    )
    result = project.run("-n2", "--statebase-results=results.jsonl", "--max-worker-restart=0", agent="crash:agent")
    assert result.ret == 1
    by_session = {row["cassette"]: row for row in project.results()}
    assert "did not finish" in by_session["fixtures/b.session.yaml"]["message"]
    assert "did not finish" in (project.path / "statebase-report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_rows_stand_in_the_order_of_collection(project: Project, workers: str) -> None:
    for number, agent in enumerate([toy.Toy, toy.MissingCall, toy.OtherState, toy.Toy, toy.MissingCall]):
        project.cassette(f"toy-{number}", agent=agent, session=f"sess_{number}")
    project.run(workers, "--statebase-results=results.jsonl")
    assert [row["session"] for row in project.results()] == [f"sess_{number}" for number in range(5)]


OUTPUTS = (
    "--statebase-results=results.jsonl",
    "--statebase-base-results=results.jsonl",
    "--statebase-report=page.html",
)


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_collecting_alone_leaves_files_alone(project: Project, workers: str) -> None:
    project.cassette()
    written = ["results.jsonl", "page.html", "statebase-report.html"]
    for name in written:
        (project.path / name).write_text("as it was")
    result = project.run("--collect-only", workers, *OUTPUTS)
    assert "INTERNALERROR" not in result.stdout.str()
    assert [(project.path / name).read_text() for name in written] == ["as it was"] * 3


def test_a_crash_of_the_only_worker_still_gives_everything(project: Project) -> None:
    """Whatever order the items were sent in, those that were not judged are told from those that were."""
    for name in "abcd":
        project.cassette(name, session=f"sess_{name}")
    (project.path / "crash.py").write_text(
        "import os\ndef agent(session_id, user_input):\n    if 'sess_c' in session_id: os._exit(3)\n    return 'x'\n"
    )
    result = project.run("-n1", *OUTPUTS[::2], "--max-worker-restart=0", agent="crash:agent")
    assert result.ret == 1
    rows = {row["nodeid"].split(".")[0]: row for row in project.results()}
    assert list(rows) == [f"fixtures/{name}" for name in "abcd"]
    finished = {name: row.get("unfinished", False) for name, row in rows.items()}
    assert finished == {"fixtures/a": False, "fixtures/b": False, "fixtures/c": True, "fixtures/d": True}
    assert "did not finish" in (project.path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("flag", ["-x", "--maxfail=1"])
def test_stopping_early_with_workers(project: Project, flag: str) -> None:
    for number in range(6):
        project.cassette(f"toy-{number}", session=f"sess_{number}")
    project.run("-n2", flag, *OUTPUTS[::2], agent="toy:MissingCall")
    rows = project.results()
    assert len(rows) == 6
    assert {row["outcome"] for row in rows if not row.get("unfinished")} == {"failed"}
    assert any(row.get("unfinished") for row in rows)
    assert (project.path / "page.html").exists()


def test_an_interrupted_run_says_what_did_not_run(project: Project) -> None:
    for name in "abc":
        project.cassette(name, session=f"sess_{name}")
    (project.path / "stop.py").write_text(
        "def agent(session_id, user_input):\n    if 'sess_b' in session_id: raise KeyboardInterrupt\n    return 'x'\n"
    )
    result = project.run(*OUTPUTS[::2], "-Wdefault", agent="stop:agent")
    assert result.ret == 2
    assert [row.get("unfinished", False) for row in project.results()] == [False, True, True]
    assert "did not finish" in (project.path / "page.html").read_text(encoding="utf-8")


def against(project: Project, *args: str, agent: str = "toy:MissingCall") -> str:
    result = project.run("--statebase-base-results=base.jsonl", *args, agent=agent)
    [line] = [line for line in result.stdout.lines if line.startswith("against base")]
    return line.removeprefix("against base").replace(str(project.path), "").strip()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_what_a_change_did(project: Project, workers: str) -> None:
    project.cassette("a", session="sess_a")
    project.cassette("b", session="sess_b", agent=toy.MissingCall)
    gone = project.cassette("gone", session="sess_gone")
    project.run("--statebase-results=base.jsonl")
    gone.unlink()
    project.cassette("new", session="sess_new")
    told = against(project, workers)
    assert told == "1 newly failing, 1 newly passing, 1 new, 1 removed  base.jsonl"
    lines = project.run("--statebase-base-results=base.jsonl", agent="toy:MissingCall").stdout.lines
    assert [line for line in lines if line.startswith(("newly ", "new "))] == [
        "newly failing  fixtures/a.session.yaml::version-0",
        "new            fixtures/new.session.yaml::version-0",
    ]


@pytest.mark.parametrize("chosen", [["fixtures/a.session.yaml"], ["-k", "a.session"], ["fixtures/more"]])
def test_what_was_not_chosen_is_not_removed(project: Project, chosen: list[str]) -> None:
    project.cassette("a", session="sess_a")
    project.cassette("b", session="sess_b")
    project.run("--statebase-results=base.jsonl")
    (project.fixtures / "more").mkdir()
    project.cassette("more/c", session="sess_c")
    assert "removed" not in against(project, *chosen)
    (project.fixtures / "b.session.yaml").unlink()
    assert "1 removed" in against(project)
    assert "1 removed" in against(project, "fixtures")


def test_the_exit_code_is_that_of_the_verdicts(project: Project) -> None:
    """What failed before still fails the run; `report merge --fail-on` is the gate for what is new alone."""
    project.cassette()
    project.run("--statebase-results=base.jsonl", agent="toy:MissingCall")
    result = project.run("--statebase-base-results=base.jsonl", agent="toy:MissingCall")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["against base   0 newly failing, 1 still failing*"])
    assert project.run("--statebase-base-results=base.jsonl").ret == 0


def test_a_base_that_cannot_be_read_is_told_and_fails_the_run(project: Project) -> None:
    project.cassette()
    result = project.run("--statebase-base-results=none.jsonl", "--statebase-results=results.jsonl")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*none.jsonl: cannot be read: No such file or directory*"])
    assert project.results()[0]["outcome"] == "passed"


def test_the_base_may_be_the_file_that_is_written(project: Project) -> None:
    project.cassette()
    project.run("--statebase-results=base.jsonl")
    assert against(project, "--statebase-results=base.jsonl") == "1 newly failing  base.jsonl"
    assert project.results("base.jsonl")[0]["outcome"] == "failed"


def test_stopping_early_says_what_did_not_run(project: Project) -> None:
    for name in "abc":
        project.cassette(name, session=f"sess_{name}")
    result = project.run("-x", "--statebase-results=results.jsonl", agent="toy:MissingCall")
    result.assert_outcomes(failed=1)
    assert [row["outcome"] for row in project.results()] == ["failed", "error", "error"]


def test_the_tools_of_production_never_run(project: Project) -> None:
    project.cassette()
    (project.path / "mine.py").write_text(
        "import toy\n"
        "class Careless(toy.Toy):\n"
        "    def calls(self, turn):\n"
        "        for item in ('apple', 'pear', 'durian', 'apple', 'apple'):\n"
        "            try: toy.price(item)\n"
        "            except BaseException: pass\n"
    )
    (project.path / "conftest.py").write_text(
        "import toy, pathlib\ndef pytest_sessionfinish(): pathlib.Path('live.txt').write_text(','.join(toy.LIVE))\n"
    )
    result = project.run("--statebase-results=results.jsonl", agent="mine:Careless")
    result.assert_outcomes(failed=1)
    assert project.results()[0]["verdicts"] == {"unrecorded": 1, "not-replayed": 2}
    assert (project.path / "live.txt").read_text() == ""


def test_a_simulator_answers_what_the_recording_does_not(project: Project) -> None:
    project.ini(
        "[pytest]\npythonpath = .\nstatebase_tools = toy:price\nstatebase_unrecorded = simulate\n"
        "statebase_simulator = mine:simulate\n"
    )
    (project.path / "mine.py").write_text(
        "def simulate(call, state, cassette):\n    return {'item': call.arguments['item'], 'price': state['turns']}\n"
    )
    project.cassette()
    project.run("--statebase-results=results.jsonl", agent="toy:WrongArgument").assert_outcomes(failed=1)
    (row,) = project.results()
    assert row["verdicts"] == {"unchanged": 1, "changed": 1, "off-script": 1}
    assert row["calls"]["simulated"] == 1


def test_authored_answers(project: Project) -> None:
    plan = (
        PLAN + "answers:\n  - {tool: price, arguments: {item: peach}, result: {item: peach, price: 5, currency: EUR}}\n"
    )
    project.cassette(plan=plan + "  - {tool: price, arguments: {item: lychee}, result: 1}\n")
    result = project.run("--statebase-results=results.jsonl", agent="toy:WrongArgument")
    (row,) = project.results()
    assert row["verdicts"] == {"unchanged": 1, "changed": 1, "off-script": 1}
    assert row["calls"]["authored"] == 1
    assert any("lychee" in warning or "never asked" in warning for warning in row["warnings"])
    assert result.ret == 1


def test_modes(project: Project) -> None:
    project.cassette()
    project.run("--statebase-mode=isolated", "--statebase-results=results.jsonl", agent="toy:WrongArgument")
    assert project.results()[0]["verdicts"] == {"unchanged": 2, "unrecorded": 1}


def test_toy_recordings_are_not_changed_by_any_of_it(project: Project) -> None:
    project.cassette()
    before = project.hashes()
    for agent in (toy.WrongArgument, toy.OtherState, toy.Toy):
        project.run("--statebase-results=results.jsonl", agent=f"toy:{agent.__name__}")
    assert project.hashes() == before
