"""`client.traces`: what happened, as an auditor reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from ..events import timestamp
from .faults import not_found
from .held import ACTOR, Beside, Held, Store
from .items import Item, Order, Page, between, mapping, page
from .views import all_traces, beside_items, trace_items


class Traces:
    """What happened, oldest first: every operation on sessions, state, turns and memory leaves a trace."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(
        self,
        session_id: str | None = None,
        action: str | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        resource_type: str | None = None,
        resource_id: str | None = None,
        user_id: str | None = None,
        start_time: str | datetime | None = None,
        end_time: str | datetime | None = None,
        created_after: str | datetime | None = None,
        created_before: str | datetime | None = None,
        order: Order = "asc",
    ) -> Page:
        """The traces of a session, or of all, by `action` (`state.rolled_back`), resource, user and time.

        Without `limit` all of them. Those of a deleted session are there still.
        """
        wanted = {"action": action, "resource_type": resource_type, "resource_id": resource_id, "user_id": user_id}
        given = {key: value for key, value in wanted.items() if value is not None}
        found = [
            item
            for item in all_traces(self._helds(session_id))
            if all(item[key] == value for key, value in given.items())
        ]
        kept = between(found, lambda item: item.timestamp, start_time or created_after, end_time or created_before)
        return page(kept, limit=limit, starting_after=starting_after, order=order)

    def get(self, trace_id: str) -> Item:
        """One trace by its id. Raises ApiError (404) where there is none."""
        for held in chain(self._store.search(), self._store.deleted.values()):
            if not trace_id.startswith(f"trace_{held.ledger.id}_"):
                continue
            for item in trace_items(held):
                if item.id == trace_id:
                    return item
        raise not_found("trace", trace_id)

    def create(
        self,
        action: str,
        session_id: str | None = None,
        details: Mapping[str, Any] | None = None,
        reasoning: str | None = None,
        actor: str | None = None,
        timestamp: str | None = None,
        **more: Any,
    ) -> Item:
        """Leave a trace of your own, such as `patient_data.accessed`; what else is given goes into `details`.

        It is kept with the session while the client lives, and is no event of it.
        """
        held = self._store.get(session_id)
        told = mapping({**(details or {}), **more}, "details")
        if reasoning is not None:
            told["reasoning"] = reasoning
        with held.writing() as ledger:
            held.beside.append(Beside(len(ledger.events), action, told, actor or ACTOR, timestamp or _now()))
            return beside_items(held)[-1]

    def _helds(self, session_id: str | None) -> Sequence[Held]:
        if session_id is None:
            return [*self._store.all(), *self._store.deleted.values()]
        deleted = self._store.deleted.get(session_id)
        return [self._store.get(session_id) if deleted is None else deleted]


_now = timestamp
