from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

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
)
from pytest_statebase.errors import FileError, FormatVersionError, PlanError
from pytest_statebase.ledger import ForkPoint
from pytest_statebase.values import ABSENT

FULL = """\
cassette: 1
session: sess_bug_report_456      # a comment
record: other.record.yaml
agent: customer-support
title: Refund promised on an order that was already delivered
replay: {fork: turn 2, until: turn 4, mode: isolated}
failing: [2]
expect:
  2:
    output: {not_contains: error, matches: "(?i)already delivered", contains: [a, b]}
    tools: {called: [lookup_order], not_called: issue_refund}
    state: {refund_issued: false, "cart[0].sku": x}
  3: {output: {equals: {type: text, content: null}}}
answers:
  - {tool: refund_policy, arguments: {country: DE}, result: {days: 14, fee: !decimal 1.10}}
  - {tool: fail, error: {type: ValueError, message: no}}
inputs: {3: "Fine, then exchange it"}
ignore: ["**.request_id", "state.cart[*].added_at"]
compare: {output: exact}
owner: payments-team
gate: warn
tools:
  lookup_order: {reads: true}
  think: {ignore: arguments}
"""


def plan(tmp_path: Path, text: str) -> Plan:
    path = tmp_path / "a.session.yaml"
    path.write_text(text, "utf-8")
    return read_plan(path)


def test_every_key(tmp_path: Path) -> None:
    path = tmp_path / "a.session.yaml"
    assert plan(tmp_path, FULL) == Plan(
        session="sess_bug_report_456",
        record="other.record.yaml",
        agent="customer-support",
        title="Refund promised on an order that was already delivered",
        replays=(ReplaySpec(ForkPoint("turn", 2), 4, "isolated"),),
        failing=frozenset({2}),
        expect={
            2: Expect(
                OutputExpect(("a", "b"), ("error",), ("(?i)already delivered",)),
                ToolsExpect(("lookup_order",), ("issue_refund",)),
                {"refund_issued": False, "cart[0].sku": "x"},
            ),
            3: Expect(OutputExpect(equals={"type": "text", "content": None})),
        },
        answers=(
            Answer("refund_policy", {"country": "DE"}, {"days": 14, "fee": Decimal("1.10")}, where=f"{path}:15:5"),
            Answer("fail", error={"type": "ValueError", "message": "no"}, where=f"{path}:16:5"),
        ),
        inputs={3: "Fine, then exchange it"},
        ignore=("**.request_id", "state.cart[*].added_at"),
        compare={"output": "exact"},
        owner="payments-team",
        gate="warn",
        tools={"lookup_order": ToolRules(reads=True), "think": ToolRules(ignore=("arguments",))},
    )


def test_positions_of_keys(tmp_path: Path) -> None:
    found = plan(tmp_path, FULL)
    path = tmp_path / "a.session.yaml"
    assert found.where["failing"] == f"{path}:7:1"
    assert found.where["failing[0]"] == f"{path}:7:11"
    assert found.where["expect.2.output.matches"] == f"{path}:10:35"
    assert found.where["answers[1].error.type"] == f"{path}:16:26"
    assert found.where["expect.2.state.refund_issued"] == f"{path}:12:13"
    assert found.where.get("nothing") is None
    assert len(found.where) > 20
    assert len(list(found.where)) == len(found.where)


def test_a_short_plan_has_defaults(tmp_path: Path) -> None:
    found = plan(tmp_path, "cassette: 1\n")
    assert found == Plan()
    assert found.replays == (ReplaySpec(ForkPoint("version", 0), None, None),)


def test_several_replays(tmp_path: Path) -> None:
    found = plan(tmp_path, "cassette: 1\nreplay:\n- fork: version 1\n- {fork: last-good, until: end}\n- {until: 3}\n")
    assert found.replays == (
        ReplaySpec(ForkPoint("version", 1)),
        ReplaySpec(ForkPoint("last-good"), "end"),
        ReplaySpec(until=3),
    )


def test_null_is_a_result(tmp_path: Path) -> None:
    (answer,) = plan(tmp_path, "cassette: 1\nanswers: [{tool: a, result: null}]").answers
    assert answer.result is None
    assert answer.error is None
    (answer,) = plan(tmp_path, "cassette: 1\nanswers: [{tool: a, error: {type: X}}]").answers
    assert answer.result is ABSENT


