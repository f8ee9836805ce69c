from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from inert import assert_inert
from report_data import (
    MARKUP,
    RUN,
    UNSEEN,
    all_rows,
    clean,
    hostile,
    raised,
    row,
    still_failing,
    unproven,
    unrecorded,
)

from pytest_statebase.report.against import Against
from pytest_statebase.report.grouping import short_name
from pytest_statebase.report.page.view import anchors_of, build_view
from pytest_statebase.report.prose.identical import failures
from pytest_statebase.report.prose.summary import (
    COMMENT_LIMIT,
    JOB_LIMIT,
    MARKER,
    append_job_summary,
    render_comment,
    render_job_summary,
    write_summary,
)
from pytest_statebase.report.results import Row, error_row
from pytest_statebase.report.runs import Run

PAGE = "https://ci.example/7/report.html"
EVIL = (
    "::error file=a::x\n::stop-commands::t %0A@everyone @acme/payments me@example.com #12 GH-7 acme/shop#3 "
    "https://evil.example www.evil.example [a](javascript:alert(1)) ![i](https://evil.example/i.png) | `code` ``` "
    "\\| <!-- pytest-statebase --> </details> {{7*7}} $`x`$ :tada: [^1] \u2028/close שלום " + MARKUP + UNSEEN
)


def of(rows: Sequence[Row], url: str | None = PAGE, **options: Any) -> Run:
    return Run(rows, RUN, url=url, **options)


def many(number: int, value: object = None) -> list[Row]:
    """The same failure in many sessions, or with another value in each."""
    made = []
    for index in range(number):
        one = copy.deepcopy(row(still_failing()))
        one["cassette"] = f"fixtures/refund-{index}.session.yaml"
        one["nodeid"] = f"{one['cassette']}::turn-2"
        if value is not None:
            cause = one["turns"][1]["divergences"][0]
            cause |= {"replayed": index, "fingerprint": f"{index:012x}"}
        made.append(one)
    return made


def at(row: Row) -> str:
    (anchor,) = anchors_of([row])
    return f"{PAGE}#{anchor}"


def section(text: str, title: str) -> list[str]:
    """The lines of a section, without empty ones."""
    rest = text.split(f"#### {title}\n", 1)[1]
    lines = rest.split("\n#### ", 1)[0].split("\n<details>", 1)[0].split("\n")
    return [line for line in lines if line.strip()]


def test_a_comment_says_what_failed_and_where() -> None:
    text = render_comment(of(all_rows()))
    assert text.startswith(f"{MARKER}\n### ❌ 6 of 9 sessions do not pass\n\n[Open the report]({PAGE}) · ")
    assert section(text, "Why sessions fail")[:3] == [
        "| Sessions | What differs | Recorded → now | Where |",
        "| ---: | --- | --- | --- |",
        f"| 2 | `tools.issue_refund.arguments.amount` another argument | `42.5` → `40.0` | "
        f"[`refund::turn-2` turn 2]({at(row(still_failing()))}-2) and 1 more |",
    ]
    rows = [line for line in text.split("\n") if line.startswith("| [`")]
    assert rows[0] == f"| [`refund::turn-2`]({at(row(still_failing()))}) | `payments-team` | turn 2 still-failing |"
    assert rows[-1].endswith("turn 1 error, blocks nothing (`gate: warn`) |")
    assert (
        "To replay one again: `pytest fixtures/refund.session.yaml "
        "'--statebase-fork=turn 2' '--statebase-until=turn 2' --statebase-mode=continuous -v`"
    ) in text
    assert "| ❌ fail | 5 | 1 error, 1 unrecorded, 1 changed, 1 unproven, 1 still-failing," in text
    assert_inert(text, PAGE)


@pytest.mark.parametrize(
    ("nodeid", "name"),
    [
        ("fixtures/a/refund.session.yaml::turn-2", "refund::turn-2"),
        ("tests/b/test_m.py::test_p[docs/x]", "test_m.py::test_p[docs/x]"),
        (
            r"test_m.py::TestM::test_p[\xfc/\xe9::a/b.session.yaml]",
            r"test_m.py::TestM::test_p[\xfc/\xe9::a/b.session.yaml]",
        ),
        ("fixtures/refund.session.yaml", "refund"),
    ],
)
def test_short_names_lack_directories_and_no_parameters(nodeid: str, name: str) -> None:
    found = {**row(still_failing()), "nodeid": nodeid}
    assert short_name(found) == name
    assert f"| `{name}` |" in render_comment(of([found], url=None))


