"""What an agent is handed in one turn, and what becomes of the state that it was handed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..ledger import Ledger, StateUpdated, ToolCalled, input_text
from ..statebase import LocalClient, RunningTurn
from ..values import ABSENT, changed_alike, copy_value, same
from .agents import AgentReply, as_reply
from .messages import chat_messages
from .tools import ToolCaller


class Offer:
    """One turn's parameters, made when they are asked for.

    ledger: the session so far, the turn already started. content: the input. call: answers `tools.NAME(…)`.
    connect: makes the client of this turn.
    """

    __slots__ = ("_before", "_call", "_client", "_connect", "_content", "_handed", "_ledger", "_running")

    def __init__(
        self,
        ledger: Ledger,
        content: Any,
        call: Callable[[str, Any], Any],
        connect: Callable[[], tuple[LocalClient, RunningTurn]],
    ) -> None:
        self._ledger = ledger
        self._content = content
        self._call = call
        self._connect = connect
        self._client: LocalClient | None = None
        self._running: RunningTurn | None = None
        self._handed: Any = ABSENT
        self._before: Any = ABSENT

    def parameters(self) -> dict[str, Callable[[], Any]]:
        """By name, each to be called for its value."""
        ledger = self._ledger
        return {
            "session_id": lambda: ledger.id,
            "user_input": lambda: user_input(self._content),
            "state": self._hand_state,
            "history": lambda: list(ledger.turns[:-1]),
            "messages": lambda: chat_messages(ledger.turns),
            "tools": lambda: ToolCaller(self._call),
            "statebase": self.client,
            "turn": lambda: ledger.turns[-1].number,
        }

    def client(self) -> LocalClient:
        """The client of this turn, the same whenever it is asked for. Not to be asked from two threads at once."""
        if self._client is None:
            self._client, self._running = self._connect()
        return self._client

    def reply(self, value: Any, name: str) -> AgentReply:
        """What an agent returned as a reply (see `as_reply`), with what it reported through the client.

        An agent that returns nothing has replied with the turn that it added.
        """
        given = None if self._running is None else self._running.given
        if given is None:
            return as_reply(value, name)
        reply = AgentReply(given.output) if value is None else as_reply(value, name)
        return replace(
            reply,
            reasoning=given.reasoning if reply.reasoning is None else reply.reasoning,
            metadata=given.metadata if reply.metadata is None else reply.metadata,
        )

    @property
    def logged(self) -> list[ToolCalled]:
        """The tool calls that the agent has logged through the client."""
        return [] if self._running is None else self._running.logged

    def _hand_state(self) -> Any:
        state = self._ledger.state
        self._before = {} if state is ABSENT else state
        self._handed = copy_value(self._before)
        return self._handed

    def settle(self, reply: AgentReply) -> None:
        """Append a state version where the reply brings a state, or the state that was handed has been changed."""
        ledger = self._ledger
        new = reply.state
        if new is ABSENT and self._handed is not ABSENT and not same(self._handed, self._before):
            # What a stubbed tool did to the state in the meantime stays.
            new = changed_alike(ledger.state, self._before, self._handed)
        if new is not ABSENT and (ledger.version is None or not same(new, ledger.state_value())):
            ledger.append(StateUpdated(ledger.next_version(), copy_value(new), reply.reasoning))


def user_input(content: Any) -> Any:
    """The input as an agent gets it: text where it is text (several inputs joined by line breaks), else as recorded."""
    if content is None:
        return None
    if isinstance(content, list):
        return "\n".join(map(input_text, content)) if all(map(_is_text, content)) else content
    return content.get("content") if content.keys() <= {"type", "content"} else content


def _is_text(content: Mapping[str, Any]) -> bool:
    return isinstance(content.get("content"), str)
