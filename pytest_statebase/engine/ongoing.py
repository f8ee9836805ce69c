"""A turn while it is being replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextvars import Context
from datetime import datetime

from ..compare.model import Observed, ReplayedCall
from ..compare.shapes import as_moment
from ..errors import StatebaseError
from ..ledger import Ledger, Turn
from ..statebase import LocalClient
from .bounds import Bounds
from .entries import Entry
from .matching import now


class Ongoing:
    """A turn that is being replayed, as far as the answering of calls is concerned."""

    def __init__(self, recorded: Ledger, turn: Turn) -> None:
        self.turn = turn
        self.observed = Observed(turn.number)
        self.latch: str | None = None
        """Why the turn is over before its time: a call had no answer. Every later call is refused."""
        self.fatal: StatebaseError | None = None
        self.over = False
        self.numbers: Counter[str] = Counter()
        """How many calls of each tool were made."""
        self.provisional: list[tuple[ReplayedCall, Entry]] = []
        self.bounds = Bounds(turn)
        self._recorded = recorded
        self._clocks: list[datetime] | None = None

    def run_away(self, reason: str) -> None:
        """Told that the turn goes on calling beyond all bounds; a turn with a runner is ended."""

    @property
    def ended(self) -> bool:
        """Whether the turn was ended from outside: what it did not wait for any more says nothing."""
        return False

    def when_done(self, action: Callable[[], None]) -> None:
        """Do it once the turn has come to its own end: never, where it is interrupted."""
        action()

    def wait_for(self, call: object, seconds: float) -> None:
        """Told that the turn waits for a provider, which is not the agent's time, for so many seconds at most."""

    def waited_for(self, call: object) -> None:
        """Told that this is over."""

    def client(self) -> LocalClient | None:
        """What answers the turn's requests to StateBase; None where there is nothing of the kind."""
        return None

    def clocks(self) -> list[datetime]:
        """The turn's own time: when it was recorded, where its clock starts, and now, for what comes from outside."""
        if self._clocks is None:
            moment = as_moment(self.turn.started.at or self._recorded.created.at)
            real = Context().run(now)
            self._clocks = [real, moment] if moment else [real]
        return self._clocks