def test_calls_with_an_effect_are_counted_and_troubled_ones_told_once() -> None:
    found = section(render_comment(of([row(clean()), *many(3)])), "Calls that change something")
    assert found == [
        "| Tool | made | changed | extra |",
        "| --- | ---: | ---: | ---: |",
        "| `issue_refund` | 0 | 3 | 3 |",
        "| `change_address` | 1 | 0 | 0 |",
        '- changed: `issue_refund` `{order_id: "1047", amount: 40.0}` in '
        f"[`refund-0::turn-2` turn 2]({at(many(1)[0])}-2) and 2 more times",
        '- extra: `issue_refund` `{order_id: "1047", amount: 2.5}` in '
        f"[`refund-0::turn-2` turn 2]({at(many(1)[0])}-2) and 2 more times",
    ]


def test_owners_are_named_and_not_called() -> None:
    rows = [*many(10), row(unrecorded())]
    rows[0]["owner"] = "@acme/refunds"
    text = render_comment(of(rows))
    assert section(text, "Owners") == [
        "- `payments-team`: 9 sessions",
        "- `@acme/refunds`: 1 session",
        "- without an owner: 1 session",
    ]
    assert_inert(text, PAGE)
    few = render_comment(of(rows[:3]))
    assert "| `@acme/refunds` | turn 2 still-failing |" in few
    assert "#### Owners" not in few


def test_the_same_difference_of_many_sessions_is_one_row() -> None:
    text = render_comment(of(many(1_000)))
    assert len(section(text, "Why sessions fail")) == 3
    assert "| 1,000 | `tools.issue_refund.arguments.amount` another argument | `42.5` → `40.0` |" in text
    assert "and 999 more |" in text
    assert "… and 975 more sessions." in text
    assert len(text) < 8_000


@pytest.mark.parametrize("number", [2, 3, 40])
def test_other_values_at_the_same_path_are_the_same_reason(number: int) -> None:
    rows = many(number, value=1)
    (one,) = failures(rows)
    assert (one.sessions, len(one.parts)) == (number, number)
    (line,) = section(render_comment(of(rows, url=None)), "Why sessions fail")[2:]
    where = f"`refund-0::turn-2` turn 2 and {number - 1} more |"
    assert line == (
        f"| {number} | `tools.issue_refund.arguments.amount` another argument | "
        f"`42.5` → `0`, other values in each | {where}"
    )


def test_values_that_several_sessions_have_are_a_reason_of_their_own() -> None:
    both = failures([*many(2), *many(40, value=1)])
    assert [(failure.sessions, len(failure.parts)) for failure in both] == [(40, 40), (2, 0)]
    (alone,) = failures(many(1, value=1))
    assert not alone.parts


def test_the_values_of_a_reason_are_those_of_the_session_that_it_names() -> None:
    rows = many(3, value=1)
    found = of(rows, url=None, against=against(still_failing=rows[:2], newly_failing=rows[2:]))
    (line,) = section(render_comment(found), "Why sessions fail")[2:]
    assert line.endswith("| `42.5` → `2`, other values in each | `refund-2::turn-2` turn 2 and 2 more |")
    title = "##### `refund-2::turn-2` turn 2"
    assert title in render_job_summary(found)


def test_what_is_said_of_one_place_is_not_said_of_all_of_them() -> None:
    rows = many(2, value=1)
    for number, one in enumerate(rows):
        one["turns"][1]["divergences"][0] |= {"kind": "expect", "detail": f"amount is {number}, 9 was wanted"}
    (line,) = section(render_comment(of(rows, url=None)), "Why sessions fail")[2:]
    assert "`tools.issue_refund.arguments.amount` expect does not hold |" in line
    for one in rows:
        one["turns"][1]["divergences"][0] |= {"detail": "amount was wrong"}
    (line,) = section(render_comment(of(rows, url=None)), "Why sessions fail")[2:]
    assert "`tools.issue_refund.arguments.amount` `amount was wrong` |" in line


def test_exceptions_of_two_types_are_two_reasons() -> None:
    rows = [copy.deepcopy(row(raised())) for _ in range(3)]
    for number, (one, name) in enumerate(zip(rows, ("KeyError", "KeyError", "TimeoutError"), strict=True)):
        found = one["turns"][0]["divergences"][0]
        found |= {"fingerprint": str(number), "replayed": {"type": f"builtins:{name}", "message": str(number)}}
    assert [failure.sessions for failure in failures(rows)] == [2, 1]


