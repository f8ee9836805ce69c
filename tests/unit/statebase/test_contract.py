"""The local client, the real package over a socket and raw HTTP agree: same ledger, same answers, whatever is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from statebase_sessions import production

pytest.importorskip("statebase")
pytest.importorskip("uvicorn")

from doors import Door, Here, Refused, Wire, as_far_as, shown
from statebase import StateBase

from pytest_statebase.statebase.app import Served

TEXTS = strategies.sampled_from(["tea", "green tea and cake", "hiking boots", 'ü 😀 \0 " \\\\', "x" * 300])
STATES = strategies.dictionaries(
    strategies.sampled_from("abc"), strategies.none() | strategies.integers(-1, 2) | TEXTS, max_size=3
)
REASONS = strategies.none() | TEXTS
METADATA = strategies.none() | strategies.fixed_dictionaries({"model": TEXTS})
CONTENTS = TEXTS | strategies.fixed_dictionaries({"type": strategies.just("text"), "content": TEXTS, "more": STATES})
LIMITS = strategies.integers(1, 4)


class Doors(RuleBasedStateMachine):
    """Random calls through every door; after each, all ledgers are the same."""

    sessions = Bundle("sessions")
    memories = Bundle("memories")

    @initialize(target=sessions)
    def recording(self) -> str:
        self.here, self.raw, self.sdk = (kind({"sess_1": production("sess_1", 2)}) for kind in (Here, Wire, Wire))
        self.served = Served(self.sdk.local, tool_turns=False)
        self.package = self.sdk.package = StateBase("sb_test", self.served.__enter__())
        self.memory_ids: dict[str, list[str]] = {}
        self.gone: set[str] = set()
        return "sess_1"

    def teardown(self) -> None:
        if hasattr(self, "served"):
            self.package.close()
            self.served.__exit__(None, None, None)

    def doors(self) -> tuple[Door, Door, Door]:
        return self.here, self.raw, self.sdk

    def answers(self, *asks: Callable[[], Any]) -> list[Any]:
        """What every door answers; nothing where they refuse, which they have to do alike."""
        answers, errors = [], []
        for ask in asks:
            try:
                answers.append(ask())
                errors.append(None)
            except Refused as error:
                errors.append(error.told)
        assert len(set(errors)) == 1, errors
        return answers

    def compare(self, answers: list[Any]) -> None:
        """Of the package's answer, what its objects show is looked at."""
        local, plain, package = (door.named(answer) for door, answer in zip(self.doors(), answers, strict=True))
        assert plain == shown(local)
        assert package == as_far_as(package, plain)

    def agree(self, here: Callable[[], Any], raw: Callable[[], Any], sdk: Callable[[], Any]) -> list[Any]:
        """The answers, which are the same."""
        answers = self.answers(here, raw, sdk)
        if answers:
            self.compare(answers)
        return answers

    def made(self, answers: list[Any]) -> str:
        """The shared name of a session that every door has made."""
        name = f"made-{len(self.here.ids)}"
        for door, answer in zip(self.doors(), answers, strict=True):
            door.ids[name] = answer["id"]
        return name

    # --- sessions --------------------------------------------------------------------------------------------------

    @rule(target=sessions, state=strategies.none() | STATES, metadata=METADATA, user=strategies.none() | TEXTS)
    def create(self, state: Any, metadata: Any, user: Any) -> str:
        given = {"agent_id": "shop", "user_id": user or None, "metadata": metadata, "initial_state": state}
        answers = [
            self.here.call("sessions.create", **given),
            self.raw.ask("POST", "/v1/sessions", given),
            self.sdk.sdk("sessions.create", **given),
        ]
        name = self.made(answers)
        self.compare(answers)
        return name

    @rule(name=sessions)
    def get(self, name: str) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        self.agree(
            lambda: self.here.call("sessions.get", here),
            lambda: self.raw.ask("GET", f"/v1/sessions/{raw}"),
            lambda: self.sdk.sdk("sessions.get", sdk),
        )

    @rule(limit=LIMITS, agent=strategies.sampled_from([None, "shop", "nobody"]))
    def list_sessions(self, limit: int, agent: str | None) -> None:
        self.agree(
            lambda: self.here.call("sessions.list", agent)[::-1],
            lambda: self.raw.all("/v1/sessions", limit, agent_id=agent),
            lambda: self.sdk.sdk("sessions.list", agent, limit=100)["data"],
        )

    @rule(name=sessions, metadata=METADATA)
    def change_metadata(self, name: str, metadata: Any) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        given = {"metadata": metadata or {}}
        self.agree(
            lambda: self.here.call("sessions.update", here, **given),
            lambda: self.raw.ask("PATCH", f"/v1/sessions/{raw}", given),
            lambda: self.sdk.ask("PATCH", f"/v1/sessions/{sdk}", given),
        )

    @rule(name=consumes(sessions))
    def delete(self, name: str) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        self.here.call("sessions.delete", here)
        self.raw.ask("DELETE", f"/v1/sessions/{raw}")
        assert self.sdk.sdk("sessions.delete", sdk) is None
        self.get(name)
        self.traces(name, 4, None)
        self.gone.add(name)

    # --- state -----------------------------------------------------------------------------------------------------

    @rule(name=sessions, state=STATES, reason=REASONS)
    def merge(self, name: str, state: Any, reason: Any) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        self.agree(
            lambda: self.here.call("sessions.update_state", here, state, reason),
            lambda: self.raw.ask("PATCH", f"/v1/sessions/{raw}/state", {"state": state, "reasoning": reason}),
            lambda: self.sdk.sdk("sessions.update_state", sdk, state, reason),
        )

    @rule(name=sessions, state=STATES, reason=REASONS, methods=strategies.permutations(["POST", "PUT"]))
    def replace(self, name: str, state: Any, reason: Any, methods: list[str]) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        body = {"state": state, "reasoning": reason}
        self.agree(
            lambda: self.here.call("sessions.update_state", here, state, reason, replace=True),
            lambda: self.raw.ask(methods[0], f"/v1/sessions/{raw}/state", body),
            lambda: self.sdk.ask(methods[1], f"/v1/sessions/{sdk}/state", body),
        )

    @rule(name=sessions, version=strategies.integers(-3, 6), reason=REASONS)
    def roll_back(self, name: str, version: int, reason: Any) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        body = {"version": version, "reason": reason}
        self.agree(
            lambda: self.here.call("sessions.rollback", here, version, reason),
            lambda: self.raw.ask("POST", f"/v1/sessions/{raw}/rollback", body),
            lambda: (
                self.sdk.sdk("sessions.rollback", sdk, version)
                if reason is None
                else self.sdk.ask("POST", f"/v1/sessions/{sdk}/state/rollback", body)
            ),
        )

    @rule(name=sessions, limit=LIMITS, since=strategies.none() | strategies.integers(-1, 4))
    def versions(self, name: str, limit: int, since: int | None) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        self.agree(
            lambda: self.here.call("sessions.get_state", here),
            lambda: self.raw.ask("GET", f"/v1/sessions/{raw}/state"),
            lambda: self.sdk.sdk("sessions.get_state", sdk),
        )
        self.agree(
            lambda: self.here.call("sessions.list_state_versions", here, since_version=since),
            lambda: self.raw.all(f"/v1/sessions/{raw}/state/history", limit, since_version=since, order="asc"),
            lambda: self.sdk.all(f"/v1/sessions/{sdk}/state/history", 50, since_version=since)[::-1],
        )

    @rule(target=sessions, name=sessions, version=strategies.none() | strategies.integers(-1, 5))
    def fork(self, name: str, version: int | None) -> Any:
        here, raw, sdk = (door.id(name) for door in self.doors())
        answers = self.answers(
            lambda: self.here.call("sessions.fork", here, version),
            lambda: self.raw.ask("POST", f"/v1/sessions/{raw}/fork", {"version": version}),
            lambda: self.sdk.sdk("sessions.fork", sdk, version),
        )
        if not answers:
            return multiple()
        made = self.made(answers)
        self.compare(answers)
        return made

    # --- turns -----------------------------------------------------------------------------------------------------

    @rule(name=sessions, said=CONTENTS, answer=CONTENTS, metadata=METADATA, reason=REASONS)
    def add_turn(self, name: str, said: Any, answer: Any, metadata: Any, reason: Any) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        given = {"input": said, "output": answer, "metadata": metadata, "reasoning": reason}
        self.agree(
            lambda: self.here.call("sessions.add_turn", here, **given),
            lambda: self.raw.ask("POST", f"/v1/sessions/{raw}/turns", given),
            lambda: self.sdk.sdk("sessions.add_turn", sdk, **given),
        )

    @rule(name=sessions, before=strategies.none() | STATES, after=STATES)
    def add_turn_with_states(self, name: str, before: Any, after: Any) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        given = {"input": "and now?", "output": "done", "state_before": before, "state_after": after}
        self.agree(
            lambda: self.here.call("sessions.add_turn", here, **given),
            lambda: self.raw.ask("POST", f"/v1/sessions/{raw}/turns", given),
            lambda: self.sdk.ask("POST", f"/v1/sessions/{sdk}/turns", given),
        )

    @rule(
        name=sessions,
        arguments=STATES,
        output=STATES | TEXTS,
        call=strategies.none() | TEXTS,
        reason=REASONS,
        metadata=METADATA,
    )
    def add_tool_call(self, name: str, arguments: Any, output: Any, call: Any, reason: Any, metadata: Any) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        asked = {"type": "tool_call", "content": f"Call tool look with {arguments}"}
        asked["tool_metadata"] = {"name": "look", "arguments": arguments, "id": call}
        body = {"input": asked, "output": {"type": "tool_response", "content": str(output), "output": output}}
        told = {"reasoning": reason, "metadata": metadata}
        self.agree(
            lambda: self.here.call("sessions.add_tool_call", here, "look", arguments, output, call, reason, metadata),
            lambda: self.raw.ask("POST", f"/v1/sessions/{raw}/turns", {**body, **told}),
            lambda: self.sdk.sdk("sessions.add_tool_call", sdk, "look", arguments, output, call, reason, metadata),
        )
        self.turns(name, 1, tool_turns=True)
        last = self.here.call("sessions.list_turns", here, tool_turns=True)[-1]
        assert (last.reasoning, last.metadata) == (reason, metadata or {})

    @rule(name=sessions, limit=LIMITS, tool_turns=strategies.booleans())
    def turns(self, name: str, limit: int, tool_turns: bool) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        self.raw.router.tool_turns = self.served.router.tool_turns = tool_turns
        (found, *_) = self.agree(
            lambda: self.here.call("sessions.list_turns", here, tool_turns=tool_turns)[::-1],
            lambda: self.raw.all(f"/v1/sessions/{raw}/turns", limit),
            lambda: self.sdk.sdk("sessions.list_turns", sdk, limit=100),
        )
        for turn in found[:1]:
            last = self.raw.ask("GET", f"/v1/sessions/{raw}/turns/{turn.id.replace(here, raw)}")
            assert self.raw.named(last) == shown(self.here.named(turn))
        self.raw.router.tool_turns = self.served.router.tool_turns = False

    @rule(name=sessions, query=strategies.none() | TEXTS, memories=strategies.integers(0, 3), turns=LIMITS)
    def context(self, name: str, query: Any, memories: int, turns: int) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        body = {"query": query, "memory_limit": memories, "turn_limit": turns}
        self.agree(
            lambda: self.here.call("sessions.get_context", here, **body),
            lambda: self.raw.ask("POST", f"/v1/sessions/{raw}/context", body),
            lambda: self.sdk.sdk("sessions.get_context", sdk, **body),
        )

    # --- memory ----------------------------------------------------------------------------------------------------

    @rule(
        target=memories,
        name=sessions,
        content=TEXTS | strategies.just("x" * 10_001),
        kind=strategies.sampled_from(["fact", "policy", "no such type"]),
        tags=strategies.none() | strategies.lists(TEXTS, max_size=2),
        metadata=METADATA,
        form=strategies.sampled_from(["memory", "memories"]),
    )
    def remember(self, name: str, content: str, kind: str, tags: Any, metadata: Any, form: str) -> str:
        here, raw, sdk = (door.id(name) for door in self.doors())
        given = {"content": content, "type": kind, "tags": tags, "metadata": metadata}
        answers = self.agree(
            lambda: self.here.call("memory.add", session_id=here, **given),
            lambda: self.raw.ask("POST", f"/v1/{form}", {**given, "session_id": raw}),
            lambda: self.sdk.sdk("memory.add", session_id=sdk, **given),
        )
        made = f"memory-{len(self.memory_ids)}"
        self.memory_ids[made] = [answer["id"] for answer in answers] or ["mem_of_nobody"] * 3
        return made

    @rule(
        name=strategies.none() | sessions,
        query=TEXTS,
        limit=LIMITS,
        threshold=strategies.sampled_from([0.0, 0.7, 1.0]),
        types=strategies.sampled_from([None, "fact", "fact,policy"]),
    )
    def search(self, name: str | None, query: str, limit: int, threshold: float, types: Any) -> None:
        here, raw, sdk = (None if name is None else door.id(name) for door in self.doors())
        given = {"query": query, "limit": limit, "threshold": threshold, "types": types}
        self.agree(
            lambda: list(self.here.call("memory.search", session_id=here, **given)),
            lambda: self.raw.ask("POST", "/v1/memory/search", {**given, "session_id": raw})["data"],
            lambda: self.sdk.sdk("memory.search", session_id=sdk, **given),
        )

    @rule(memory=memories, content=strategies.none() | TEXTS, tags=strategies.none() | strategies.just(["new"]))
    def change_memory(self, memory: str, content: Any, tags: Any) -> None:
        here, raw, sdk = self.memory_ids[memory]
        given = {"content": content, "tags": tags}
        self.agree(
            lambda: self.here.call("memory.update", here, **given),
            lambda: self.raw.ask("PATCH", f"/v1/memory/{raw}", given),
            lambda: self.sdk.ask("PATCH", f"/v1/memories/{sdk}", given),
        )

    @rule(memory=consumes(memories))
    def forget(self, memory: str) -> None:
        here, raw, sdk = self.memory_ids[memory]
        self.agree(
            lambda: self.here.call("memory.get", here),
            lambda: self.raw.ask("GET", f"/v1/memory/{raw}"),
            lambda: self.sdk.ask("GET", f"/v1/memories/{sdk}"),
        )
        self.agree(
            lambda: {"gone": self.here.call("memory.delete", here)},
            lambda: {"gone": self.raw.ask("DELETE", f"/v1/memories/{raw}") and None},
            lambda: {"gone": self.sdk.ask("DELETE", f"/v1/memory/{sdk}") and None},
        )

    @rule(name=strategies.none() | sessions, limit=LIMITS)
    def list_memories(self, name: str | None, limit: int) -> None:
        here, raw, sdk = (None if name is None else door.id(name) for door in self.doors())
        self.agree(
            lambda: self.here.call("memory.list", here),
            lambda: self.raw.all("/v1/memories", limit, session_id=raw)[::-1],
            lambda: self.sdk.all("/v1/memory", 100, session_id=sdk, order="asc"),
        )

    # --- traces and history ----------------------------------------------------------------------------------------

    @rule(name=sessions, limit=LIMITS, action=strategies.sampled_from([None, "turn.added", "state.updated"]))
    def traces(self, name: str, limit: int, action: str | None) -> None:
        here, raw, sdk = (door.id(name) for door in self.doors())
        found = self.here.call("traces.list", here, action)
        self.agree(
            lambda: [{k: v for k, v in one.items() if k not in ("details", "reasoning")} for one in found],
            lambda: self.raw.all(f"/v1/traces/sessions/{raw}/traces", limit, action=action, order="asc"),
            lambda: self.sdk.all("/v1/traces", 100, session_id=sdk, action=action)[::-1],
        )
        if found:
            last = found[-1].id
            self.agree(
                lambda: self.here.call("traces.get", last),
                lambda: self.raw.ask("GET", f"/v1/traces/{last.replace(here, raw)}"),
                lambda: self.sdk.ask("GET", f"/v1/traces/{last.replace(here, sdk)}"),
            )

    @rule(name=sessions)
    def history(self, name: str) -> None:
        here, raw = self.here.id(name), self.raw.id(name)
        found = self.raw.named(self.raw.ask("GET", f"/v1/sessions/{raw}/history", limit=100, order="asc"))
        told = {
            "data": self.here.call("sessions.list_turns", here),
            "session": self.here.call("sessions.get", here),
            "state_versions": self.here.call("sessions.list_state_versions", here),
            "traces": self.here.call("traces.list", here),
        }
        assert {key: found[key] for key in told} == {key: shown(self.here.named(item)) for key, item in told.items()}

    @rule(call=strategies.sampled_from(["get", "get_state", "get_context", "list_turns", "fork"]))
    def nobody(self, call: str) -> None:
        """A session that is not there is one to nobody."""
        path = {"get": "", "get_state": "/state", "get_context": "/context", "list_turns": "/turns", "fork": "/fork"}
        method = "POST" if call in ("get_context", "fork") else "GET"
        self.agree(
            lambda: self.here.call(f"sessions.{call}", "sess_nobody"),
            lambda: self.raw.ask(method, f"/v1/sessions/sess_nobody{path[call]}"),
            lambda: self.sdk.sdk(f"sessions.{call}", "sess_nobody"),
        )

    @invariant()
    def ledgers_agree(self) -> None:
        if hasattr(self, "served"):
            for name in self.here.ids.keys() - self.gone:
                here, raw, sdk = (door.ledger(name) for door in self.doors())
                assert here == raw == sdk


TestDoors = Doors.TestCase
TestDoors.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
