"""Agents that ask for `statebase`: recorded and replayed through the same client."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_statebase import Cassette, Ledger, UnrecordedCall, record_session, replay
from pytest_statebase.cassette import load_cassette, write_record
from pytest_statebase.cassette.plan import Plan
from pytest_statebase.compare.model import Facet, Kind, ReplayResult, Verdict
from pytest_statebase.events import (
    MemoryAdded,
    MemoryDeleted,
    MemorySearched,
    MemoryUpdated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    memories_of,
    memory_event,
)
from pytest_statebase.statebase import ApiError, LocalClient
from tests import toy

INPUTS = ["I like tea", "an apple?", "undo that"]


class Shopper:
    """Keeps everything in StateBase and returns nothing itself."""

    taste = "Likes tea"

    def __call__(self, session_id: str, user_input: str, statebase: LocalClient) -> None:
        sb = statebase
        number = len(sb.sessions.list_turns(session_id)) + 1
        if number == 1:
            sb.memory.add(self.taste, "preference", session_id, ["drinks"])
            answer = "Noted."
        elif number == 2:
            found = sb.memory.search("tea", session_id=session_id)
            bought = toy.price("apple")
            sb.sessions.update_state(session_id, {"cart": ["apple"]}, "bought it")
            sb.sessions.add_tool_call(session_id, "price", {"item": "apple"}, bought)
            answer = f"{bought['price']}, and {found[0].content}"
        else:
            sb.sessions.rollback(session_id, -1, "changed their mind")
            answer = f"Cart: {sb.sessions.get_state(session_id).state}"
        sb.sessions.add_turn(session_id, user_input, answer, {"model": "none"}, f"turn {number}")


def recorded(agent: Any = Shopper) -> Ledger:
    return record_session(agent, INPUTS, session_id="sess_shop", tools=toy.TOOLS, state={"cart": []})


def replayed(agent: Any, ledger: Ledger | None = None, **options: Any) -> ReplayResult:
    return replay(Cassette.from_ledger(ledger or recorded()), agent, tools=toy.TOOLS, **options)


def test_what_an_agent_does_through_the_client_is_recorded(tmp_path: Path) -> None:
    ledger = recorded()
    first, second, third = ledger.turns
    kinds = [[type(event) for event in turn.events] for turn in ledger.turns]
    assert kinds == [[MemoryAdded], [MemorySearched, ToolCalled, StateUpdated], [StateRolledBack]]
    assert first.output == {"type": "text", "content": "Noted."}
    assert second.output["content"] == "5, and Likes tea"
    assert second.added is not None
    assert second.added.reasoning == "turn 2"
    assert second.added.metadata is not None
    assert second.added.metadata["model"] == "none"
    assert ledger.state == {"cart": []}
    assert third.version_after == 2
    write_record(tmp_path / "shop.record.yaml", ledger)
    again = load_cassette(tmp_path / "shop.record.yaml").ledger
    assert again.events == ledger.events


class Logger:
    """Logs the calls that it made, the later one first, and one that no stubbed tool made."""

    def __call__(self, session_id: str, user_input: str, statebase: LocalClient) -> str:
        log = statebase.sessions.add_tool_call
        toy.price("apple")
        toy.price("fig")
        toy.price(item="apple")
        log(session_id, "price", {"item": "fig"}, 2, reasoning="a fig", metadata={"n": 1})
        log(session_id, "price", {}, 5, reasoning="arguments were left out")
        log(session_id, "elsewhere", {"x": 1}, {"ok": 1}, "c", reasoning="by another way")
        return "done"


def test_what_an_agent_logs_of_its_calls_is_recorded_with_them(tmp_path: Path) -> None:
    ledger = recorded(Logger)
    turn = ledger.turns[0]
    assert [call.arguments["item"] for call in turn.calls] == ["apple", "fig", "apple"]
    assert [call.extra for call in turn.calls] == [
        {"reasoning": "arguments were left out"},
        {"reasoning": "a fig", "metadata": {"n": 1}},
        {},
    ]
    assert turn.added is not None
    (besides,) = turn.added.extra["logged"]
    assert besides.pop("at")
    told = {"tool": "elsewhere", "id": "c", "arguments": {"x": 1}, "result": {"ok": 1}, "reasoning": "by another way"}
    assert besides == told
    write_record(tmp_path / "log.record.yaml", ledger)
    assert load_cassette(tmp_path / "log.record.yaml").ledger.events == ledger.events
    assert [turn.verdict for turn in replayed(Logger, ledger).turns] == [Verdict.UNCHANGED] * 3


@pytest.mark.parametrize("mode", ["continuous", "isolated"])
def test_the_same_agent_is_unchanged(mode: str) -> None:
    result = replayed(Shopper, mode=mode)
    assert result.verdicts == {"unchanged": 3}, [turn.divergences for turn in result.turns]


def test_an_agent_is_told_of_its_history_by_the_client() -> None:
    result = replayed(Shopper, fork="turn 3")
    assert result.verdicts == {"unchanged": 1}
    assert result.warnings == []


class Forgetful(Shopper):
    taste = "Likes coffee"


def test_another_memory_is_a_change() -> None:
    result = replayed(Forgetful)
    turn = result.turn(1)
    assert turn.verdict == "changed"
    (found,) = turn.divergences
    assert (found.facet, found.kind, found.path) == (Facet.MEMORY, Kind.VALUE, "memory[0].content")
    assert (found.recorded, found.replayed) == ("Likes tea", "Likes coffee")


def test_memory_can_be_ignored() -> None:
    cassette = Cassette.from_ledger(recorded(), Plan(ignore=("memory[*].content",)))
    assert replay(cassette, Forgetful, tools=toy.TOOLS).turn(1).verdict == "unchanged"


class Eager(Shopper):
    def __call__(self, session_id: str, user_input: str, statebase: LocalClient) -> None:
        statebase.memory.add("One more", session_id=session_id)
        super().__call__(session_id, user_input, statebase)


def test_a_memory_too_many_is_one_divergence() -> None:
    found = replayed(Eager).turn(1).divergences
    assert [(one.kind, one.path) for one in found] == [(Kind.ADDED, "memory[0]")]


def test_a_missing_memory_is_one_divergence() -> None:
    found = replayed(Shopper, recorded(Eager)).turn(1).divergences
    assert [(one.kind, one.path) for one in found] == [(Kind.REMOVED, "memory[0]")]


def test_a_search_gives_what_it_gave() -> None:
    ledger = recorded()
    said = [{"id": "m", "session_id": "sess_shop", "content": "Likes tea", "type": "fact", "score": 0.91}]
    events = [MemorySearched(e.query, said) if isinstance(e, MemorySearched) else e for e in ledger.events]
    results: list[Any] = []

    def agent(session_id: str, statebase: LocalClient, turn: int) -> str:
        if turn == 2:
            results.append(statebase.memory.search("tea"))
            results.append(statebase.memory.search("likes"))
        return "x"

    replayed(agent, Ledger(events))
    assert results[0] == said
    assert results[0][0].score == 0.91
    assert [page.ranking for page in results] == ["recorded", "lexical"]


class Asks:
    """Looks in memory for a whole sentence, as the package does: with a threshold."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def __call__(self, session_id: str, statebase: LocalClient, turn: int) -> str:
        if turn == 1:
            statebase.memory.add("Likes tea", "preference", session_id)
            return "x"
        found = statebase.memory.search("what tea was it that they like", threshold=0.7)
        context = statebase.sessions.get_context(session_id, query="tea please")
        return f"{[one.content for one in found]} {context.ranking} {[one['content'] for one in context.memories]}"


