"""Which sessions are recorded, which are worth keeping, and when they end."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from capturing import Listed, listed

from pytest_statebase.events import StateRolledBack, ToolCalled, TurnAdded
from pytest_statebase.frames import SessionClosed
from pytest_statebase.recorder import rules, sessions
from pytest_statebase.recorder.capture import Recording
from pytest_statebase.recorder.rules import Rules, Signs, sequence_of


def tool(value: str) -> str:
    if value == "bad":
        raise ValueError(value)
    return value


def other(value: str) -> str:
    return value


TOOLS = [f"{__name__}:tool", f"{__name__}:other"]


def turn(recording: Recording, session: str, *calls: tuple[Callable[[str], str], str]) -> None:
    with recording.session(session).turn("x"):
        for function, value in calls:
            try:
                function(value)
            except ValueError:
                continue


def test_a_share_of_the_sessions_is_recorded_and_nothing_of_the_others() -> None:
    journal, recording = listed(TOOLS, sample=0.3)
    with recording:
        for number in range(400):
            turn(recording, f"s{number}", (tool, "a"))
    kept = journal.keeps()
    assert 80 < len(kept) < 160
    assert set(kept.values()) == {("sample",)}
    assert {frame.session for frame in journal.frames} == set(kept)


def test_the_same_sessions_are_drawn_in_every_process() -> None:
    code = (
        "from pytest_statebase.recorder.rules import Rules; r = Rules(0.5, (), 1); "
        "print(''.join('01'[r.is_sampled(f's{n}')] for n in range(200)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    chosen = Rules(0.5, (), 1)
    assert told == "".join("01"[chosen.is_sampled(f"s{number}")] for number in range(200))
    assert {"0", "1"} == set(told)
    wider = Rules(0.6, (), 1)
    assert all(wider.is_sampled(f"s{number}") for number in range(200) if chosen.is_sampled(f"s{number}"))


@pytest.mark.parametrize(("sample", "wanted"), [(0.0, 0), (1.0, 50), (0, 0), (1, 50)])
def test_none_and_all(sample: float, wanted: int) -> None:
    journal, recording = listed(TOOLS, sample=sample)
    with recording:
        for number in range(50):
            turn(recording, f"s{number}\udc80")
    assert len(journal.turns()) == wanted


def test_errors() -> None:
    journal, recording = listed(TOOLS, sample=0.0, keep=["errors"])
    with recording:
        turn(recording, "fine", (tool, "a"))
        turn(recording, "a tool", (tool, "a"), (tool, "bad"))
        with pytest.raises(ValueError, match="bad"), recording.session("the agent").turn("x"):
            tool("bad")
    assert journal.keeps() == {"fine": (), "a tool": ("errors",), "the agent": ("errors",)}


def test_rollbacks() -> None:
    journal, recording = listed(TOOLS, sample=0.0, keep="rollbacks")
    with recording:
        with recording.session("back").turn("x") as going:
            going.rollback(0, {})
        with recording.session("on").turn("x") as going:
            going.state({})
    assert journal.keeps() == {"back": ("rollbacks",), "on": ()}


def test_slow_is_by_turn() -> None:
    signs = Signs()
    signs.turn([], 0.4, 0.5)
    signs.turn([], 0.4, 0.5)
    assert signs.reasons(Rules(0.0, ["slow"], 0.5), "s") == ()
    signs.turn([], 0.5, 0.5)
    assert signs.reasons(Rules(0.0, ["slow"], 0.5), "s") == ("slow",)
    assert signs.reasons(Rules(0.0, ["errors"], 0.5), "s") == ()


def test_slow_end_to_end() -> None:
    journal, recording = listed(TOOLS, sample=0.0, keep=["slow"], slow=0.0)
    with recording:
        turn(recording, "s")
    assert journal.keeps() == {"s": ("slow",)}


def test_unusual_is_a_sequence_of_tools_that_no_turn_had_before() -> None:
    journal, recording = listed(TOOLS, sample=0.0, keep=["unusual"])
    with recording:
        for name, calls in [
            ("first", (tool, other)),
            ("again", (tool, other)),
            ("more often in a row", (tool, tool, other)),
            ("another way round", (other, tool)),
            ("and again", (other, tool)),
        ]:
            turn(recording, name, *((function, "a") for function in calls))
            recording.end(name)
    assert journal.keeps() == {
        "first": ("unusual",),
        "again": (),
        "more often in a row": (),
        "another way round": ("unusual",),
        "and again": (),
    }


def test_only_so_many_sequences_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_MOST_SEQUENCES", 3)
    chosen = Rules(0.0, ["unusual"], 1)
    a, b, c, d = (sequence_of(name) for name in "abcd")
    assert [chosen.is_new([one]) for one in (a, b, c, a, d)] == [True, True, True, False, True]
    assert not chosen.is_new([a]), "it was seen later than b"
    assert chosen.is_new([b])
    assert len(chosen._sequences) == 3


def test_several_rules_are_told_in_their_order() -> None:
    signs = Signs()
    signs.turn([ToolCalled("t"), StateRolledBack(1, 0, {}), TurnAdded(error={"type": "E"})], 2.0, 1.0)
    signs.seen.add("feedback")
    chosen = Rules(1.0, ["feedback", "unusual", "errors", "slow", "rollbacks"], 1.0)
    assert signs.reasons(chosen, "s") == ("sample", "feedback", "unusual", "errors", "slow", "rollbacks")


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(sessions, "time", clock)
    return clock


def test_a_session_without_turns_for_long_is_over(clock: Clock) -> None:
    journal, recording = listed(idle=60)
    with recording:
        turn(recording, "a")
        clock.now += 40
        turn(recording, "b")
        clock.now += 40
        turn(recording, "c")
        assert journal.reasons() == {"a": "idle"}
        turn(recording, "a")
        assert len(journal.opened()) == 4
    assert [frame.reason for frame in journal.frames if isinstance(frame, SessionClosed)] == ["idle", *["stopped"] * 3]


def test_a_session_at_a_turn_is_not_idle(clock: Clock) -> None:
    journal, recording = listed(idle=60)
    with recording, recording.session("long").turn("x") as going:
        clock.now += 100
        turn(recording, "b")
        assert journal.reasons() == {}
        going.reply("at last")
    assert journal.outputs("long") == ["at last"]


def test_only_so_many_are_open(clock: Clock) -> None:
    journal, recording = listed(most=3)
    with recording:
        for name in ("a", "b", "c", "a", "d", "e"):
            turn(recording, name)
        assert journal.reasons() == {"b": "too many open", "c": "too many open"}


def test_a_turn_of_a_session_that_had_to_go_is_not_answered() -> None:
    journal, recording = listed(most=1)
    with recording:
        with recording.session("a").turn("x") as going:
            turn(recording, "b")
            going.reply("too late")
        assert journal.turns("a") == []
    assert journal.reasons() == {"a": "too many open", "b": "stopped"}


def ended(journal: Listed) -> list[Any]:
    return [frame.session for frame in journal.frames if isinstance(frame, SessionClosed)]


def test_a_session_ends_when_the_last_one_leaves_it() -> None:
    journal, recording = listed()
    with recording:
        with recording.session("s") as first:
            with recording.session("s") as second:
                assert first is second
                turn(recording, "s")
            assert ended(journal) == []
        assert ended(journal) == ["s"]
    assert ended(journal) == ["s"]


def test_a_session_without_a_turn_leaves_nothing() -> None:
    journal, recording = listed()
    with recording, recording.session("s"):
        pass
    assert journal.frames == []


def test_sessions_that_are_left_elsewhere_or_twice() -> None:
    """As frameworks do that begin a request in one task and end it in another."""
    journal, recording = listed()
    agent = recording.agent(lambda user_input: user_input)
    with recording:
        outer, inner = recording.session("outer"), recording.session("inner")
        with outer:
            contextvars.copy_context().run(inner.__enter__)
            agent("a")
            inner.__enter__()
            agent("b")
            threads = [threading.Thread(target=lambda: (inner.__enter__(), inner.__exit__(None, None, None)))]
            for thread in threads:
                thread.start()
                thread.join()
            agent("c")
            inner.__exit__(None, None, None)
            agent("d")
            contextvars.copy_context().run(inner.__exit__, None, None, None)
            agent("e")
        inner.__exit__(None, None, None)
        agent("f")
    assert [turn.session if turn.session in ("outer", "inner") else None for turn in journal.turns()] == [
        *("outer", "inner", "inner", "outer", "outer"),
        None,
    ]
    assert journal.reasons()["inner"] == "completed"