def known(rows: list[Row], ticket: str | None = "PAY-12") -> list[Row]:
    """The same where what differs in the second turn is known."""
    for one in rows:
        turn = one["turns"][1]
        entry = {"fingerprint": turn["divergences"][0]["fingerprint"], "until": "2026-11-01", "ticket": ticket}
        turn |= {"verdict": "changed", "excused": True, "known": [entry]}
        one |= {"outcome": "passed", "failure": None, "verdicts": {"unchanged": 1, "changed": 1}}
    return rows


@pytest.mark.parametrize("render", [render_comment, render_job_summary])
def test_what_is_known_is_said_to_be(render: Any) -> None:
    text = render(of([*known(many(3)), row(clean())], url=None))
    assert "### ✅ All 4 sessions pass\n" in text
    assert "| 👀 review | 3 | 3 changed (3 known), 3 unchanged |" in text
    assert section(text, "Known differences, which fail nothing") == [
        "- `known until 2026-11-01 (PAY-12)`: `tools.issue_refund.arguments.amount` another argument, "
        "in `refund-0::turn-2` turn 2 and 2 more turns",
    ]
    assert "- changed (known): `issue_refund` " in text
    assert_inert(text)


def test_what_is_known_and_what_is_not_are_told_apart() -> None:
    text = render_comment(of([*known(many(1)), *many(1)], url=None))
    assert "| ❌ fail | 1 | 1 still-failing, 1 unchanged |" in text
    assert "| 👀 review | 1 | 1 changed (1 known), 1 unchanged |" in text
    assert text.count("- changed (known): `issue_refund` ") == text.count("- changed: `issue_refund` ") == 1
    assert_inert(render_comment(of(known(many(1), EVIL))), PAGE)


def test_replays_of_the_same_session_are_no_further_sessions() -> None:
    rows = [{**one, "agent": agent} for one in (row(clean("a")), row(clean("b"))) for agent in ("x:A", "y:B")]
    text = render_comment(of(rows))
    assert "### ✅ All 4 replays of 2 sessions pass\n" in text
    assert "4 of 4 replays of 2 sessions ran to the end" in text
    rows.append({**row(unproven()), "nodeid": "t.py::test_a"})
    assert "### ❌ 1 of 5 replays of 3 sessions does not pass\n" in render_comment(of(rows))
    alone = [error_row("tests/test_a.py", "", "no", nodeid=f"tests/test_a.py::test_{name}") for name in "ab"]
    assert "### ❌ 2 of 2 sessions do not pass\n" in render_comment(of(alone))


def test_failures_without_a_difference_are_reasons_too() -> None:
    again = row(still_failing())
    again["turns"][1]["divergences"] = []
    stale = row(unproven())
    stale["turns"][0] |= {"verdict": "stale", "reason": "no model call is recorded", "divergences": []}
    rows = [again, stale, copy.deepcopy(stale), all_rows()[-1]]
    found = [(failure.sessions, failure.why) for failure in failures(rows)]
    assert found == [
        (2, "the prompt moved, and no model recording answers"),
        (1, "as it was recorded"),
        (1, "fixtures/typo.session.yaml:4:1: unknown key `expcet` (did you mean `expect`?)"),
    ]
    text = render_comment(of(rows))
    assert "`pytest --statebase-replay --statebase-model=auto`, review, then `--statebase-accept`" in text
    assert_inert(text, PAGE)


def against(**found: Sequence[Row]) -> Against:
    names = ("newly_failing", "newly_passing", "still_failing", "new", "removed", "unknown", "lost")
    return Against("base.jsonl", *(found.get(name, []) for name in names))