def test_what_was_found_by_words_is_found_again(tmp_path: Path) -> None:
    ledger = recorded(Asks)
    said = [turn.output["content"] for turn in ledger.turns]
    assert said[1] == said[2] == "['Likes tea'] lexical ['Likes tea']"
    searches = [event for event in ledger.turns[1].events if isinstance(event, MemorySearched)]
    assert [(event.query, event.extra) for event in searches] == [
        ("what tea was it that they like", {"ranking": "lexical"}),
        ("tea please", {"ranking": "lexical"}),
    ]
    write_record(tmp_path / "asks.record.yaml", ledger)
    replay_of = replayed(Asks, load_cassette(tmp_path / "asks.record.yaml").ledger)
    outputs = [turn.replayed.output["content"] for turn in replay_of.turns]
    assert outputs == ["x", *["['Likes tea'] recorded ['Likes tea']"] * 2]


class Stubborn(Shopper):
    """Makes a call that has no answer, hides it and writes on."""

    refused: list[BaseException]

    def __call__(self, session_id: str, user_input: str, statebase: LocalClient) -> None:
        self.refused = Stubborn.seen = []
        for write in (
            lambda: toy.price("gold"),
            lambda: statebase.sessions.update_state(session_id, {"cart": ["gold"]}),
            lambda: statebase.sessions.rollback(session_id, 0),
            lambda: statebase.memory.add("gold", session_id=session_id),
            lambda: statebase.sessions.add_turn(session_id, "a", "b"),
        ):
            try:
                write()
            except BaseException as error:
                self.refused.append(error)

    seen: list[BaseException]


def test_nothing_is_written_after_a_miss() -> None:
    turn = replayed(Stubborn).turn(1)
    assert turn.verdict == "unrecorded"
    assert [type(error) for error in Stubborn.seen] == [UnrecordedCall] * 5
    assert turn.replayed is not None
    assert turn.replayed.state == {"cart": []}
    assert turn.replayed.memory == []


def test_nothing_is_written_after_the_turn() -> None:
    kept: list[LocalClient] = []

    def agent(statebase: LocalClient) -> str:
        kept.append(statebase)
        return "x"

    replayed(agent, until=1)
    with pytest.raises(UnrecordedCall, match="after its turn had ended"):
        kept[0].memory.add("late")


