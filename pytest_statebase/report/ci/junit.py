"""JUnit's XML of rows, for shards whose own files are not together, and what pytest's own says of a replay."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from ..grouping import group_of_turn, in_one_line, judged, name_of, root_cause, tally_text
from ..page.view import anchors_of
from ..results import replace_file
from ..rows import Row
from ..runs import Run
from ..show import shorten, visible
from ..terminal import failure_lines, plain

_TEXT = 20_000
"""Characters that a test case says of its failure."""


def write_junit(path: Path, made: Run, page: Path | None = None) -> None:
    """One suite with one test case a replay, named as pytest names its item, so that both have one history.

    page: the HTML report, to which links lead where it is not said where it will be published.
    """
    where = page_from(path, made.url, page)
    suite = Element("testsuite", name="statebase")
    seen: Counter[str] = Counter()
    for row, link in zip(made.rows, links_of(made.rows, where), strict=True):
        name = visible(name_of(row))
        seen[name] += 1
        suite.append(_case(row, name if seen[name] == 1 else f"{name} ({seen[name]})", link))
    _count(suite, made)
    root = Element("testsuites", name="pytest-statebase")
    root.append(suite)
    indent(root)
    replace_file(path, tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _count(suite: Element, made: Run) -> None:
    suite.set("tests", str(len(suite)))
    for what in ("failure", "error"):
        suite.set(f"{what}s", str(sum(case.find(what) is not None for case in suite)))
    suite.set("skipped", "0")
    suite.set("time", f"{sum(row['duration_ms'] for row in made.rows) / 1000:.3f}")
    if made.run.get("started_at"):
        suite.set("timestamp", visible(str(made.run["started_at"])))


def _case(row: Row, name: str, link: str) -> Element:
    path, between, rest = name.partition("::")
    names, bracket, parameters = rest.partition("[")
    *classes, last = [path.replace("/", ".").removesuffix(".py"), *(names.split("::") if between else [])]
    called = {"classname": ".".join(classes), "name": last + bracket + parameters}
    case = Element("testcase", called, time=f"{row['duration_ms'] / 1000:.3f}")
    told = SubElement(case, "properties")
    for key, value in properties_of(row, link):
        SubElement(told, "property", name=key, value=value)
    if row["outcome"] == "passed":
        return case
    text = shorten(plain(failure_lines(row)), _TEXT)
    if row["gate"] == "warn":
        SubElement(case, "system-out").text = f"gate: warn\n{text}"
    else:
        kind = "error" if row["outcome"] == "error" else "failure"
        SubElement(case, kind, message=in_one_line(row), type=_deciding(row)).text = text
    return case


def _deciding(row: Row) -> str:
    """The verdict of the turn that keeps a replay from passing."""
    bad = [turn["verdict"] for turn in judged(row) if not group_of_turn(turn).passes]
    return visible(bad[0]) if bad else "could not run" if row["outcome"] == "error" else "failed"


def properties_of(row: Row, link: str) -> Iterator[tuple[str, str]]:
    """What a test case says of its replay: verdicts, session, owner, and where the page has it. Text as XML allows."""
    yield "statebase_verdict", tally_text(row["verdicts"]) or "could not run"
    yield "statebase_session", visible(row["session"])
    if row["owner"]:
        yield "statebase_owner", visible(row["owner"])
    root = root_cause(row) if row["outcome"] != "passed" else None
    if link:
        yield "statebase_link", visible(link) + (f"-{root[0]['turn']}" if root else "")


def page_from(path: Path, url: str | None, page: Path | None) -> str:
    """Where the page is for a reader of the XML at `path`: published, or written; empty where it is neither."""
    return url or ("" if page is None else Path(os.path.relpath(page, path.parent)).as_posix())


def links_of(rows: Sequence[Row], where: str) -> list[str]:
    """Where the page that is published or written at `where` has each of these replays; empty where there is none."""
    return [f"{where}#{anchor}" if where else "" for anchor in anchors_of(rows)]
