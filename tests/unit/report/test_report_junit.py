"""JUnit's XML of merged results: what CI servers read, whatever was recorded."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from report_data import RUN, all_rows, clean, hostile, row, still_failing

from pytest_statebase.report.ci.junit import write_junit
from pytest_statebase.report.page.view import anchors_of
from pytest_statebase.report.runs import Run

SCHEMA = {
    "testsuites": ({"name"}, set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"skipped", "time", "timestamp"}, {"testcase"}),
    "testcase": (
        {"name"},
        {"classname", "time"},
        {"properties", "failure", "error", "skipped", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
}
"""As pytest's `xunit2` has it: for each element the attributes that it must have, those that it may, its children."""
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def written(tmp_path: Path, rows: list[Any], url: str | None = None, page: Path | None = None) -> ElementTree.Element:
    path = tmp_path / "new" / "junit.xml"
    write_junit(path, Run(rows, RUN, url=url), page)
    assert not NOT_XML.search(path.read_text(encoding="utf-8"))
    root = ElementTree.fromstring(path.read_bytes())
    for element in root.iter():
        required, allowed, children = SCHEMA[element.tag]
        assert required <= set(element.attrib) <= required | allowed
        assert {child.tag for child in element} <= children
        if "time" in element.attrib:
            assert re.fullmatch(r"\d+\.\d{3}", element.attrib["time"])
    return root


def cases(root: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {f"{case.get('classname')}::{case.get('name')}": case for case in root.iter("testcase")}


def properties(case: ElementTree.Element) -> dict[str, str]:
    return {one.attrib["name"]: one.attrib["value"] for one in case.iter("property")}


@pytest.mark.parametrize(
    ("nodeid", "classname", "name"),
    [
        ("tests/a/test_m.py::test_p", "tests.a.test_m", "test_p"),
        ("tests/a/test_m.py::TestM::TestN::test_p[a::b]", "tests.a.test_m.TestM.TestN", "test_p[a::b]"),
        ("test_m.py::test_p[docs/x]", "test_m", "test_p[docs/x]"),
        ("test_m.py::test_p[[a]::[b.py]]", "test_m", "test_p[[a]::[b.py]]"),
        ("test_m.py::test_p[]", "test_m", "test_p[]"),
        ("fixtures/refund.session.yaml::turn-2", "fixtures.refund.session.yaml", "turn-2"),
        ("odd [dir]/test_m.py::test_p[a]", "odd [dir].test_m", "test_p[a]"),
        ("broken", "", "broken"),
    ],
)
def test_a_case_has_the_names_that_pytest_gives_it(tmp_path: Path, nodeid: str, classname: str, name: str) -> None:
    (case,) = written(tmp_path, [{**row(clean()), "nodeid": nodeid}]).iter("testcase")
    assert (case.get("classname"), case.get("name")) == (classname, name)


def test_cases_are_named_as_pytest_names_them_and_counted(tmp_path: Path) -> None:
    root = written(tmp_path, all_rows())
    suite = root.find("testsuite")
    assert suite is not None
    counts = {key: suite.get(key) for key in ("name", "tests", "failures", "errors", "skipped", "timestamp")}
    assert counts == {
        "name": "statebase",
        "tests": "9",
        "failures": "4",
        "errors": "1",
        "skipped": "0",
        "timestamp": "2026-03-16T08:00:00Z",
    }
    found = cases(root)
    assert list(found)[:2] == [
        "fixtures.refund.session.yaml::turn-2",
        "fixtures.partial-refund.session.yaml::version-0",
    ]
    failure = found["fixtures.refund.session.yaml::turn-2"].find("failure")
    assert failure is not None
    assert failure.attrib == {
        "message": "turn 2 still-failing: tools.issue_refund.arguments.amount: recorded 42.5, replayed 40.0",
        "type": "still-failing",
    }
    assert "state.refund_issued" in str(failure.text)
    error = found["fixtures.typo.session.yaml::version-0"].find("error")
    assert error is not None
    assert error.get("message", "").startswith("fixtures/typo.session.yaml:4:1: unknown key")
    assert error.get("type") == "could not run"
    assert [child.tag for child in found["fixtures.clean.session.yaml::version-0"]] == ["properties"]


def test_gate_warn_fails_nothing(tmp_path: Path) -> None:
    case = cases(written(tmp_path, all_rows()))["fixtures.greeting.session.yaml::version-0"]
    assert [child.tag for child in case] == ["properties", "system-out"]
    assert str(case.findtext("system-out")).startswith("gate: warn\n")


def test_properties_have_verdict_owner_and_link(tmp_path: Path) -> None:
    rows = [row(still_failing()), row(clean())]
    bad, good = anchors_of(rows)
    found = cases(written(tmp_path, rows, "https://ci.example/report.html"))
    assert properties(found["fixtures.refund.session.yaml::turn-2"]) == {
        "statebase_verdict": "1 still-failing, 1 unchanged",
        "statebase_session": "sess_refund",
        "statebase_owner": "payments-team",
        "statebase_link": f"https://ci.example/report.html#{bad}-2",
    }
    assert properties(found["fixtures.clean.session.yaml::version-0"]) == {
        "statebase_verdict": "3 unchanged",
        "statebase_session": "sess_clean",
        "statebase_link": f"https://ci.example/report.html#{good}",
    }


def test_without_an_address_links_lead_from_the_file_to_the_page(tmp_path: Path) -> None:
    root = written(tmp_path, [row(clean())], page=tmp_path / "pages" / "report.html")
    [case] = cases(root).values()
    assert properties(case)["statebase_link"].startswith("../pages/report.html#s-")


def test_tests_with_a_marker_keep_their_names(tmp_path: Path) -> None:
    nodeid = "tests/test_refund.py::TestRefund::test_twice"
    twice = {**row(clean()), "nodeid": nodeid}
    names = list(cases(written(tmp_path, [twice, {**twice, "fork": "turn 2"}])))
    assert names == ["tests.test_refund.TestRefund::test_twice", "tests.test_refund.TestRefund::test_twice (2)"]


@pytest.mark.parametrize("text", ["\ufffe\uffff", "\x00\x0b\x85\u2028", "]]>&<\"'", "\ud83d", "a\nb\tc\rd"])
def test_hostile_text_is_text(tmp_path: Path, text: str) -> None:
    made = hostile()
    made |= {"nodeid": f"fixtures/{text}.session.yaml::{text}", "owner": text, "session": text, "failure": text}
    broken = {**all_rows()[-1], "failure": text, "message": text, "nodeid": None}
    root = written(tmp_path, [hostile(), made, broken, {**made, "outcome": "passed", "verdicts": {text: 1}}], text)
    for failure in [*root.iter("failure"), *root.iter("error")]:
        assert len(failure.attrib["message"].splitlines()) == 1
    assert not re.search("[\u2028\u202e\x85]", "".join(root.itertext()))


def test_long_failures_are_cut_and_say_so(tmp_path: Path) -> None:
    made = row(still_failing())
    made["turns"][1]["reason"] = "long " * 100_000
    failure = written(tmp_path, [made]).find(".//failure")
    assert failure is not None
    assert len(str(failure.text)) < 21_000
    assert str(failure.text).endswith("characters)")
