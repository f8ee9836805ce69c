"""Which of several agents is at work, told by the agents themselves. Imports nothing: production code may use it."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar, Token
from types import TracebackType

_agent: ContextVar[str | None] = ContextVar("statebase_acting_agent", default=None)


class acting_as:  # noqa: N801 - it reads as a statement: `with acting_as("triage"):`
    """Calls of tools made inside carry the agent's name, in recordings and in replays.

    `with acting_as("billing"): …`, in async code too; one inside another counts while it lasts. Threads started by
    hand do not inherit it. Where neither a recording nor a replay runs, it does nothing.
    """

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self._tokens: list[Token[str | None]] = []

    def __enter__(self) -> acting_as:
        self._tokens.append(_agent.set(self.agent))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An async generator may be closed in another context than it was begun in: nothing is set there.
        with suppress(ValueError):
            _agent.reset(self._tokens.pop())


def acting_agent() -> str | None:
    """The name given by the innermost `acting_as`, None outside of any."""
    return _agent.get()
