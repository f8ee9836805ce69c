"""A pair replayed: the recorded side as a session, the replayed side as an agent in front of it."""

from __future__ import annotations

from typing import Any

from pytest_statebase import AgentReply, Ledger, replay
from pytest_statebase.cassette import Cassette
from pytest_statebase.cassette.plan import Plan, ToolRules
from pytest_statebase.compare.model import ReplayResult
from pytest_statebase.engine.revive import error_record
from pytest_statebase.ledger import (
    MemoryAdded,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)
from pytest_statebase.values import ABSENT

from .pair import SESSION, Did, Pair

SOURCE = "sess_corpus"
AT = "2026-03-15T10:24:01Z"


def result_of(pair: Pair) -> ReplayResult:
    """The pair, replayed and judged. Calls without a recorded answer are simulated, so that all of them are seen."""
    plan = Plan(
        ignore=tuple(pair.ignore),
        compare={"output": "exact"} if pair.exact else {},
        tools={tool: ToolRules(reads=True) for tool in pair.reads},
    )
    cassette = Cassette.from_ledger(recorded(pair), plan)
    return replay(cassette, Agent(pair.replayed), unrecorded="simulate", simulator=lambda *_: {"ok": True})


def recorded(pair: Pair) -> Ledger:
    """The recorded side as a session."""
    ledger = Ledger([SessionCreated(SOURCE, state=pair.before, at=AT)])
    for number, did in enumerate(pair.recorded, 1):
        ledger.append(TurnStarted(number, {"type": "text", "content": did.asked}, AT))
        for event in _events(did, ledger):
            ledger.append(event)
        error = None if did.raises is None else error_record(_ERRORS[did.raises[0]](did.raises[1]))
        ledger.append(TurnAdded(_output(named(did.says, SOURCE)), error=error))
    return ledger


def _events(did: Did, ledger: Ledger) -> Any:
    for made in did.calls:
        yield ToolCalled(made.tool, named(made.arguments, SOURCE), result=made.result, step=made.step)
    for memory in did.memory:
        yield MemoryAdded(**named(memory, SOURCE))
    if did.state is not ABSENT:
        yield StateUpdated(ledger.next_version(), named(did.state, SOURCE))
    if did.rolls_back_to is not None:
        to = did.rolls_back_to
        yield StateRolledBack(ledger.next_version(), to, ledger.version_of(to).state)


def _output(says: Any) -> Any:
    return {"type": "text", "content": says} if isinstance(says, str) else says


class Agent:
    """Does what the replayed side of a pair says."""

    def __init__(self, turns: Any) -> None:
        self.turns = turns

    def __call__(self, turn: int, session_id: str, tools: Any, statebase: Any) -> AgentReply:
        did: Did = self.turns[turn - 1]
        for made in did.calls:
            tools.call(made.tool, named(made.arguments, session_id))
        for memory in did.memory:
            memory = {"type": "general", **named(memory, session_id)}
            statebase.memory.add(session_id=session_id, **memory)
        state = named(did.state, session_id)
        if did.rolls_back_to is not None:
            statebase.sessions.update_state(session_id, state, replace=True)
            statebase.sessions.rollback(session_id, did.rolls_back_to)
            state = ABSENT
        if did.raises is not None:
            raise _ERRORS[did.raises[0]](did.raises[1])
        return AgentReply(named(did.says, session_id), state)


_ERRORS: dict[str, type[Exception]] = {"ValueError": ValueError, "KeyError": KeyError}


def named(value: Any, session_id: str) -> Any:
    """`value` with the session's id in its place."""
    if isinstance(value, str):
        return value.replace(SESSION, session_id)
    if type(value) is dict:
        return {key: named(item, session_id) for key, item in value.items()}
    return [named(item, session_id) for item in value] if type(value) is list else value
