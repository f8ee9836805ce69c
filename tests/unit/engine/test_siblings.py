"""Answers from other sessions: reads alone, of one world alone, and marked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Ledger, load_cassette, replay
from pytest_statebase.cassette import write_record
from pytest_statebase.compare.model import ReplayedCall, ReplayResult, Source
from pytest_statebase.errors import PlanError
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted

Call = tuple[str, dict[str, Any], Any]
PRICE_A: Call = ("price", {"item": "a"}, 10)
PRICE_B: Call = ("price", {"item": "b"}, 20)
BUY_A: Call = ("buy", {"item": "a"}, "bought")
RULES = "tools: {price: {reads: true}, stock: {reads: true}}\n"


def ledger(session: str, *turns: list[Call]) -> Ledger:
    events: list[Any] = [SessionCreated(session)]
    for number, calls in enumerate(turns, 1):
        events.append(TurnStarted(number, {"type": "text", "content": "go"}))
        for tool, arguments, result in calls:
            failed = isinstance(result, Exception)
            error = {"type": type(result).__name__, "message": str(result)} if failed else None
            events.append(ToolCalled(tool, arguments, error=error) if failed else ToolCalled(tool, arguments, result))
        events.append(TurnAdded({"type": "text", "content": "done"}))
    return Ledger(events)


class Pool:
    """A directory of cassettes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "pyproject.toml").touch()
        self.defaults("directory")

    def defaults(self, stubs_from: str | None) -> None:
        named = f"stubs_from: {stubs_from}\n" if stubs_from else ""
        (self.path / "statebase.yaml").write_text(RULES + named, encoding="utf-8")

    def add(self, name: str, *turns: list[Call], plan: str = "") -> Path:
        path = self.path / f"{name}.session.yaml"
        path.parent.mkdir(exist_ok=True)
        write_record(path.with_name(path.name.replace(".session.", ".record.")), ledger(path.name[:-13], *turns))
        path.write_text(f"cassette: 1\n{plan}", encoding="utf-8")
        return path


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool(tmp_path)


def run(path: Path, *calls: tuple[str, dict[str, Any]], **how: Any) -> ReplayResult:
    def agent(user_input: str, tools: Any) -> str:
        for tool, arguments in calls:
            try:
                tools.call(tool, arguments)
            except LookupError:
                continue
        return "done"

    return replay(load_cassette(path), agent, **how)


def test_a_read_is_answered_by_another_session_and_marked(pool: Pool) -> None:
    path = pool.add("a", [PRICE_A])
    pool.add("b", [PRICE_A], [PRICE_B])
    result = run(path, ("price", {"item": "a"}), ("price", {"item": "b"}))
    call = result.turns[0].calls[1]
    assert (call.source, call.sibling, call.result) == (Source.SIBLING, "b", 20)
    assert call.explanation == "answered by turn 2 of b: this session's record does not know it"
    assert result.turns[0].verdict == "changed"
    (extra,) = result.turns[0].divergences
    assert extra.detail == "answered by another session"
    assert {name: number for name, number in result.counts().items() if number} == {"answered": 1, "sibling": 1}


def test_the_record_goes_first_and_the_simulator_last(pool: Pool) -> None:
    path = pool.add("a", [PRICE_A])
    pool.add("b", [PRICE_A, PRICE_B])
    asked: list[ReplayedCall] = []

    def simulator(call: ReplayedCall, state: Any, cassette: Any) -> int:
        asked.append(call)
        return 30

    how = {"unrecorded": "simulate", "simulator": simulator}
    result = run(path, *[("price", {"item": item}) for item in "abc"], **how)
    assert [call.source for call in result.turns[0].calls] == ["record", "sibling", "simulated"]
    assert [call.arguments for call in asked] == [{"item": "c"}]


def test_an_exception_is_an_answer(pool: Pool) -> None:
    path = pool.add("a", [PRICE_A])
    pool.add("b", [PRICE_A, ("price", {"item": "x"}, KeyError("x"))])
    result = run(path, ("price", {"item": "a"}), ("price", {"item": "x"}))
    assert result.turns[0].calls[1].error == {"type": "KeyError", "message": "'x'"}


@pytest.mark.parametrize(
    ("other", "call"),
    [
        ([PRICE_A, BUY_A], ("buy", {"item": "a"})),
        ([PRICE_A, BUY_A, PRICE_B], ("price", {"item": "b"})),
        ([PRICE_A, ("price", {}, 1)], ("price", {})),
        ([PRICE_A, PRICE_B, ("price", {"item": "b"}, 21)], ("price", {"item": "b"})),
        ([PRICE_A, PRICE_B], ("price", {"item": "c"})),
        ([PRICE_B], ("price", {"item": "b"})),
        ([PRICE_A, ("stock", {"item": "b"}, 1)], ("stock", {"item": "b"})),
    ],
    ids=[
        "a write",
        "after other writes",
        "without arguments",
        "a tool that changes by itself",
        "other arguments",
        "nothing in common",
        "nothing of that tool in common",
    ],
)
def test_what_siblings_do_not_answer(pool: Pool, other: list[Call], call: tuple[str, dict[str, Any]]) -> None:
    path = pool.add("a", [PRICE_A])
    pool.add("b", other)
    result = run(path, ("price", {"item": "a"}), call)
    assert result.turns[0].verdict == "unrecorded"


def test_the_same_writes_before_a_read_are_the_same_world(pool: Pool) -> None:
    path = pool.add("a", [PRICE_A, BUY_A])
    pool.add("b", [PRICE_A, BUY_A, PRICE_B])
    result = run(path, ("buy", {"item": "a"}), ("price", {"item": "b"}))
    assert result.turns[0].calls[1].sibling == "b"


