"""Sessions as the StateBase service answers them, in raw JSON → ledgers, each with a proposed plan."""

from .raw import Pulled
from .session import PulledSession, session_from

__all__ = ["Pulled", "PulledSession", "session_from"]