def test_what_a_change_did_comes_first() -> None:
    rows = [*many(3), row(clean()), row(raised())]
    gone = row(clean("gone"))
    found = against(
        newly_failing=rows[:2], newly_passing=rows[3:4], still_failing=rows[2:3], new=rows[4:], removed=[gone]
    )
    text = render_comment(of(rows, against=found))
    assert f"{MARKER}\n### ❌ This change makes 2 sessions fail, and 1 new session does not pass\n" in text
    assert section(text, "What this change did") == [
        "**2** newly failing, **1** newly passing, **1** still failing, **1** new (1 with `gate: warn`), "
        "**1** removed, compared with the base branch.",
        f"- newly passing: [`clean::version-0`]({at(rows[3])})",
        "- removed: `gone::version-0`",
    ]
    assert text.index("What this change did") < text.index("Why sessions fail")
    first, second = section(text, "Why sessions fail")[2:]
    assert first.startswith("| 3 | 2 | `tools.issue_refund.arguments.amount` another argument | ")
    assert second.startswith("| 1 | 1 | `error` ")
    assert second.endswith("-1), blocks nothing (`gate: warn`) |")
    assert [line.split(" | ", 1)[1] for line in section(text, "4 sessions that do not pass")[1:]] == [
        "Owner | Base branch | Turns |",
        "--- | --- | --- |",
        "`payments-team` | **passed** | turn 2 still-failing |",
        "`payments-team` | **passed** | turn 2 still-failing |",
        "`payments-team` | failed | turn 2 still-failing |",
        " | **new** | turn 1 error, blocks nothing (`gate: warn`) |",
    ]


def test_sessions_with_a_reason_each_are_in_one_table() -> None:
    rows = [row(still_failing()), row(raised()), row(clean())]
    text = render_comment(of(rows, against=against(newly_failing=rows[:1], still_failing=rows[1:2])))
    assert "Why sessions fail" not in text
    assert section(text, "2 sessions that do not pass")[1:] == [
        "| Session | Owner | Base branch | Turns | What differs | Recorded → now |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| [`refund::turn-2`]({at(rows[0])}-2) | `payments-team` | **passed** | turn 2 still-failing | "
        "`tools.issue_refund.arguments.amount` another argument | `42.5` → `40.0` |",
        f"| [`greeting::version-0`]({at(rows[1])}-1) |  | failed | turn 1 error, blocks nothing (`gate: warn`) | "
        "`error` `the agent raised KeyError: 'order_id'` | "
        """now `{type: "builtins:KeyError", message: "'order_id'"}` |""",
    ]
    assert [text.count(one) for one in ("`refund::turn-2`](", "`greeting::version-0`](")] == [1, 1]
    assert_inert(text, PAGE)


def test_what_is_not_known_to_have_failed_is_not_cut_away() -> None:
    rows = [*many(40), *distinct(40, 3), {**row(raised()), "gate": "block"}]
    found = against(still_failing=rows[:-1], newly_failing=rows[-1:])
    text = render_comment(of(rows, against=found))
    assert section(text, "Why sessions fail")[2].startswith("| 1 | 1 | `error` ")
    assert next(line for line in text.splitlines() if line.startswith("| [`")).startswith("| [`greeting::version-0`]")


def test_a_change_that_breaks_nothing_is_not_blamed() -> None:
    rows = [*many(2), row(clean())]
    text = render_comment(of(rows, against=against(still_failing=rows[:2])))
    assert "### ⚠️ Nothing fails that did not fail before; 2 of 3 sessions do not pass\n" in text


def stopped(name: str) -> Row:
    path = f"fixtures/{name}.session.yaml"
    found = error_row(path, "version 0", "did not finish: the run was stopped", nodeid=f"{path}::version-0")
    return {**found, "unfinished": True}


def lost(*names: str, **facts: object) -> list[Row]:
    return [{**stopped(name), **facts} for name in names]


WARN = "; this blocks nothing (`gate: warn`)"


@pytest.mark.parametrize(
    ("found", "words", "base"),
    [
        ({"lost": lost(*"abc")}, "❌ 3 sessions that passed before did not finish", "**passed**"),
        ({"lost": lost("a", gate="warn")}, "⚠️ 1 session that passed before did not finish" + WARN, "**passed**"),
        ({"new": lost("a")}, "❌ 1 new session does not pass", "**new**"),
        (
            {"unknown": lost("a", "b")},
            "⚠️ 2 of 3 sessions do not pass; 2 sessions that did not pass before did not finish",
            "did not pass",
        ),
        ({"unknown": many(1)}, "❌ 1 session that did not finish before fails", "**did not finish**"),
        ({"newly_failing": many(2), "lost": lost("a")}, "❌ This change makes 2 sessions fail, and 1 session that", ""),
        ({"newly_failing": [row(raised())], "still_failing": many(1)}, "⚠️ This change makes 1 session fail" + WARN, ""),
        ({"still_failing": many(1), "unknown": lost("a")}, "⚠️ 2 of 3 sessions do not pass; 1 session that did", ""),
    ],
)
def test_a_change_is_not_absolved_of_what_did_not_finish(found: dict[str, list[Row]], words: str, base: str) -> None:
    rows = [one for part in found.values() for one in part]
    found = {**found, "unknown": [*found.get("unknown", ()), *found.get("lost", ())]}
    good = [row(clean(f"good-{number}")) for number in range(3 - len(rows))]
    text = render_comment(of([*rows, *good], url=None, against=against(**found)))
    assert text.startswith(f"{MARKER}\n### {words}")
    assert base in text