def test_the_client_knows_the_fork_by_both_ids() -> None:
    seen: list[Any] = []

    def agent(session_id: str, statebase: LocalClient) -> str:
        sessions = statebase.sessions
        seen.append((sessions.get("sess_shop").id, sessions.get(session_id).id, len(sessions.list())))
        return "x"

    replayed(agent, until=1)
    assert seen == [("sess_shop-fork-version-0",) * 2 + (1,)]


def test_an_error_of_the_client_is_an_error_of_the_agent() -> None:
    def agent(statebase: LocalClient) -> str:
        return str(statebase.sessions.get("nowhere"))

    turn = replayed(agent, until=1).turn(1)
    assert turn.verdict == "error"
    assert turn.replayed is not None
    assert turn.replayed.error is not None
    assert turn.replayed.error["type"] == "pytest_statebase.statebase.faults:ApiError"


def test_what_an_agent_returns_wins_over_what_it_reported() -> None:
    def agent(session_id: str, statebase: LocalClient) -> str:
        statebase.sessions.add_turn(session_id, "hi", "reported", reasoning="because")
        return "returned"

    turn = replayed(agent, until=1).turn(1)
    assert turn.replayed is not None
    assert turn.replayed.output["content"] == "returned"
    assert turn.replayed.reasoning == "because"


_held: dict[str, LocalClient] = {}


def remember(item: str) -> str:
    """A tool that writes through the client that the agent holds."""
    _held["client"].memory.add(f"Bought {item}")
    return item


def test_what_happens_inside_a_tool_is_recorded_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def agent(statebase: LocalClient) -> str:
        monkeypatch.setitem(_held, "client", statebase)
        toy.price("apple")
        remember("apple")
        statebase.sessions.update_state(statebase.sessions.list()[0].id, {"n": 1})
        toy.price("pear")
        return "x"

    tools = [*toy.TOOLS, f"{__name__}:remember"]
    ledger = record_session(agent, ["hi"], session_id="sess_in", tools=tools)
    events = ledger.turns[0].events
    shown = [(type(event).__name__, getattr(event, "during", None)) for event in events]
    assert shown == [
        ("ToolCalled", None),
        ("ToolCalled", None),
        ("MemoryAdded", 1),
        ("StateUpdated", None),
        ("ToolCalled", None),
    ]


def test_api_errors_read_well() -> None:
    with pytest.raises(ApiError, match="404 session_not_found: no session 'x'; known: sess_shop"):
        LocalClient({"sess_shop": recorded()}).sessions.get("x")


class Keeps:
    """Remembers two things, then keeps, changes or forgets the first as `does` says."""

    does = "keep"

    def __call__(self, session_id: str, statebase: LocalClient, turn: int) -> str:
        memory = statebase.memory
        if turn == 1:
            toy.price("apple")
            memory.add("Likes tea", "preference", session_id)
            memory.add("Lives in Oslo", "fact", session_id)
        elif turn == 2:
            found = memory.search("likes", session_id=session_id)[0].id
            if self.does == "change":
                memory.update(found, "Likes coffee", tags=["drinks"])
            elif self.does == "forget":
                memory.delete(found)
        return f"{[item.content for item in memory.list(session_id)] if turn == 3 else turn}"


class Changes(Keeps):
    does = "change"


class Forgets(Keeps):
    does = "forget"


CHANGE = {"updated": "Likes tea", "content": "Likes coffee", "tags": ["drinks"]}
FORGET = {"deleted": "Likes tea"}


@pytest.mark.parametrize(
    ("agent", "kind", "told"), [(Changes, MemoryUpdated, CHANGE), (Forgets, MemoryDeleted, FORGET)]
)
def test_a_memory_that_is_changed_or_forgotten_is_an_event(agent: Any, kind: Any, told: Any, tmp_path: Path) -> None:
    ledger = recorded(agent)
    (event,) = [event for event in ledger.turns[1].events if not isinstance(event, MemorySearched)]
    assert (type(event), event.number, event.was) == (kind, 1, "Likes tea")
    assert memories_of(ledger.turns[1].events) == [told]
    assert memory_event(told) == replace(event, number=0, actor=None, at=None)
    write_record(tmp_path / "keeps.record.yaml", ledger)
    again = load_cassette(tmp_path / "keeps.record.yaml").ledger
    assert again.events == ledger.events
    for mode in ("continuous", "isolated"):
        assert [turn.verdict for turn in replayed(agent, again, mode=mode).turns] == [Verdict.UNCHANGED] * 3


@pytest.mark.parametrize("was", [Keeps, Changes, Forgets])
@pytest.mark.parametrize("now", [Keeps, Changes, Forgets])
def test_what_a_replay_does_to_memories_is_compared(was: Any, now: Any) -> None:
    turn = replayed(now, recorded(was), mode="isolated").turns[1]
    assert [one.facet for one in turn.divergences if one.facet is Facet.MEMORY] == [Facet.MEMORY] * len(
        turn.divergences
    )
    assert (turn.verdict is Verdict.UNCHANGED) == (was is now)
