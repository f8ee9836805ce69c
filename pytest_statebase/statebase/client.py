"""A client that speaks the API of the StateBase documentation, over ledgers in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..ledger import Ledger
from .held import Held, RunningTurn, Store
from .memory import Memory
from .sessions import OnFork, Sessions
from .traces import Traces


class LocalClient:
    """Sessions, memories and traces without a server: `client.sessions.fork(session_id=…, version=14)`.

    sessions: by id, ledgers or functions that read one when it is first asked for. They are copied before anything
    is written to them: no recording changes, and nothing reaches a file.
    on_fork: told of every fork that is made: the source's ledger, the fork's ledger, the point.
    """

    def __init__(
        self, sessions: Mapping[str, Ledger | Callable[[], Ledger]] | None = None, *, on_fork: OnFork | None = None
    ) -> None:
        self._store = Store(sessions or {})
        self.sessions = Sessions(self._store, on_fork)
        self.memory = Memory(self._store)
        self.traces = Traces(self._store)

    @classmethod
    def of_turn(cls, ledger: Ledger, names: Iterable[str], lock: Any = None) -> LocalClient:
        """The client of an agent that runs in one session: what it writes goes into `ledger` itself.

        names: other ids by which the agent may know the session. lock: held while something is written.
        """
        client = cls()
        held = Held(ledger, owned=True) if lock is None else Held(ledger, owned=True, lock=lock)
        for name in (ledger.id, *names):
            client._store.add(name, held)
        client._store.only = ledger.id
        return client

    def enter(self, turn: RunningTurn) -> None:
        """From now on what is written to the session of `of_turn` belongs to `turn`."""
        self._store.get(None).running = turn