@pytest.mark.parametrize(
    ("rows", "headline"),
    [
        ([], "⚠️ No session was replayed"),
        ([row(clean())], "✅ The session passes"),
        ([row(clean()), row(clean("b"))], "✅ All 2 sessions pass"),
        ([row(raised())], "⚠️ The session does not pass"),
        ([row(unproven())], "❌ The session does not pass"),
        ([row(unproven()), row(clean())], "❌ 1 of 2 sessions does not pass"),
    ],
)
def test_headlines(rows: list[Row], headline: str) -> None:
    text = render_comment(of(rows, url=None))
    assert text.startswith(f"{MARKER}\n### {headline}\n")
    assert "](" not in text
    assert_inert(text)


@pytest.mark.parametrize(
    ("missing", "rows", "headline"),
    [
        (
            {"jobs": 1, "of": 2},
            [row(clean(name)) for name in "abcdefgh"],
            "⚠️ Incomplete: results of 1 of 2 jobs are missing; 8 of 8 sessions that are here pass",
        ),
        (
            {"cut": 1, "replays": 3},
            [row(clean())],
            "⚠️ Incomplete: 1 results file was cut off, at least 3 replays missing; the session that is here passes",
        ),
        (
            {"jobs": 2, "of": 4, "cut": 2, "replays": 1},
            [row(unproven()), row(clean())],
            "❌ Incomplete: results of 2 of 4 jobs are missing, and 2 results files were cut off, at least 1 replay "
            "missing; 1 of 2 sessions does not pass",
        ),
        ({"jobs": 1, "of": 2}, [], "⚠️ Incomplete: results of 1 of 2 jobs are missing; no session was replayed"),
        ({"jobs": MARKUP, "cut": [1], "of": 3}, [row(clean())], "✅ The session passes"),
        ([1], [row(clean())], "✅ The session passes"),
    ],
)
def test_what_is_missing_comes_before_what_is_there(missing: object, rows: list[Row], headline: str) -> None:
    made = Run(rows, {**RUN, "missing": missing})
    assert render_comment(made).startswith(f"{MARKER}\n### {headline}\n")
    assert render_job_summary(made).startswith(f"### {headline}\n")
    assert build_view(made, anchors_of(rows)).verdict == headline.split(" ", 1)[1] + "."


def test_a_base_that_lacks_results_is_said_beside_what_is_new() -> None:
    doubt = "The base's results are incomplete (results of 1 of 2 jobs are missing): what is new here may be old"
    rows = [row(clean())]
    made = of(rows, against=Against("base.jsonl", [], [], [], rows, [], doubt=doubt))
    assert f"compared with the base branch. {doubt}.\n" in render_comment(made)
    assert build_view(made, anchors_of(rows)).warnings == [doubt]


def test_a_warning_of_sessions_names_them_and_one_of_the_run_does_not() -> None:
    rows = many(3)
    rows[0]["warnings"] = rows[2]["warnings"] = ["an answer was never asked for"]
    rows[1]["warnings"] = ["no seal"]
    text = render_comment(Run(rows, {**RUN, "warnings": ["cut off"]}))
    assert "<summary>3 warnings</summary>" in text
    told = [line for line in text.splitlines() if line.startswith(("- `cut off`", "- `an answer", "- `no seal`"))]
    assert told == [
        "- `cut off`",
        "- `an answer was never asked for` in `refund-0::turn-2` and 1 more session",
        "- `no seal` in `refund-1::turn-2`",
    ]


