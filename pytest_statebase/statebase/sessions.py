"""`client.sessions`: sessions with their state, turns and forks."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

from ..events import timestamp
from ..ledger import (
    ForkPoint,
    Ledger,
    SessionCreated,
    SessionForked,
    StateRolledBack,
    StateUpdated,
    StateVersion,
    ToolCalled,
    TurnAdded,
    TurnStarted,
    state_of,
)
from ..values import ABSENT, copy_value, same
from .faults import ApiError, invalid, not_found
from .held import ACTOR, Beside, Held, Store
from .items import Item, Order, Page, between, mapping, page, plain, recorded
from .memory import search_session
from .views import (
    call_item,
    id_of_turn,
    session_item,
    shown_turns,
    state_item,
    state_now,
    turn_item,
    turn_items,
    turns_of_versions,
    version_item,
    versions_of,
)

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
OnFork: TypeAlias = Callable[[Ledger, Ledger, ForkPoint], None]
"""Told of every fork: the source, the fork, the point."""


class Sessions:
    """Sessions with their state, turns and forks. Every answer is a copy; every list comes oldest first."""

    def __init__(self, store: Store, on_fork: OnFork | None = None) -> None:
        self._store = store
        self._on_fork = on_fork

    def create(
        self,
        agent_id: str | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        initial_state: Mapping[str, Any] | None = None,
        ttl_seconds: int | None = None,
        reasoning: str | None = None,
    ) -> Item:
        """Begin a session; `initial_state` is version 0. A time to live is accepted, and nothing expires."""
        state = mapping({} if initial_state is None else initial_state, "initial_state")
        more = None if metadata is None else mapping(metadata, "metadata")
        name = self._store.free_id(f"sess_{uuid.uuid4().hex[:12]}")
        created = SessionCreated(name, agent_id, user_id, timestamp(), copy_value(state), more, ACTOR, reasoning)
        return session_item(self._store.add(name, Held(Ledger([created]), owned=True)))

    def get(self, session_id: str) -> Item:
        """A session as it stands. Raises ApiError (404) where there is none, as every call with an id does."""
        return session_item(self._store.get(session_id))

    def list(
        self,
        agent_id: str | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        created_after: str | datetime | None = None,
        user_id: str | None = None,
        order: Order = "asc",
    ) -> Page:
        """Every session that the client knows, the oldest first; those of which no time is known before all others."""
        found = sorted(map(session_item, self._store.all()), key=lambda item: recorded(item.created_at) or _BEFORE_ALL)
        kept = [
            item
            for item in between(found, lambda item: item.created_at, created_after, None)
            if agent_id in (None, item.agent_id) and user_id in (None, item.user_id)
        ]
        return page(kept, limit=limit, starting_after=starting_after, order=order)

    def update(self, session_id: str, metadata: Mapping[str, Any]) -> Item:
        """Merge keys into the session's metadata. It leaves a trace, and is no event of the session."""
        given = mapping(metadata, "metadata")
        held = self._store.get(session_id)
        with held.writing() as ledger:
            details = {"metadata": copy_value(given)}
            held.beside.append(
                Beside(len(ledger.events), "session.updated", details, ACTOR, timestamp(), metadata=given)
            )
        return session_item(held)

    def delete(self, session_id: str) -> None:
        """Forget a session. Its traces stay; so does every file."""
        held = self._store.get(session_id)
        if held.running is not None:
            raise invalid("a session that is being replayed cannot be deleted", "session_id")
        held.beside.append(Beside(len(held.ledger.events), "session.deleted", {}, ACTOR, timestamp()))
        self._store.remove(session_id)

    # --- state -----------------------------------------------------------------------------------------------------

    def get_state(self, session_id: str) -> Item:
        """The current state: `session_id`, `version`, `state`, `updated_at`."""
        return state_item(self._store.get(session_id).ledger)

    def update_state(
        self, session_id: str, state: Mapping[str, Any], reasoning: str | None = None, *, replace: bool = False
    ) -> Item:
        """Make a new version: the keys of `state` are merged into the current one; `replace=True` takes it whole."""
        given = mapping(state, "state")
        held = self._store.get(session_id)
        with held.writing() as ledger:
            now = state_now(ledger)
            new = given if replace or not isinstance(now, dict) else {**now, **given}
            _update(held, ledger, new, reasoning)
        return state_item(ledger)

    def list_state_versions(
        self,
        session_id: str,
        limit: int | None = None,
        since_version: int | None = None,
        starting_after: str | None = None,
        order: Order = "asc",
    ) -> Page:
        """Every version, oldest first: item N is version N. `since_version`: only those after it."""
        held = self._store.get(session_id)
        ledger, turns = held.ledger, turns_of_versions(held)
        found = [
            version_item(version, turns[version.version])
            for version in versions_of(ledger)
            if since_version is None or version.version > since_version
        ]
        return page(found, limit=limit, starting_after=starting_after, order=order, current_version=ledger.version or 0)

    def rollback(self, session_id: str, version: int, reason: str | None = None) -> Item:
        """Make a new version equal to an earlier one, which all stay; -1 is the version before the current one."""
        held = self._store.get(session_id)
        with held.writing() as ledger:
            wanted = _version(ledger, version)
            event = StateRolledBack(
                ledger.next_version(),
                wanted.version,
                copy_value(state_of(wanted.event)),
                reason,
                ACTOR,
                timestamp(),
                held.during(),
            )
            ledger.append(event)
        return state_item(ledger)

    # --- forks -----------------------------------------------------------------------------------------------------

    def fork(self, session_id: str, version: int | None = None, *, turn: int | None = None) -> Item:
        """A new session that begins as this one stood just after `version` was made; without one, as it stands.

        turn: fork just before the input of that turn instead, also where no states were recorded (a chat log).

        The fork has the versions up to there, the turns and memories as they stood, `metadata.forked_from` and
        `metadata.forked_version`. The source is untouched.
        """
        held = self._store.get(session_id)
        with held.lock:
            source = held.ledger
            point, cut = _point(source, version, turn)
            name = self._store.free_id(source.fork_id(point))
            forked = Ledger(source.events[:cut])
            forked.append(SessionForked(name, source.id, str(point), forked.version, timestamp()))
            made = held.forked(forked, cut)
        self._store.add(name, made)
        if self._on_fork is not None:
            self._on_fork(source, forked, point)
        return session_item(made)

    # --- turns -----------------------------------------------------------------------------------------------------

    def add_turn(
        self,
        session_id: str,
        input: Any,
        output: Any = None,
        metadata: Mapping[str, Any] | None = None,
        reasoning: str | None = None,
        state_after: Mapping[str, Any] | None = None,
        state_before: Mapping[str, Any] | None = None,
    ) -> Item:
        """Add a turn with its input and output (text, or `{type, content}`) and the tool calls logged before it.

        A `state_after` that differs from `state_before` (by default the state as it stands) makes a new version.
        In the turn that is being replayed the call gives that turn's end, where the agent itself returns nothing.
        """
        held = self._store.get(session_id)
        started = _content(input, "input")
        ended = ABSENT if output is None else _content(output, "output")
        more = None if metadata is None else mapping(metadata, "metadata")
        new_state = None if state_after is None else mapping(state_after, "state_after")
        old_state = None if state_before is None else mapping(state_before, "state_before")
        with held.writing() as ledger:
            added = TurnAdded(ended, None, reasoning, more, actor=ACTOR, at=timestamp())
            if held.running is None:
                ledger.append(TurnStarted(ledger.next_number(), started, added.at))
                for call in held.calls:
                    ledger.append(call)
                held.calls.clear()
            before = ledger.state_value() if old_state is None else old_state
            if new_state is not None and not same(new_state, before):
                _update(held, ledger, new_state, reasoning, added.at)
            if held.running is None:
                ledger.append(added)
            else:
                held.running.given = added
            return turn_item(held, ledger.turns[-1])

    def add_tool_call(
        self,
        session_id: str,
        tool_name: str,
        arguments: Mapping[str, Any],
        output: Any = None,
        tool_call_id: str | None = None,
        reasoning: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Item:
        """Log a tool call: it becomes part of the turn that is added next. In a replay it is only a log."""
        given = mapping(arguments, "arguments")
        call = ToolCalled(tool_name, given, result=plain(copy_value(output)), id=tool_call_id, at=timestamp())
        return self.log_call(session_id, call, reasoning, metadata)

    def log_call(
        self,
        session_id: str,
        call: ToolCalled,
        reasoning: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Item:
        """As `add_tool_call`, for a call that may have failed. `reasoning` and `metadata` are kept in its `extra`."""
        told = {"reasoning": reasoning, "metadata": mapping(metadata, "metadata") if metadata else None}
        call = replace(call, extra={**call.extra, **{key: value for key, value in told.items() if value is not None}})
        held = self._store.get(session_id)
        with held.writing() as ledger:
            running = held.running
            number, calls = (
                (ledger.next_number(), held.calls) if running is None else (ledger.turns[-1].number, running.logged)
            )
            calls.append(call)
            return call_item(held, call, number, len(calls) - 1, call.at)

    def list_turns(
        self,
        session_id: str,
        limit: int | None = None,
        starting_after: str | None = None,
        order: Order = "asc",
        *,
        tool_turns: bool = False,
    ) -> Page:
        """The turns, oldest first: item N is turn N + 1. Without `limit` all of them.

        tool_turns: each tool call comes as a turn of its own before the turn it belongs to, as production logs it.
        """
        found = turn_items(self._store.get(session_id), tool_turns=tool_turns)
        return page(found, limit=limit, starting_after=starting_after, order=order)

    def get_turn(self, turn_id: str, session_id: str | None = None, *, tool_turns: bool = False) -> Item:
        """One turn by its id, in any session."""
        for held in self._store.search() if session_id is None else [self._store.get(session_id)]:
            if tool_turns:
                for item in turn_items(held, tool_turns=True):
                    if item.id == turn_id:
                        return item
                continue
            for turn in shown_turns(held):
                if id_of_turn(held.ledger.id, turn) == turn_id:
                    return turn_item(held, turn)
        raise not_found("turn", turn_id)

    def get_context(
        self,
        session_id: str,
        query: str | None = None,
        memory_limit: int = 5,
        turn_limit: int = 5,
        *,
        tool_turns: bool = False,
    ) -> Item:
        """What a prompt needs: `state`, `memories` and `recent_turns`.

        Memories come newest first, as turns do. With a `query` they are those that `memory.search` finds, best first,
        and `ranking` is that of this search. tool_turns: as for `list_turns`.
        """
        held = self._store.get(session_id)
        more: dict[str, Any] = {}
        if query is None or memory_limit < 1:
            memories = held.memory_items()[::-1][:memory_limit]
        else:
            more["ranking"], memories = search_session(held, query, limit=memory_limit)
        recent = turn_items(held, tool_turns=tool_turns)[::-1][:turn_limit]
        return Item(state=state_now(held.ledger), memories=memories, recent_turns=recent, **more)


def _update(held: Held, ledger: Ledger, new: Any, reasoning: str | None, at: str | None = None) -> None:
    value = copy_value(new)
    ledger.append(StateUpdated(ledger.next_version(), value, reasoning, ACTOR, at or timestamp(), held.during()))


def _version(ledger: Ledger, number: int) -> StateVersion:
    versions = versions_of(ledger)
    if number == -1:
        if len(versions) < 2:
            raise invalid("there is no version before the current one", "version")
        return versions[-2]
    found = next((version for version in versions if version.version == number), None)
    if found is None:
        raise _no_version(ledger, number)
    return found


def _no_version(ledger: Ledger, number: int) -> ApiError:
    numbers = [version.version for version in versions_of(ledger)]
    return not_found("version", number, known=f"versions {numbers[0]} to {numbers[-1]}")


def _point(ledger: Ledger, version: int | None, turn: int | None) -> tuple[ForkPoint, int]:
    """The fork point of a version or turn, and how many events lie before it."""
    if turn is not None:
        if version is not None:
            raise invalid("a fork is at a version or at a turn, not at both", "turn")
        if all(one.number != turn for one in ledger.turns):
            raise invalid(f"session {ledger.id} has no turn {turn}", "turn")
        return ForkPoint("turn", turn), ledger.cut(ForkPoint("turn", turn))
    if version is None:
        return ForkPoint("version", ledger.version or 0), len(ledger.events)
    if all(one.version != version for one in versions_of(ledger)):
        raise _no_version(ledger, version)
    point = ForkPoint("version", version)
    return point, ledger.cut(point)


def _content(value: Any, param: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"type": "text", "content": value}
    if isinstance(value, Mapping):
        return mapping(copy_value(value) if type(value) is dict else value, param)
    raise invalid(f"{param} is text or a mapping with type and content, not {type(value).__name__}", param)
