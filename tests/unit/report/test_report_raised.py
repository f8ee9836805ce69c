"""An agent that crashed is said to have crashed, and with what, by every output."""

from __future__ import annotations

import copy
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest
from inert import assert_inert
from report_data import RUN, crashed, hostile, raised, row, still_failing

from pytest_statebase.report.ci.annotations import annotation_lines
from pytest_statebase.report.ci.junit import write_junit
from pytest_statebase.report.grouping import in_one_line
from pytest_statebase.report.page.html import render_html
from pytest_statebase.report.prose.brief import brief
from pytest_statebase.report.prose.summary import render_comment, render_job_summary
from pytest_statebase.report.raised import error_text, placed_trace, raised_text, trace_of, without_trace
from pytest_statebase.report.results import Row
from pytest_statebase.report.runs import Run
from pytest_statebase.report.terminal import failure_lines, plain

CRASH = "AddressLockedError: order 1052 left"
TRACE = [
    'File "shop/agent.py", line 12, in move',
    "  changed = tools.change_address(order)",
    "            ^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    'File "shop/tools.py", line 7, in change_address',
]


def test_the_terminal_names_the_exception_above_where_it_was_raised() -> None:
    lines = plain(failure_lines(row(crashed()))).split("\n")
    at = lines.index(f"  the agent raised {CRASH}")
    assert lines[at + 1 : at + 5] == ["    " + line for line in TRACE]


def test_a_failure_in_one_line_names_it() -> None:
    assert in_one_line(row(crashed())) == (
        f"turn 2 still-failing: the agent raised {CRASH}: tools.hand_over was not called"
    )
    again = row(crashed())
    again["turns"][0]["divergences"] = []
    assert in_one_line(again) == f"turn 2 still-failing: the agent raised {CRASH}"


def test_junit_names_it(tmp_path: Path) -> None:
    write_junit(tmp_path / "junit.xml", Run([row(crashed())], RUN))
    failure = parse(tmp_path / "junit.xml").getroot().find(".//failure")
    assert failure is not None
    assert f"the agent raised {CRASH}" in failure.attrib["message"]
    assert f"  the agent raised {CRASH}\n    {TRACE[0]}\n" in str(failure.text)


@pytest.mark.parametrize("render", [render_comment, render_job_summary])
def test_comment_and_job_summary_name_it_with_the_reason(render: object) -> None:
    text = render(Run([row(crashed())], RUN))  # type: ignore[operator]
    assert f"| `tools.hand_over` `was not called`, the agent raised `{CRASH}` | now not made |" in text


def test_the_job_summary_says_where_it_was_raised() -> None:
    text = render_job_summary(Run([row(crashed())], RUN))
    assert f"\n- the agent raised `{CRASH}`\n\n```text\n" + "\n".join(TRACE) + "\n```\n" in text


def test_one_reason_of_many_sessions_says_how_many_raised_what() -> None:
    rows = [row(crashed(f"locked-{number}")) for number in range(4)]
    rows[2]["turns"][0]["replayed"]["error"]["message"] = "order 7 left"
    del rows[3]["turns"][0]["replayed"]["error"]
    told = "{} and 1 other exception in 3 of 4 turns"
    assert f", the agent raised {told.format(f'`{CRASH}`')} | " in render_comment(Run(rows, RUN))
    assert f"%0Athe agent raised {told.format(CRASH)}%0A" in annotation_lines(Run(rows, RUN), Path())[0]


def test_an_annotation_names_it(tmp_path: Path) -> None:
    (line,) = annotation_lines(Run([row(crashed())], RUN), tmp_path)
    assert line.endswith(f"::tools.hand_over was not called%0Athe agent raised {CRASH}")


def test_a_brief_has_the_trace_with_the_exception() -> None:
    made = row(crashed())
    text = brief(Run([made], RUN), made, made["turns"][0])
    exception = text.split("## The exception\n", 1)[1].split("\n## ", 1)
    assert "Where it was raised in the replay, innermost last:\n\n```text\n" + "\n".join(TRACE) in exception[0]
    assert exception[1].startswith("The state after the turn\n")
    assert "File" not in exception[1].split("\n## ", 1)[0]


def test_the_page_without_scripts_sets_no_trace_beside_what_was_recorded() -> None:
    text = render_html(Run([row(crashed())], RUN)).split("<h4>Error</h4>", 1)[1].split("</section>", 1)[0]
    error, _, rest = text.partition("</div>\n</div>")
    assert f'<span class="who">recorded and now</span><pre dir="auto" class="v">{CRASH}\n' in error
    assert "File" not in error
    assert "File &#34;shop/agent.py&#34;, line 12, in move\n  changed = tools.change_address(order)\n" in rest


def test_what_a_difference_says_is_said_once() -> None:
    made = row(raised())
    assert plain(failure_lines(made)).count("the agent raised") == 1
    assert in_one_line(made).count("raised") == 1
    assert render_comment(Run([made], RUN)).count("raised") == 1
    assert raised_text(row(still_failing())["turns"][1], ()) is None


def test_what_is_raised_for_want_of_an_answer_is_told_by_the_reason() -> None:
    turn = copy.deepcopy(row(crashed())["turns"][0]) | {"verdict": "unrecorded"}
    assert raised_text(turn, ()) == CRASH
    del turn["replayed"]["error"]["trace"]
    assert raised_text(turn, ()) is None


def test_errors_of_any_shape_have_words() -> None:
    assert error_text({"type": "builtins:KeyError", "message": "a\nb"}) == "KeyError: a\\nb"
    assert error_text({"type": "KeyError"}) == "KeyError"
    assert error_text("gone") == '"gone"'
    cut = {"!cut": {"head": "ab", "size": 9_000}}
    assert error_text({"type": "KeyError", "message": cut}) == "KeyError: ab… (9,000 characters in all)"
    assert without_trace("gone") == "gone"
    turn: Row = {"replayed": {"error": {"type": "E", "trace": cut}}}
    assert trace_of(turn) == "ab… (9,000 characters in all)"
    assert trace_of({"replayed": {"error": "gone"}}) is trace_of({"replayed": None}) is None


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("/home/me/shop/agents/a.py", "agents/a.py"),
        ("/home/me/shop/.venv/lib/python3.12/site-packages/openai/_base.py", "site-packages/openai/_base.py"),
        ("/usr/lib/python3/dist-packages/yaml/x.py", "dist-packages/yaml/x.py"),
        (r"C:\py\Lib\site-packages\openai\x.py", r"site-packages\openai\x.py"),
        ("/usr/lib/python3.11/json/decoder.py", "python3.11/json/decoder.py"),
        ("/home/me/other/a.py", "/home/me/other/a.py"),
        ("agents/a.py", "agents/a.py"),
        ("<string>", "<string>"),
    ],
)
def test_files_of_a_trace_are_named_from_the_project_on(file: str, told: str) -> None:
    trace = '  File "{}", line 12, in move\n    open("/home/me/shop/x", line)\n  File "{}", line 3, in x'
    assert placed_trace(trace.format(file, file), Path("/home/me/shop")) == trace.format(told, told)


def test_what_was_raised_is_no_markup() -> None:
    made = hostile()
    made["turns"][0]["replayed"]["error"]["trace"] = "```\n# <img src=x onerror=alert(1)>\u202e @acme/x"
    assert_inert(render_job_summary(Run([made], RUN)))
    assert "<img src=x" not in render_html(Run([made], RUN))
