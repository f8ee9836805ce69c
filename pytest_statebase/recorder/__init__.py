"""Recording of sessions: a run of an agent with its live tools becomes a ledger."""

from .session import record_session

__all__ = ["record_session"]
