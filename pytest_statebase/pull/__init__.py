"""Sessions of a StateBase service → cassettes: everything of them, in order, nothing lost and nothing twice."""

from .api import Api
from .find import Found, Wanted, find_sessions, since_time
from .run import Outcome, Pull, estimate

__all__ = ["Api", "Found", "Outcome", "Pull", "Wanted", "estimate", "find_sessions", "since_time"]