def test_what_stopped_a_run_comes_before_what_it_did_not_get_to() -> None:
    rows = [*map(stopped, "abc"), {**row(unproven()), "gate": "warn"}, *map(stopped, "def")]
    text = render_comment(of(rows, url=None))
    first, last = section(text, "Why sessions fail")[2:]
    assert first.startswith("| 1 | `tools.issue_refund` recorded call not made | ")
    assert last == "| 6 | `did not finish: the run was stopped` | not replayed | `a::version-0` and 5 more |"
    listed = section(text, "7 sessions that do not pass")
    assert listed[0].startswith("To replay one again: `pytest fixtures/draft.session.yaml ")
    assert listed[3] == "| `draft::turn-2` | turn 2 unproven, blocks nothing (`gate: warn`) |"
    assert listed[4] == "| `a::version-0` | did not finish |"
    assert text.count("the run was stopped") == 1


@cache
def hostile_rows() -> list[Row]:
    rows = [hostile(EVIL), hostile("x" * 1_000_000), hostile("`" * 5_000), hostile("|" * 300), *all_rows()]
    rows[0] |= {"message": EVIL, "failure": EVIL, "fork": EVIL, "mode": EVIL, "gate": EVIL, "verdicts": {EVIL: 1}}
    rows[0]["turns"][0]["divergences"][0] |= {"kind": EVIL, "fingerprint": EVIL, "facet": EVIL}
    unknown = hostile(EVIL)
    unknown["turns"][0]["verdict"] = EVIL
    return [*rows, unknown, {**all_rows()[-1], "failure": EVIL, "message": EVIL, "nodeid": EVIL, "owner": EVIL}]


@pytest.mark.parametrize("render", [render_comment, render_job_summary])
def test_nothing_recorded_is_markup(render: Any) -> None:
    rows = hostile_rows()
    run = {**RUN, "agent": EVIL, "pytest_statebase": EVIL, "warnings": [EVIL], "python": EVIL}
    text = render(Run(rows, run, against(new=rows, removed=rows[:1]), url=PAGE))
    told = assert_inert(text, PAGE)
    assert any("javascript:alert(1)" in one for one in told)
    assert text.count(MARKER) - sum(one.count(MARKER) for one in told) == (render is render_comment)
    assert text.encode("utf-8").decode("utf-8").isprintable() or "\x00" not in text


def test_a_page_at_no_web_address_is_not_linked() -> None:
    for url in ("javascript:alert(1)", "file:///report.html", "report.html"):
        assert "](" not in render_comment(of(all_rows(), url=url))


def distinct(number: int, length: int) -> list[Row]:
    """Failures each of another sort, all of them long."""
    rows = many(number, value=1)
    for index, one in enumerate(rows):
        one["turns"][1]["divergences"][0]["path"] = f"state.k{index}.{'é' * length}"
        one["owner"] = f"team {index} {'é' * length}"
        one["warnings"] = [f"{index} {'é' * length}"]
    return rows


def test_a_comment_keeps_to_the_limit_and_says_what_is_missing() -> None:
    text = render_comment(of(distinct(300, 500)))
    assert len(text.encode("utf-8")) <= COMMENT_LIMIT < 65_536
    assert "… and 275 more sessions." in text
    text = render_comment(of([*many(2), *distinct(300, 500)]))
    assert len(text.encode("utf-8")) <= COMMENT_LIMIT
    assert "… and 286 more reasons." in text
    assert "… and 277 more sessions." in text
    assert "… and 271 more owners." in text
    assert_inert(text, PAGE)


def test_a_short_comment_names_the_sections_that_it_has_not() -> None:
    text = render_comment(of([*many(2), *distinct(300, 500)]), 3_000)
    assert len(text.encode("utf-8")) <= 3_000
    assert "Left out, because this text may not be longer: " in text
    assert text.rstrip().endswith("now is what the agent under test did.")
    assert_inert(text, PAGE)


def test_a_job_summary_of_very_many_keeps_to_the_limit() -> None:
    text = render_job_summary(of(distinct(3_000, 400)))
    assert 300_000 < len(text.encode("utf-8")) <= JOB_LIMIT
    assert "more sessions." in text
    assert "more turns." in text


def test_a_job_summary_has_one_turn_for_each_reason() -> None:
    text = render_job_summary(of([*many(40), row(unproven()), row(unrecorded())]))
    assert not text.startswith(MARKER)
    found = section(text, "One turn for each reason")
    assert "#### One turn for each reason\n\n##### " in text
    assert "\n\n\n" not in text
    assert [line for line in found if line.startswith("#####")] == [
        f"##### [`refund-0::turn-2` turn 2]({at(many(1)[0])}-2)",
        f"##### [`draft::turn-2` turn 2]({at(row(unproven()))}-2)",
    ]
    assert found[1:3] == [
        "**still-failing**, asked `Please refund it.`",
        "- `tools.issue_refund.arguments.amount` another argument: recorded `42.5`, now `40.0` · `daa64d8adfd3`",
    ]
    start = found.index("```text")
    assert found[start : start + 3] == [
        "```text",
        "changed, but nothing says that the change is right. Add to the plan:",
        "  expect:",
    ]
    assert_inert(text, PAGE)


