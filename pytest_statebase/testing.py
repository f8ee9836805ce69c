"""Helpers for tests of replays: an agent that re-enacts a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .cassette import Cassette
from .engine.acting import acting_as
from .engine.agents import AgentReply
from .engine.tools import ToolCaller
from .ledger import Ledger, StateRolledBack, StateUpdated, ToolCalled
from .values import ABSENT, copy_value

__all__ = ["Reenact", "ReenactedError"]


class ReenactedError(Exception):
    """Raised by `Reenact` where the recorded agent raised; it stands for the recorded exception's type."""


class Reenact:
    """An agent that does, turn by turn (by number), what the agent of another recording did.

    It makes the recorded calls with the recorded arguments, in order, whatever comes back, sets the recorded state and
    gives the recorded output. In a turn that its recording does not have it says nothing.

    recording: a Cassette or a Ledger.
    """

    def __init__(self, recording: Cassette | Ledger) -> None:
        self.ledger = recording.ledger if isinstance(recording, Cassette) else recording
        self._turns = {turn.number: turn for turn in self.ledger.turns}

    def __call__(self, turn: int, tools: ToolCaller) -> AgentReply:
        """Re-enact turn number `turn` with the stubbed `tools`."""
        done = self._turns.get(turn)
        if done is None:
            return AgentReply()
        state: Any = ABSENT
        for event in done.events:
            if isinstance(event, ToolCalled) and event.during is None:
                self._call(tools, event)
            elif isinstance(event, (StateUpdated, StateRolledBack)) and event.during is None:
                state = copy_value(event.value)
        if done.error is not None:
            raise _raised(done.error)
        output = done.output if done.output is not None else ABSENT
        reasoning = done.added.reasoning if done.added else None
        return AgentReply(copy_value(output), state, reasoning)

    @staticmethod
    def _call(tools: ToolCaller, event: ToolCalled) -> None:
        try:
            if event.agent is not None:
                with acting_as(event.agent):
                    tools.call(event.tool, copy_value(event.arguments))
                return
            tools.call(event.tool, copy_value(event.arguments))
        except Exception:
            # The recorded agent went on from here as its recording says, whatever it made of the error.
            return


def _raised(error: Mapping[str, Any]) -> Exception:
    """An exception that reads as the recorded one: same type name, same message."""
    module, _, path = str(error.get("type", "RuntimeError")).rpartition(":")
    names = {"__module__": module or "builtins", "__qualname__": path}
    kind = type(path.rpartition(".")[2], (ReenactedError,), names)
    raised: Exception = kind(error.get("message", ""))
    return raised
