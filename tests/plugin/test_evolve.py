"""A world that moves on: renamed tools, calls that no longer fit, live answers, known divergences, hand-offs."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_statebase import Cassette, replay
from tests import toy
from tests.plugin.conftest import INI, PLAN, Project

MODERN = '''
"""Today's version of the toy: its tool has another name, another argument and one more."""
from typing import Any

from pytest_statebase import acting_as
from toy import ITEMS, Toy, price

RAN = []


def fetch_price(item_id: str, region: str) -> dict[str, Any]:
    RAN.append(item_id)
    if item_id == "unicorn":
        raise LookupError("no unicorn in " + region)
    return {"item": item_id, "price": len(item_id), "currency": "EUR"}


async def fetch_later(item_id: str) -> int:
    RAN.append(item_id)
    return len(item_id)


def todays(result):
    return {**result, "price": {"amount": result["price"]}} if isinstance(result["price"], int) else result


class Modern(Toy):
    def calls(self, turn):
        for item in self.items(turn):
            fetch_price(item, region="EU")


class Curious(Modern):
    """Asks for one thing more."""

    def items(self, turn):
        return [*super().items(turn), "kiwi"] if turn == 3 else super().items(turn)


class Hopeful(Modern):
    def calls(self, turn):
        super().calls(turn)
        if turn == 3:
            try:
                fetch_price("unicorn", region="EU")
            except LookupError as error:
                assert str(error) == "no unicorn in EU"


class Later(Modern):
    async def __call__(self, user_input, turn):
        if turn == 3:
            assert await fetch_later("kiwi") == 4
        return Toy.__call__(self, user_input, turn)


class Nested(Modern):
    """Reads what the tool gives in today's shape."""

    def calls(self, turn):
        for item in self.items(turn):
            assert fetch_price(item, region="EU")["price"]["amount"] == len(item)


class Team(Toy):
    """Two agents share the work of turn 2."""

    second = "billing"

    def calls(self, turn):
        for position, item in enumerate(self.items(turn)):
            with acting_as(self.second if position else "triage"):
                price(item)


class Lonely(Team):
    second = "triage"
