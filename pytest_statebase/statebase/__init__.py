"""The StateBase API over ledgers: a client that needs no server."""

from .client import LocalClient
from .faults import ApiError
from .held import RunningTurn
from .items import Item, Page

__all__ = ["ApiError", "Item", "LocalClient", "Page", "RunningTurn"]
