"""The JSON Schemas take what the reader takes, and know just the keys that it knows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase.cassette import (
    Answer,
    CallExpect,
    Expect,
    Known,
    OutputExpect,
    Plan,
    ReplaySpec,
    Retention,
    StubsFrom,
    ToolRules,
    ToolsExpect,
    expectread,
    planread,
    record,
    shapes,
)
from pytest_statebase.cassette.planwrite import plan_text
from pytest_statebase.cassette.yamlread import parse
from pytest_statebase.ledger import ForkPoint

jsonschema = pytest.importorskip("jsonschema")

FIXTURES = Path(__file__).parents[3] / "fixtures"
DOCS = Path(__file__).parents[3] / "docs"


def schema(name: str) -> dict[str, Any]:
    text = files("pytest_statebase").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def checker(name: str) -> Any:
    jsonschema.Draft202012Validator.check_schema(schema(name))
    return jsonschema.Draft202012Validator(schema(name))


def as_json(value: Any) -> Any:
    """As an editor sees it: every key is a text."""
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, list) else value


def documents(data: bytes) -> Iterator[Any]:
    for document in parse(data, where="sample"):
        yield as_json(document.value)


def kind_of(file: Path) -> str:
    return {"session": "plan", "record": "record"}.get(file.name.split(".")[-2], "defaults")


@pytest.mark.parametrize(
    "file",
    [file for file in sorted(FIXTURES.glob("*.yaml")) if ".accepted." not in file.name],
    ids=lambda file: str(file.name),
)
def test_shipped_files_are_valid(file: Path) -> None:
    for document in documents(file.read_bytes()):
        checker(kind_of(file)).validate(document)


def test_samples_of_the_documentation_are_valid() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md")))
    found = re.findall(r"<!-- check: (plan|defaults|record) -->\n```yaml\n(.*?)```", pages, re.DOTALL)
    assert {name for name, _ in found} == {"plan", "defaults", "record"}
    for name, text in found:
        for document in documents(text.encode()):
            checker(name).validate(document)


FULL = Plan(
    session="s",
    record="s.record.yaml",
    agent="a",
    title="t",
    replays=(ReplaySpec(ForkPoint("turn", 2), 3, "isolated"), ReplaySpec(ForkPoint("last-good"), "end")),
    failing=frozenset({2, 3}),
    expect={
        2: Expect(
            OutputExpect(("a", "b"), ("c",), ("d+",), {"x": 1}),
            ToolsExpect(("t", CallExpect("t", {"y[0].b": 1})), (CallExpect("u", {"x": None}),)),
            {"cart[0]": 1},
        )
    },
    answers=(Answer("t", {"x": 1}, result=None), Answer("t", {}, error={"type": "ValueError", "message": "no"})),
    inputs={3: "then"},
    ignore=("**.id", "state.at"),
    compare={"output": "exact"},
    owner="o",
    gate="warn",
    known=(Known("0123456789ab", date(2026, 11, 1), "PAY-12"), Known("fedcba987654", date(2026, 11, 2))),
    retention=Retention(until=date(2027, 1, 31)),
    tools={"t": ToolRules(True, ("x",), ("old", "older"), {"a": "b"}, {"c": "any", "d": 1}, None, True)},
    stubs_from=(StubsFrom("directory"), StubsFrom("other/*.session.yaml")),
)


def test_a_generated_plan_is_valid_and_comes_back(tmp_path: Path) -> None:
    text = plan_text(FULL)
    for document in documents(text.encode()):
        checker("plan").validate(document)
    (tmp_path / "s.session.yaml").write_text(text, encoding="utf-8")
    found = planread.read_plan(tmp_path / "s.session.yaml")
    assert replace(found, answers=()) == replace(FULL, answers=())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan", "session: x"),
        ("plan", "cassette: 2"),
        ("plan", "cassette: 1\nfaling: [1]"),
        ("plan", "cassette: 1\nfailing: [0]"),
        ("plan", "cassette: 1\nreplay: {fork: turn}"),
        ("plan", "cassette: 1\nexpect: {one: {output: {contains: x}}}"),
        ("plan", "cassette: 1\nexpect: {1: {}}"),
        ("plan", "cassette: 1\nexpect: {1: {tools: {called: {arguments: {x: 1}}}}}"),
        ("plan", "cassette: 1\nexpect: {1: {tools: {called: {tool: t, args: {x: 1}}}}}"),
        ("plan", "cassette: 1\nanswers: [{tool: t}]"),
        ("plan", "cassette: 1\ntools: {t: {result: 'm:f'}}"),
        ("plan", "cassette: 1\nknown: [{fingerprint: 0123456789ab}]"),
        ("plan", "cassette: 1\nstubs_from: [3]"),
        ("defaults", "session: x"),
        ("defaults", "tools: {t: {reads: maybe}}"),
        ("defaults", "known: [{fingerprint: x, until: 2026-11-01}]"),
        ("record", "kind: session\nid: x"),
        ("record", "kind: turn\nnumber: 0"),
        ("record", "kind: turn\nnumber: 1\nevents: [{called: x}]"),
        ("record", "kind: event\nstate: 1"),
        ("record", "kind: other"),
    ],
)
def test_what_the_reader_refuses_is_not_valid(name: str, text: str) -> None:
    (document,) = documents(text.encode())
    assert not checker(name).is_valid(document)


def keys(found: Mapping[str, Any]) -> set[str]:
    return set(found["properties"])


def plans(name: str) -> dict[str, Any]:
    whole = schema(name)
    found: dict[str, Any] = whole["$defs"]["defaults"] if name == "defaults" else whole
    return found


@pytest.mark.parametrize(
    ("name", "table", "rules"),
    [("plan", planread.PLAN, planread._RULES_OF_PLAN), ("defaults", planread.DEFAULTS, planread._RULES)],
)
def test_plans_have_the_keys_of_the_reader(name: str, table: Mapping[str, Any], rules: Mapping[str, Any]) -> None:
    top = plans(name)
    assert keys(top) == set(table)
    properties = top["properties"]
    allowed = {key for key, reader in rules.items() if reader is not planread._not_in_a_plan}
    assert keys(properties["tools"]["additionalProperties"]) == allowed
    assert keys(properties["known"]["items"]) == set(planread._KNOWN)
    assert keys(properties["replay"]["anyOf"][0]) == set(planread._REPLAY)
    assert keys(properties["compare"]) == {"output"}


def test_expect_and_answers_have_the_keys_of_the_reader() -> None:
    properties = plans("plan")["properties"]
    (expect,) = properties["expect"]["patternProperties"].values()
    assert keys(expect) == set(expectread.EXPECT)
    assert keys(expect["properties"]["output"]) == set(expectread.OUTPUT)
    assert keys(expect["properties"]["tools"]) == set(expectread.TOOLS)
    assert keys(plans("plan")["$defs"]["call"]["anyOf"][1]) == set(expectread.CALL)
    assert keys(properties["answers"]["items"]) == set(planread._ANSWER)


def test_records_have_the_keys_of_the_reader() -> None:
    defs = schema("record")["$defs"]
    for name, shape in shapes.ITEMS.items():
        wanted = set(shape.keys)
        if name == "memory":
            assert keys(defs["memory"]["properties"]["memory"]) == set(shapes._IN_MEMORY)
            wanted = wanted - set(shapes._IN_MEMORY) | {"memory"}
        if name == "state":
            wanted |= {"patch"}
        assert keys(defs[name]) == wanted, name
    assert keys(defs["session"]) == {"record", "kind", *shapes.SESSION.keys}
    assert keys(defs["turn"]) == {*record._TURN_KEYS, *shapes.ADDED.keys}
    assert keys(defs["end"]) == {"kind", "ended", "seal", "documents", *shapes.ENDED.keys}
    assert schema("record")["properties"]["kind"]["enum"] == list(record._KINDS)