'''
MODERN_INI = INI.replace("toy:price\n", "modern:fetch_price\n    modern:fetch_later\n")
MOVED = "tools:\n  fetch_price: {was: price, rename: {item: item_id}, added: {region: any}, reads: true}\n"


@pytest.fixture
def modern(project: Project) -> Project:
    """The toy's recording beside today's tools."""
    (project.path / "modern.py").write_text(MODERN, encoding="utf-8")
    project.ini(MODERN_INI)
    project.cassette()
    return project


def defaults(project: Project, text: str) -> None:
    (project.fixtures / "statebase.yaml").write_text(text, encoding="utf-8")


def run(project: Project, *args: str, agent: str = "modern:Modern") -> tuple[pytest.RunResult, list[dict[str, Any]]]:
    result = project.run("--statebase-results=results.jsonl", *args, agent=agent)
    return result, project.results()


def test_a_renamed_tool_answers_from_the_sealed_record(modern: Project) -> None:
    before = modern.hashes()
    defaults(modern, MOVED)
    result, (row,) = run(modern)
    assert row["verdicts"] == {"unchanged": 3}, result.stdout.str()
    assert row["turns"][0]["calls"][0]["label"] == "fetch_price"
    assert "unbound" not in row
    assert {name: text for name, text in modern.hashes().items() if name != "statebase.yaml"} == before


def test_without_the_entry_it_is_red(modern: Project) -> None:
    _, (row,) = run(modern)
    assert row["outcome"] != "passed"


def test_answers_expect_and_ignore_are_read_with_todays_names(modern: Project) -> None:
    defaults(modern, MOVED)
    plan = (
        "answers: [{tool: price, arguments: {item: kiwi}, result: {price: 4}}]\n"
        "expect: {3: {tools: {called: price, not_called: [stock]}}}\n"
        "ignore: [tools.price.order]\n"
    )
    (modern.fixtures / "toy.session.yaml").write_text(PLAN + plan, encoding="utf-8")
    _, (row,) = run(modern, agent="modern:Curious")
    assert row["calls"]["authored"] == 1
    assert [turn["verdict"] for turn in row["turns"]] == ["unchanged", "unchanged", "changed"]
    assert row["turns"][2]["divergences"][0]["path"] == "tools.fetch_price#2"
    assert not any("hid nothing" in warning for warning in row["warnings"])


def test_a_function_makes_todays_results(modern: Project) -> None:
    defaults(modern, MOVED.replace("reads: true", "reads: true, result: 'modern:todays'"))
    result, (row,) = run(modern, agent="modern:Nested")
    assert row["verdicts"] == {"unchanged": 3}, result.stdout.str()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("fetch_price: {was: price, result: 'nowhere:todays'}", "`result` of `fetch_price`: *nowhere*does not import"),
        ("price: {rename: {item: currency}, added: {currency: EUR}}", "both speak of `currency`"),
        ("price: {was: price2}\n  stock: {was: price2}", "both say that they were `price2`"),
        ("fetch_price: {was: price, result: 'math:sqrt'}", "math:sqrt raised TypeError"),
    ],
)
def test_misuse_is_one_clear_message(modern: Project, entry: str, message: str) -> None:
    defaults(modern, f"tools:\n  {entry}\n")
    result, (row,) = run(modern)
    assert row["outcome"] == "error"
    assert "statebase.yaml:" in row["message"]
    result.stdout.fnmatch_lines([f"*{message}*"])
    assert "Traceback" not in result.stdout.str()


def test_renaming_to_an_argument_that_is_there(project: Project) -> None:
    defaults(project, "tools: {price: {rename: {item: request_id}}}\n")
    project.cassette(agent=toy.FreshIds)
    _, (row,) = run(project, agent="toy:Toy")
    assert "gives an argument the name `request_id`" in row["message"]
    assert "turn 1, call 1" in row["message"]


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_calls_that_no_longer_bind_are_said_once_a_run(modern: Project, workers: str) -> None:
    for name in ("second", "third"):
        modern.cassette(name, session=f"sess_{name}")
    defaults(modern, "tools: {fetch_price: {was: price, rename: {item: item_id}}}\n")
    result = modern.run(workers, "--statebase-results=results.jsonl", agent="modern:Modern")
    result.stdout.fnmatch_lines(["*fetch_price: 12 calls in 3 cassettes lack `region`; *"])
    text = result.stdout.str()
    assert text.count("lack `region`") == 1
    assert "fetch_price: {added: {region: any}}" in text
    assert modern.results()[0]["unbound"] == [
        {"tool": "fetch_price", "calls": 4, "lacks": ["region"], "unknown": []},
    ]
    assert "lack `region`" in modern.page()


def test_an_argument_that_the_tool_does_not_take(modern: Project) -> None:
    defaults(modern, "tools: {fetch_price: {was: price, added: {region: any}}}\n")
    result, _ = run(modern)
    result.stdout.fnmatch_lines(
        [
            "*fetch_price: 4 calls in 1 cassette lack `item_id` and have `item`, which the tool does not take*"
            "fetch_price: {rename: {item: item_id}}*"
        ]
    )


def test_a_miss_runs_the_tool_itself_where_it_may(modern: Project) -> None:
    defaults(modern, MOVED.replace("reads: true", "reads: true, live: true"))
    result, (row,) = run(modern, "--statebase-unrecorded=call", agent="modern:Curious")
    assert [turn["verdict"] for turn in row["turns"]] == ["unchanged", "unchanged", "changed"]
    call = row["turns"][2]["calls"][1]
    assert (call["source"], call["replayed"]["result"]["price"]) == ("live", 4)
    assert row["calls"]["live"] == 1
    result.stdout.fnmatch_lines(["*answered by the tool itself*", "calls *1 live*"])
    assert "the tool itself" in modern.page()


def test_accepting_keeps_what_it_answered(modern: Project) -> None:
    defaults(modern, MOVED.replace("reads: true", "reads: true, live: true"))
    run(modern, "--statebase-unrecorded=call", "--statebase-accept", agent="modern:Curious")
    _, (row,) = run(modern, agent="modern:Curious")
    assert [turn["verdict"] for turn in row["turns"]] == ["unchanged", "unchanged", "accepted"]
    assert row["calls"]["live"] == 0


def test_what_it_raises_comes_back_as_it_is(modern: Project) -> None:
    defaults(modern, MOVED.replace("reads: true", "reads: true, live: true"))
    _, (row,) = run(modern, "--statebase-unrecorded=call", agent="modern:Hopeful")
    call = row["turns"][2]["calls"][1]
    assert call["replayed"]["error"]["message"] == "no unicorn in EU"
    assert row["turns"][2]["verdict"] == "changed"


def test_async_tools_run_too(modern: Project) -> None:
    defaults(modern, MOVED + "  fetch_later: {live: true}\n")
    (modern.path / "pytest.ini").write_text(MODERN_INI + "statebase_unrecorded = call\n", encoding="utf-8")
    _, (row,) = run(modern, agent="modern:Later")
    assert row["calls"]["live"] == 1
    assert row["turns"][2]["calls"][0]["replayed"]["result"] == 4


def test_a_tool_that_is_not_marked_does_not_run(modern: Project) -> None:
    defaults(modern, MOVED)
    result, (row,) = run(modern, "--statebase-unrecorded=call", agent="modern:Curious")
    assert row["turns"][2]["verdict"] == "unrecorded"
    assert row["calls"]["live"] == 0
    result.stdout.fnmatch_lines(["*has no answer*it is not marked `live: true` in statebase.yaml*"])


# --- known ---------------------------------------------------------------------------------------------------------


def fingerprint(project: Project) -> str:
    """Of the one difference of OtherState."""
    return first_of(project, toy.OtherState, 3)


def first_of(project: Project, agent: type, turn: int) -> str:
    """The fingerprint of an agent's first divergence in a turn."""
    cassette = Cassette.from_ledger(project.ledger())
    return replay(cassette, agent, tools=toy.TOOLS).turn(turn).divergences[0].fingerprint


def known(project: Project, until: str = "2999-01-01", print_: str | None = None) -> str:
    return f"known: [{{fingerprint: {print_ or fingerprint(project)!r}, until: {until}, ticket: PAY-12}}]\n"


def test_a_known_divergence_fails_nothing(project: Project) -> None:
    project.cassette(plan=PLAN + known(project))
    result, (row,) = run(project, "-v", agent="toy:OtherState")
    result.assert_outcomes(passed=1)
    assert row["outcome"] == "passed"
    turn = row["turns"][2]
    assert (turn["verdict"], turn["excused"]) == ("changed", True)
    assert turn["known"][0]["ticket"] == "PAY-12"
    result.stdout.fnmatch_lines(
        [
            "review *turn 3 changed, known until 2999-01-01 (PAY-12)*",
            "review *1 session, turns: 1 changed, 2 unchanged, 1 turn known",
        ]
    )
    page = project.page()
    assert '"until": "2999-01-01", "ticket": "PAY-12"' in page


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_an_expired_one_fails_loudly(project: Project, workers: str) -> None:
    project.cassette(plan=PLAN + known(project, "2000-01-01"))
    result = project.run(workers, "--statebase-results=results.jsonl", agent="toy:OtherState")
    assert result.ret == 1
    loud = "known until 2000-01-01 (PAY-12) has expired"
    result.stdout.fnmatch_lines(
        [f"*turn 3 changed  {loud}*", f"fail *{loud}: turn 3 changed*", f"*{loud}, in 1 session*"]
    )
    (row,) = project.results()
    assert row["turns"][2]["expired"][0]["until"] == "2000-01-01"
    assert loud in project.page()


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_an_entry_that_matched_nothing_in_a_whole_run(project: Project, workers: str) -> None:
    defaults(project, known(project))
    project.cassette()
    project.cassette("other", session="sess_other")
    unused = "*warning *fixtures/statebase.yaml:1:9: the entry of `known` * (PAY-12) matched nothing*"
    project.run(workers).stdout.fnmatch_lines([unused])
    project.run(workers, agent="toy:OtherState").stdout.no_fnmatch_line(unused)
    # Part of a run says nothing: the others may need it.
    project.run("-k", "other").stdout.no_fnmatch_line(unused)


def test_what_follows_in_the_same_turn_is_excused_with_it(project: Project) -> None:
    missing = first_of(project, toy.MissingCall, 2)
    expect = "expect: {2: {output: {contains: nothing}}}\n"
    project.cassette(plan=PLAN + expect + known(project, print_=missing))
    _, (row,) = run(project, agent="toy:MissingCall")
    assert [(turn["verdict"], turn.get("excused")) for turn in row["turns"][:2]] == [
        ("unchanged", None),
        ("broken", True),
    ]
    assert row["outcome"] == "passed"


def test_another_divergence_in_the_turn_is_not(project: Project) -> None:
    project.cassette(plan=PLAN + known(project, print_=first_of(project, toy.MissingCall, 2)))
    _, (row,) = run(project, agent="toy:AnotherTool")
    assert row["outcome"] == "failed"


def test_a_known_miss_excuses_the_turns_behind_it(project: Project) -> None:
    project.cassette(plan=PLAN + known(project, print_=first_of(project, toy.ExtraCall, 2)))
    _, (row,) = run(project, agent="toy:ExtraCall")
    assert [turn["verdict"] for turn in row["turns"]] == ["unchanged", "unrecorded", "not-replayed"]
    assert row["outcome"] == "passed"


# --- hand-offs -----------------------------------------------------------------------------------------------------


def test_a_hand_off_to_another_agent_is_part_of_a_call(project: Project) -> None:
    (project.path / "modern.py").write_text(MODERN, encoding="utf-8")
    namespace: dict[str, Any] = {}
    exec(MODERN.replace("from toy", "from tests.toy"), namespace)
    project.cassette(agent=namespace["Team"])
    _, (row,) = run(project, agent="modern:Team")
    assert row["verdicts"] == {"unchanged": 3}
    result, (row,) = run(project, agent="modern:Lonely")
    found = row["turns"][1]["divergences"]
    assert [(one["path"], one["detail"]) for one in found] == [
        ("tools.price#2.agent", "made by triage, recorded billing"),
    ]
    result.stdout.fnmatch_lines(["*tools.price#2.agent  made by triage, recorded billing*"])
    page = project.page()
    assert '<tr class="agent">' in page
    # An agent that names nobody is not held against a recording that does, and the other way round.
    _, (row,) = run(project, agent="toy:Toy")
    assert row["verdicts"] == {"unchanged": 3}