def test_a_job_summary_is_appended(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert append_job_summary(path, of([row(clean())]))
    assert path.read_text(encoding="utf-8").startswith("### ✅ The session passes\n")
    path.write_text("of another command\n", encoding="utf-8")
    assert append_job_summary(path, of([row(unproven())]))
    assert path.read_text(encoding="utf-8").startswith("of another command\n\n### ❌ The session does not pass\n")


def test_a_job_summary_leaves_room_for_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * 700_000)
    assert append_job_summary(path, of(distinct(3_000, 400)))
    assert 750_000 < path.stat().st_size < 1_048_576
    path.write_bytes(b"x" * 1_040_000)
    assert not append_job_summary(path, of([row(clean())]))
    assert path.read_bytes() == b"x" * 1_040_000


def test_a_summary_is_written_as_utf8(tmp_path: Path) -> None:
    path = tmp_path / "new" / "comment.md"
    write_summary(path, of(hostile_rows()))
    assert path.read_text(encoding="utf-8").startswith(MARKER + "\n### ")


def test_values_say_whose_they_are() -> None:
    one = row(still_failing())
    cause = one["turns"][1]["divergences"][0]
    told = {
        "| `state.x` `is 1, 2 was wanted` | now `1` |": {"kind": "expect", "detail": "state.x is 1, 2 was wanted"},
        "| `state.x` `x is wrong` | now `1` |": {"kind": "expect", "detail": "x is wrong"},
        "| `state.x` only in the replay | now `1` |": {"kind": "added"},
        "| `state.x` only in the recording | recorded `1` |": {"kind": "removed"},
        "| `state.x` only in the accepted turn | accepted `1` |": {"kind": "removed", "baseline": True},
        "| `state.x` another value | `1` → `2` |": {"kind": "value", "recorded": 1, "replayed": 2},
    }
    for line, found in told.items():
        cause.clear()
        side = "recorded" if found["kind"] == "removed" else "replayed"
        cause.update({"path": "state.x", "facet": "state", side: 1, **found})
        assert line in render_comment(of([one]))


@pytest.mark.parametrize("render", [render_comment, render_job_summary])
def test_the_command_that_replays_one_again_names_the_agent_that_was_given(render: Any) -> None:
    given = "--statebase-agent=sample.fixed:SupportAgent"
    again = row(still_failing())
    assert given not in render(of([again]))
    assert f" {given} -v`" in render(of([again | {"agent_given": True}]))


def test_calls_without_values_are_told_in_words() -> None:
    one = row(still_failing())
    cause = one["turns"][1]["divergences"][0]
    told = {
        "now not made": {"facet": "tools", "kind": "expect", "detail": "refund was not called"},
        "now nothing": {"facet": "output", "kind": "expect", "detail": "output does not contain 'x'"},
        "made, in another turn": {
            "facet": "tools",
            "kind": "moved",
            "detail": "in turn 4",
            "recorded": 1,
            "replayed": 1,
        },
        "made, in another order": {"facet": "tools", "kind": "reordered", "detail": "after b", "recorded": 1},
        "not told": {"facet": "tools", "kind": "value", "detail": "could not be compared: KeyError"},
    }
    for words, found in told.items():
        cause.clear()
        cause.update({"path": "tools.refund", **found})
        line = section(render_comment(of([one])), "1 session that does not pass")[-1]
        assert line.endswith(f" | `tools.refund` `{found['detail'].removeprefix('refund ')}` | {words} |")


def test_reasons_without_a_difference_are_told_in_words() -> None:
    again, stale = row(still_failing()), row(unproven())
    again["turns"][1]["divergences"] = []
    stale["turns"][0] |= {"verdict": "stale", "reason": "no model call is recorded", "divergences": []}
    lines = section(render_comment(of([again, stale, all_rows()[-1]])), "3 sessions that do not pass")[3:]
    assert [line.split(" | ")[-1] for line in lines] == ["the same |", "not judged |", "not replayed |"]
