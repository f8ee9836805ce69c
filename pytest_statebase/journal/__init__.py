"""The journal of captured sessions: written in production, line by checked line, and read to make cassettes."""

from .assemble import CapturedSession, read_sessions
from .limits import Limits
from .read import Damage, is_journal
from .status import read_statuses
from .writer import Writer

__all__ = ["CapturedSession", "Damage", "Limits", "Writer", "is_journal", "read_sessions", "read_statuses"]