def test_hand_edited_values_stay_text(tmp_path: Path) -> None:
    (answer,) = plan(
        tmp_path,
        "cassette: 1\nanswers:\n- tool: t\n  arguments: {country: no, time: 10:00, code: 017, rate: 1e3, "
        "day: 2024-01-01, bad: 2024-13-45, on: x}\n  result: ok\n",
    ).answers
    assert answer.arguments == {
        "country": "no", "time": "10:00", "code": "017", "rate": 1000.0, "day": "2024-01-01", "bad": "2024-13-45",
        "on": "x",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("sesion: a", "2:1", "unknown key `sesion`\n  Did you mean `session`? Known keys: cassette, session"),
        ("knows: []", "2:1", "unknown key `knows`"),
        ("known: {}", "2:1", "`known` must be a list"),
        ('known: [{fingerprint: "0123456789ab"}]', "2:9", "without `until`"),
        ("known: [{until: 2026-11-01}]", "2:9", "without `fingerprint`"),
        ("known: [{fingerprint: 0123456789ab, until: soon}]", "2:37", "is no day"),
        ("known: [{fingerprint: 0123, until: 2026-11-01}]", "2:10", "is no fingerprint"),
        ("retention: 90", "2:1", "`retention` must be a mapping"),
        ("retention: {}", "2:1", "needs either `until` or `days`"),
        ("retention: {until: 2027-01-31, days: 90}", "2:1", "needs either `until` or `days`"),
        ("retention: {until: soon}", "2:13", "is no day"),
        ("retention: {days: 0}", "2:13", "is no number of days"),
        ("https: x", "2:1", "unknown key `https`"),
        ("http: x", "2:1", "'x' is no HTTP recording"),
        ("http: {files: x.yaml}", "2:8", "unknown key `files` in `http`"),
        ("expect:\n  2:\n    ouput: {}", "4:5", "unknown key `ouput` in `expect.2`\n  Did you mean `output`?"),
        ("expect: {2: {output: {contain: x}}}", "2:23", "unknown key `contain` in `expect.2.output`"),
        (
            "expect: {2: {tools: {called: 3}}}",
            "2:22",
            "`expect.2.tools.called` must be a tool, not 3\n  Write its name, or",
        ),
        ("expect: {2: {tools: {called: [a, '']}}}", "2:34", "`expect.2.tools.called[1]` must be a tool"),
        ("expect: {2: {tools: {called: {arguments: {x: 1}}}}}", "2:22", "`expect.2.tools.called` has no `tool`"),
        (
            "expect: {2: {tools: {called: [{tool: a, args: {}}]}}}",
            "2:41",
            "`args` in `expect.2.tools.called[0]`\n  Did",
        ),
        ("expect: {2: {tools: {called: {tool: a, arguments: [x]}}}}", "2:40", "must be a mapping of paths to values"),
        ("expect: {2: {tools: {not_called: {tool: a, arguments: {3: x}}}}}", "2:56", "must be a text, not 3"),
        ("tools: {a: {were: b}}", "2:13", "unknown key `were` in `tools.a`\n  Known keys: reads, ignore, was"),
        ("tools: {a: {result: m:f}}", "2:13", "`tools.a.result` stands in a plan"),
        ("tools: {a: {was: c}, b: {was: c}}", "2:22", "both say that they were `c`"),
        ("tools: {a: {was: b}, b: {was: a}}", "2:9", "was, by its `was`, itself"),
        ("tools: {a: {rename: [x]}}", "2:13", "`tools.a.rename` must be a mapping"),
        ("tools: {a: {rename: {x: y}, added: {y: 1}}}", "2:9", "both speak of `y`"),
        ("replay: {form: turn 2}", "2:10", "unknown key `form` in `replay`\n  Did you mean `fork`?"),
        ("compare: {outputs: exact}", "2:11", "unknown key `outputs`"),
        ("session: 7", "2:1", "`session` must be a text, not 7"),
        ("session: null", "2:1", "`session` must be a text, not null"),
        ("session: ''", "2:1", "`session` must be a text"),
        ("replay: turn 2", "2:1", "`replay` must be a mapping, not 'turn 2'"),
        ("replay: []", "2:1", "`replay` is an empty list"),
        ("replay: {fork: trun 2}", "2:10", "'trun 2' is no fork point\n  Write `version V`"),
        ("replay: [{fork: turn 2}, {until: turn 0}]", "2:27", "'turn 0' is no place to stop"),
        ("replay: {mode: fast}", "2:10", "`replay.mode` must be continuous or isolated, not 'fast'"),
        ("failing: [1, two]", "2:14", "'two' is no turn"),
        ("failing: 0", "2:1", "0 is no turn"),
        ("failing: [true]", "2:11", "True is no turn"),
        ("expect: [1]", "2:1", "`expect` must be a mapping of turns"),
        ("expect: {two: {}}", "2:10", "'two' is no turn"),
        ("expect: {2: {}}", "2:10", "`expect.2` expects nothing"),
        ("expect: {2: {output: {}}}", "2:14", "`expect.2.output` expects nothing"),
        ("expect: {2: {output: error}}", "2:14", "`expect.2.output` must be a mapping"),
        ("expect: {2: {output: {matches: '('}}}", "2:23", "'(' is no regular expression"),
        ("expect: {2: {output: {matches: [a, '[']}}}", "2:36", "'[' is no regular expression"),
        ("expect: {2: {output: {contains: [1]}}}", "2:34", "`expect.2.output.contains[0]` must be a text, not 1"),
        ("expect: {2: {state: {1: x}}}", "2:22", "must be a text"),
        ("answers: {tool: a}", "2:1", "`answers` must be a list"),
        ("answers: [{result: 1}]", "2:11", "an answer without `tool`"),
        ("answers: [{tool: a}]", "2:11", "either `result` or `error`"),
        ("answers: [{tool: a, result: 1, error: {}}]", "2:11", "either `result` or `error`"),
        ("answers: [{tool: a, arguments: [], result: 1}]", "2:21", "`answers[0].arguments` must be a mapping"),
        ("inputs: {1: 2}", "2:10", "`inputs.1` must be a text, not 2"),
        ("ignore: {a: 1}", "2:1", "`ignore` must be a text"),
        ("compare: {output: fuzzy}", "2:11", "`compare.output` must be exact or wording"),
        ("gate: open", "2:1", "`gate` must be block or warn"),
        ("tools: {a: {reads: yes}}", "2:13", "`tools.a.reads` must be true or false, not 'yes'"),
        ("tools: {a: 1}", "2:9", "`tools.a` must be a mapping"),
        ("session: a\nsession: b", "3:1", "'session' stands twice"),
        ("session:", "2:9", "a value is missing"),
        ("---\ncassette: 1", "3", "there are 2 documents"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path: Path, text: str, where: str, says: str) -> None:
    with pytest.raises(FileError) as caught:
        plan(tmp_path, f"cassette: 1\n{text}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'a.session.yaml'}:{where}: ")
    assert says in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("session: a", "the plan has no format\n  A plan begins with `cassette: 1`."),
        ("cassette: one", "the plan has no format"),
        ("record: 1\nkind: session\nid: a", "this is a record, not a plan"),
        ("- 1", "the file must be a mapping"),
        ("text", "the file must be a mapping"),
    ],
)
def test_what_is_no_plan(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan(tmp_path, text)
    assert says in str(caught.value)


def test_calls_with_arguments(tmp_path: Path) -> None:
    text = "cassette: 1\nexpect:\n  2:\n    tools:\n      called:\n"
    text += '        - {tool: book, arguments: {bags: 0, "items[0].sku": x}}\n        - look\n'
    text += "      not_called: {tool: look}\n"
    tools = plan(tmp_path, text).expect[2].tools
    assert tools == ToolsExpect((CallExpect("book", {"bags": 0, "items[0].sku": "x"}), "look"), ("look",))
    assert tools is not None
    assert [entry.where for entry in tools.called if isinstance(entry, CallExpect)] == [
        f"{tmp_path / 'a.session.yaml'}:6:11"
    ]


def test_a_future_format_is_refused_before_its_keys(tmp_path: Path) -> None:
    with pytest.raises(FormatVersionError, match="format 2; this version of pytest-statebase reads format 1") as caught:
        plan(tmp_path, "new_key: 1\ncassette: 2\n")
    assert caught.value.where == f"{tmp_path / 'a.session.yaml'}:2:1"