def test_the_same_writes_in_another_order_are_another_world(pool: Pool) -> None:
    buy_b: Call = ("buy", {"item": "b"}, "ok")
    path = pool.add("a", [PRICE_A, BUY_A, buy_b])
    pool.add("b", [PRICE_A, buy_b, BUY_A, PRICE_B])
    result = run(path, ("buy", {"item": "a"}), ("buy", {"item": "b"}), ("price", {"item": "b"}))
    assert result.turns[0].verdict == "unrecorded"
    result = run(path, ("buy", {"item": "b"}), ("buy", {"item": "a"}), ("price", {"item": "b"}))
    assert result.turns[0].calls[2].sibling == "b"


@pytest.mark.parametrize("where", ["own and sibling", "two siblings"])
def test_sessions_that_contradict_each_other_answer_nothing(pool: Pool, where: str) -> None:
    other: Call = ("price", {"item": "a"}, 11)
    path = pool.add("a", [PRICE_A if where == "own and sibling" else BUY_A])
    pool.add("b", [other, PRICE_B])
    pool.add("c", [other if where == "own and sibling" else PRICE_A])
    first = ("price" if where == "own and sibling" else "buy", {"item": "a"})
    result = run(path, first, ("price", {"item": "b"}))
    assert result.turns[0].verdict == "unrecorded"
    (warning,) = [text for text in result.warnings if "stubs_from" in text]
    assert "price(item='a') gave one result in turn 1 of" in warning


def test_each_session_numbers_what_was_redacted_for_itself(pool: Pool) -> None:
    ours, theirs = (f"email-{number}@{tag}.example.com" for number, tag in ((1, "0a0a0a0a"), (4, "0b0b0b0b")))
    stranger = "email-5@0b0b0b0b.example.com"
    path = pool.add("own", [("price", {"item": "a"}, {"seller": ours})])
    pool.add("other", [("price", {"item": "a"}, {"seller": theirs}), ("price", {"item": "b"}, [theirs, stranger])])
    (call,) = run(path, ("price", {"item": "b"})).turns[0].calls
    assert call.source is Source.SIBLING
    assert call.result == [ours, stranger]


def test_values_that_were_not_redacted_are_compared(pool: Pool) -> None:
    path = pool.add("own", [("price", {"item": "a"}, {"seller": "kim@mail.net"})])
    pool.add("other", [("price", {"item": "a"}, {"seller": "lee@mail.net"}), PRICE_B])
    result = run(path, ("price", {"item": "b"}))
    assert result.turns[0].verdict == "unrecorded"
    assert "`stubs_from` answers nothing" in result.warnings[-1]


def test_ids_of_sessions_are_read_as_this_one(pool: Pool) -> None:
    path = pool.add("sess_a", [("stock", {"session": "sess_a"}, {"seen": "sess_a"})])
    more: Call = ("stock", {"session": "sess_b", "more": True}, {"seen": "sess_b"})
    pool.add("sess_b", [("stock", {"session": "sess_b"}, {"seen": "sess_b"}), more])
    result = run(path, ("stock", {"session": "sess_a"}), ("stock", {"session": "sess_a", "more": True}))
    assert result.turns[0].calls[1].result == {"seen": "sess_a"}


@pytest.mark.parametrize(
    ("plan", "answered"),
    [
        ("stubs_from: more/far.session.yaml\n", True),
        ("stubs_from: [near.session.yaml, 'more/*.session.yaml']\n", True),
        ("stubs_from: ['**/far.session.yaml']\n", True),
        ("stubs_from: more/far.record.yaml\n", True),
        ("stubs_from: near.session.yaml\n", False),
        ("stubs_from: []\n", False),
        ("", True),
    ],
)
def test_the_nearest_file_says_which(pool: Pool, plan: str, answered: bool) -> None:
    path = pool.add("a", [PRICE_A], plan=plan)
    pool.add("near", [PRICE_A])
    pool.add("more/far", [PRICE_A, PRICE_B])
    result = run(path, ("price", {"item": "a"}), ("price", {"item": "b"}))
    assert (result.turns[0].verdict == "changed") is answered


def _missing(pool: Pool) -> str:
    return "nowhere.session.yaml"


def _nothing(pool: Pool) -> str:
    return "'*/no*.session.yaml'"


def _broken(pool: Pool) -> str:
    broken = pool.add("b", [PRICE_A]).with_name("b.record.yaml")
    broken.write_bytes(broken.read_bytes().replace(b"10", b"12"))
    return "b.session.yaml"


def _other_file(pool: Pool) -> str:
    return "pyproject.toml"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (_missing, "names nowhere.session.yaml, which is not there"),
        (_nothing, "and nothing matches"),
        (_broken, r"names b.session.yaml, which cannot be read: .*seal.*b\.record\.yaml"),
        (_other_file, "this is no cassette"),
    ],
)
def test_a_sibling_that_cannot_be_read_is_one_error(pool: Pool, make: Callable[[Pool], str], what: str) -> None:
    name = make(pool)
    path = pool.add("a", [PRICE_A], plan=f"title: t\nstubs_from:\n  - {name}\n")
    with pytest.raises(PlanError, match=what) as caught:
        run(path, ("price", {"item": "a"}))
    assert caught.value.where == f"{path}:4:5"


def test_a_changed_sibling_is_read_again(pool: Pool) -> None:
    path = pool.add("a", [PRICE_A])
    calls = (("price", {"item": "a"}), ("price", {"item": "b"}))
    pool.add("b", [PRICE_A])
    assert run(path, *calls).turns[0].verdict == "unrecorded"
    for name in ("b.session.yaml", "b.record.yaml"):
        (pool.path / name).unlink()
    pool.add("b", [PRICE_A, PRICE_B])
    assert run(path, *calls).turns[0].calls[1].sibling == "b"
