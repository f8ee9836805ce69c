"""Ledger, fork and client against a model that is too simple to be wrong."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings, strategies
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from statebase_sessions import production

from pytest_statebase.ledger import ForkPoint, Ledger
from pytest_statebase.statebase import LocalClient

KEYS = strategies.sampled_from("abc")
VALUES = strategies.none() | strategies.integers(0, 3) | strategies.lists(strategies.integers(0, 1), max_size=2)
STATES = strategies.dictionaries(KEYS, VALUES, max_size=3)
TEXTS = strategies.sampled_from(["one", "two", "three"])


@dataclass
class Model:
    """A session as lists."""

    source: str | None = None
    states: list[Any] = field(default_factory=list)
    turns: list[tuple[str, str | None]] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    actions: list[str] = field(default_factory=list)
    marks: list[tuple[Any, int, int]] = field(default_factory=list)
    """For every version: the turns, how many memories and how many actions there were just after it was made."""

    def enter(self, state: Any, action: str) -> None:
        self.states.append(copy.deepcopy(state))
        self.actions.append(action)
        self.marks.append((list(self.turns), len(self.memories), len(self.actions)))

    def fork(self, name: str, version: int | None) -> Model:
        if version is None:
            forked = copy.deepcopy(self)
        else:
            turns, memories, actions = self.marks[version]
            forked = Model(
                None,
                copy.deepcopy(self.states[: version + 1]),
                list(turns),
                self.memories[:memories],
                self.actions[:actions],
                self.marks[: version + 1],
            )
        forked.source = name
        forked.actions.append("session.forked")
        return forked


def model_of(ledger: Ledger) -> Model:
    """The model of a production session: every turn makes one version before it ends."""
    model = Model()
    model.enter({"step": 0}, "session.created")
    for number in range(1, len(ledger.turns) + 1):
        model.turns.append((f"Question {number}", None))
        model.enter({"step": number}, "state.updated")
        if number == 2:
            model.memories.append("Likes hiking boots")
            model.actions.append("memory.created")
        model.turns[-1] = (f"Question {number}", f"Answer {number}")
        model.actions.append("turn.added")
    return model


class Client(RuleBasedStateMachine):
    """Random calls of the client; after each, everything agrees with the model."""

    sessions = Bundle("sessions")

    @initialize(target=sessions)
    def recording(self) -> str:
        self.recorded = production("sess_1", 3)
        self.events = list(self.recorded.events)
        self.frozen = copy.deepcopy(self.events)
        self.client = LocalClient({"sess_1": lambda: self.recorded})
        self.models = {"sess_1": model_of(self.recorded)}
        return "sess_1"

    @rule(target=sessions, state=STATES)
    def create(self, state: dict[str, Any]) -> str:
        session = self.client.sessions.create(agent_id="a", initial_state=state).id
        assert session not in self.models
        self.models[session] = Model()
        self.models[session].enter(state, "session.created")
        return str(session)

    @rule(session=sessions, state=STATES, replace=strategies.booleans())
    def update_state(self, session: str, state: dict[str, Any], replace: bool) -> None:
        model = self.models[session]
        answer = self.client.sessions.update_state(session, state, replace=replace)
        model.enter(state if replace else {**model.states[-1], **state}, "state.updated")
        assert (answer.version, answer.state) == (len(model.states) - 1, model.states[-1])
        answer.state["spoilt"] = True
        state["spoilt"] = True

    @rule(session=sessions, data=strategies.data())
    def rollback(self, session: str, data: strategies.DataObject) -> None:
        model = self.models[session]
        lowest = -1 if len(model.states) > 1 else 0
        version = data.draw(strategies.integers(lowest, len(model.states) - 1))
        answer = self.client.sessions.rollback(session, version, "reason")
        model.enter(model.states[-2 if version == -1 else version], "state.rolled_back")
        assert answer.state == model.states[-1]

    @rule(target=sessions, session=sessions, data=strategies.data())
    def fork(self, session: str, data: strategies.DataObject) -> str:
        model = self.models[session]
        version = data.draw(strategies.none() | strategies.integers(0, len(model.states) - 1))
        fork = self.client.sessions.fork(session, version)
        assert fork.id not in self.models
        self.models[fork.id] = model.fork(session, version)
        assert fork.metadata["forked_version"] == (len(model.states) - 1 if version is None else version)
        return str(fork.id)

    @rule(session=sessions, said=TEXTS, answer=TEXTS, calls=strategies.integers(0, 2))
    def add_turn(self, session: str, said: str, answer: str, calls: int) -> None:
        for number in range(calls):
            self.client.sessions.add_tool_call(session, "look_up", {"number": number}, {"found": number})
        turn = self.client.sessions.add_turn(session, said, answer, reasoning="so")
        model = self.models[session]
        model.turns.append((said, answer))
        model.actions.append("turn.added")
        assert (turn.turn_number, turn.reasoning) == (len(model.turns), "so")

    @rule(session=sessions, content=TEXTS)
    def add_memory(self, session: str, content: str) -> None:
        self.client.memory.add(content, session_id=session)
        self.models[session].memories.append(content)
        self.models[session].actions.append("memory.created")

    @rule(session=consumes(sessions))
    def delete(self, session: str) -> None:
        if session != "sess_1":
            self.client.sessions.delete(session)
            del self.models[session]

    @invariant()
    def agrees(self) -> None:
        sb = self.client
        assert [session.id for session in sb.sessions.list()] == list(self.models)
        for name, model in self.models.items():
            versions = sb.sessions.list_state_versions(name)
            assert [version.version for version in versions] == list(range(len(model.states)))
            assert [version.state for version in versions] == model.states
            assert sb.sessions.get_state(name).state == model.states[-1]
            turns = sb.sessions.list_turns(name)
            assert [(turn.input.content, turn.output.content) for turn in turns] == model.turns
            assert [memory.content for memory in sb.memory.list(name)] == model.memories
            assert [trace.action for trace in sb.traces.list(name)] == model.actions
            session = sb.sessions.get(name)
            assert session.metadata.get("forked_from") == model.source
            assert (session.turn_count, session.memory_count) == (len(model.turns), len(model.memories))

    @invariant()
    def the_source_never_changes(self) -> None:
        assert all(kept is event for kept, event in zip(self.events, self.recorded.events, strict=True))
        assert self.recorded.events == self.frozen

    @invariant()
    def ledger_and_client_fork_alike(self) -> None:
        for version in (0, 2, 3):
            here = self.recorded.fork(ForkPoint("version", version))
            model = model_of(self.recorded).fork("sess_1", version)
            assert here.state == model.states[-1]
            assert [turn.text for turn in here.turns] == [said for said, _ in model.turns]
            assert [trace.action for trace in here.traces] == model.actions


Client.TestCase.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)
TestClient = Client.TestCase
