"""No tool of a recording runs live in a replay: not unnamed, not from a thread, not after the turn or the replay."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import PLAN, Project

LIVE = """
import pathlib, toy, time
def pytest_sessionfinish():
    time.sleep(0.3)
    pathlib.Path("live.txt").write_text(",".join(toy.LIVE))
"""


def run(project: Project, source: str, *args: str, ini: str | None = None, more: str = "") -> pytest.RunResult:
    project.cassette(plan=PLAN)
    if ini is not None:
        project.ini(ini)
    (project.path / "conftest.py").write_text(LIVE + more)
    (project.path / "mine.py").write_text(source)
    result = project.run("--statebase-results=results.jsonl", *args, agent="mine:agent")
    assert (project.path / "live.txt").read_text() == ""
    return result


CALLS = "import toy\ndef agent(user_input, turn):\n    toy.price('apple')\n    return 'x'\n"


@pytest.mark.parametrize("tools", ["", "statebase_tools = toy:stock\n", "statebase_tools = toy:st*\n"])
def test_a_recorded_tool_that_no_pattern_names_is_refused(project: Project, tools: str) -> None:
    result = run(project, CALLS, ini=f"[pytest]\npythonpath = .\n{tools}")
    result.assert_outcomes(failed=1)
    assert "price is a tool of the recording, and toy:price is not stubbed" in result.stdout.str()
    assert "statebase_tools" in result.stdout.str()


def test_a_method_of_that_name_is_refused_as_well(project: Project) -> None:
    source = (
        "import toy\nclass Api:\n    def price(self, item): toy.LIVE.append(item)\n"
        "def agent(user_input):\n    Api().price('x')\n    return 'x'\n"
    )
    del_price = "def pytest_configure():\n    import toy\n    del toy.price\n"
    result = run(project, source, ini="[pytest]\npythonpath = .\nstatebase_tools = toy:stock\n", more=del_price)
    result.assert_outcomes(failed=1)
    assert "mine:Api.price is not stubbed" in result.stdout.str()


def test_an_agent_among_its_tools_is_no_tool(project: Project) -> None:
    source = (
        "import toy\ndef agent(turn):\n    agent_tool('apple') if turn == 9 else None\n"
        "    return f'That is turn {turn}.'\ndef agent_tool(x): ...\n"
    )
    result = run(project, source, ini="[pytest]\npythonpath = .\nstatebase_tools = mine:* toy:price\n")
    result.assert_outcomes(failed=1)
    (row,) = project.results()
    assert row["verdicts"] == {"changed": 1, "off-script": 2}


LATE = """
import threading, toy
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
class agent(toy.Toy):
    def __call__(self, user_input, turn):
        reply = super().__call__(user_input, turn)
        if turn == 3:
            {late}
        return reply
"""


@pytest.mark.parametrize(
    "late",
    [
        "threading.Timer(0.05, toy.price, ['kiwi']).start()",
        "threading.Thread(target=lambda: (threading.Event().wait(0.05), toy.price('kiwi'))).start()",
        "pool.submit(lambda: (threading.Event().wait(0.05), toy.price('kiwi')))",
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_left_over_cannot_call(project: Project, late: str) -> None:
    result = run(project, LATE.format(late=late))
    assert project.results()[0]["verdicts"] == {"unchanged": 3}
    assert "INTERNALERROR" not in result.stdout.str()


def test_a_thread_of_one_replay_is_not_booked_to_the_next(project: Project) -> None:
    for name in ("b", "c", "d"):
        project.cassette(name, session=f"sess_{name}")
    run(project, LATE.format(late="threading.Timer(0.01, toy.price, ['kiwi']).start()"))
    assert [row["verdicts"] for row in project.results()] == [{"unchanged": 3}] * 4


def test_an_empty_reply_is_no_other_wording(project: Project) -> None:
    source = "import toy\nclass agent(toy.Toy):\n    def text(self, turn): return ''\n"
    run(project, source)
    assert project.results()[0]["verdicts"] == {"changed": 3}


def test_what_is_no_reply_is_an_error_of_its_turn(project: Project) -> None:
    source = (
        "import toy\nclass agent(toy.Toy):\n    def __call__(self, user_input, turn):\n"
        "        reply = super().__call__(user_input, turn)\n        return None if turn == 2 else reply\n"
    )
    result = run(project, source)
    assert project.results()[0]["verdicts"] == {"unchanged": 1, "error": 1, "not-replayed": 1}
    assert "returned nothing, which is no reply" in result.stdout.str()


def test_where_the_agent_raised_is_told(project: Project) -> None:
    result = run(project, "def agent(user_input):\n    raise KeyError('boom')\n")
    assert 'File "mine.py", line 2, in agent' in result.stdout.str()
    assert 'File "mine.py", line 2, in agent' in project.results()[0]["turns"][0]["replayed"]["error"]["trace"]


@pytest.mark.parametrize(
    "option", ["--statebase-fork=nonsense", "--statebase-fork=version -1", "--statebase-until=soon"]
)
def test_points_that_mean_nothing_end_the_run_at_once(project: Project, option: str) -> None:
    project.cassette()
    result = project.run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert option.split("=")[0] in result.stderr.str()


def test_selecting_nothing_is_not_told_as_no_cassettes(project: Project) -> None:
    project.cassette()
    result = project.run("-k", "nothing")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "no cassettes" not in result.stdout.str()


def test_a_module_that_exits_while_it_is_imported(project: Project) -> None:
    project.cassette()
    (project.path / "mine.py").write_text("raise SystemExit(3)\n")
    result = project.run(agent="mine:agent")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "does not import: SystemExit" in result.stderr.str()


def test_a_misspelt_not_called_is_told(project: Project) -> None:
    project.cassette(plan=PLAN + "expect: {1: {tools: {not_called: [prise]}}}\n")
    project.run("--statebase-results=results.jsonl")
    assert "did you mean price?" in str(project.results()[0]["warnings"])
