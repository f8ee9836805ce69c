"""The journal of captured sessions: written in production, line by checked line, and read to make cassettes."""

from .limits import Limits
from .status import read_statuses
from .writer import Writer

__all__ = ["Limits", "Writer", "read_statuses"]
