"""`client.memory`: what agents are to remember beyond a turn."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..events import timestamp
from ..ledger import MemoryAdded, MemoryDeleted, MemorySearched, MemoryUpdated
from ..values import copy_value
from .faults import invalid, not_found
from .held import ACTOR, Held, Store, memory_id, memory_item
from .items import Item, Order, Page, mapping, page, plain

TYPES = ("fact", "preference", "event", "policy", "observation", "general")
MAX_CONTENT = 10_000
"""Characters of one memory."""
LEXICAL = "lexical"
"""How a search ranks that was not recorded, as its answer and its event say."""
_WORD = re.compile(r"\w+")


class Memory:
    """What agents are to remember. Memories belong to a session; a fork begins with those of its source."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def add(
        self,
        content: str,
        type: str = "fact",
        session_id: str | None = None,
        tags: list[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Item:
        """Remember `content` (up to 10,000 characters) in a session.

        type: fact, preference, event, policy, observation or general.
        """
        _check(content, type)
        extra = {} if metadata is None else {"metadata": mapping(metadata, "metadata")}
        held = self._store.get(session_id)
        with held.writing() as ledger:
            kept = None if tags is None else list(tags)
            event = MemoryAdded(content, type, kept, None, ACTOR, timestamp(), held.during(), extra)
            ledger.append(event)
            return memory_item(ledger, len(ledger.memories), event)

    def search(
        self,
        query: str,
        session_id: str | None = None,
        types: str | Iterable[str] | None = None,
        tags: str | Iterable[str] | None = None,
        limit: int | None = 10,
        threshold: float = 0.0,
    ) -> Page:
        """Memories that share words with `query`, best first: `id session_id content type score`.

        The ranking is lexical, not semantic: `score` is the share of the query's words that a memory holds, and
        `ranking` of the list says so. A search in a session that was recorded gives the recorded results
        (`ranking: recorded`), outside of replays as long as no memory has changed.
        types and tags: several as a list or joined by commas. threshold: a similarity. It drops recorded results that
        the service scored lower, and has no say in a lexical ranking, whose scores are none.
        """
        given: dict[str, Any] = {"limit": limit, "types": _many(types), "tags": _many(tags)}
        if session_id is not None or self._store.only:
            ranking, results = search_session(self._store.get(session_id), query, threshold=threshold, **given)
        else:
            ranking, results = "lexical", search_items(self._store.all(), query, **given)
        return page(results, limit=limit, ranking=ranking)

    def get(self, memory_id: str) -> Item:
        """One memory by its id. Raises ApiError (404) where there is none."""
        return self._find(memory_id)[2]

    def update(
        self,
        memory_id: str,
        content: str | None = None,
        type: str | None = None,
        tags: list[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Item:
        """Change what is given of a memory; the rest stays. Where nothing is given nothing happens."""
        held, number, item = self._find(memory_id)
        _check(item.content if content is None else content, type or "general")
        given = {"content": content, "type": type, "tags": tags, "metadata": metadata}
        changes = {key: plain(copy_value(value)) for key, value in given.items() if value is not None}
        if not changes:
            return item
        with held.writing() as ledger:
            event = MemoryUpdated(number, item.content, **changes, actor=ACTOR, at=timestamp(), during=held.during())
            ledger.append(event)
        return Item({**item, **copy_value(changes)})

    def delete(self, memory_id: str) -> None:
        """Forget a memory; the trace of its creation stays."""
        held, number, item = self._find(memory_id)
        with held.writing() as ledger:
            ledger.append(MemoryDeleted(number, item.content, ACTOR, timestamp(), held.during()))

    def list(
        self,
        session_id: str | None = None,
        type: str | None = None,
        limit: int | None = None,
        starting_after: str | None = None,
        order: Order = "asc",
    ) -> Page:
        """The memories of a session, or of all, oldest first."""
        one = session_id is not None or self._store.only
        helds = [self._store.get(session_id)] if one else self._store.all()
        found = [item for held in helds for item in held.memory_items() if type in (None, item.type)]
        return page(found, limit=limit, starting_after=starting_after, order=order)

    def _find(self, id: str) -> tuple[Held, int, Item]:
        for held in self._store.search():
            names = self._store.names_of(held)
            for number, item in held.memories().items():
                # A replay knows its fork under the recorded id, too: what a search gave then is found by its id.
                made = [memory_id(name, number) for name in (held.ledger.id, *names)]
                if item.id == id or (item.id in made and id in made):
                    return held, number, item
        raise not_found("memory", id)


def _check(content: Any, type: str) -> None:
    if not isinstance(content, str) or not content:
        raise invalid("content must be a text", "content")
    if len(content) > MAX_CONTENT:
        raise invalid(f"content has {len(content):,} characters; at most {MAX_CONTENT:,} are kept", "content")
    if type not in TYPES:
        raise invalid(f"type is one of {', '.join(TYPES)}, not {type!r}", "type")


def _many(given: str | Iterable[str] | None) -> list[str] | None:
    if given is None:
        return None
    return [name.strip() for name in given.split(",")] if isinstance(given, str) else list(given)


def search_session(
    held: Held,
    query: str,
    *,
    limit: int | None = None,
    types: list[str] | None = None,
    tags: list[str] | None = None,
    threshold: float = 0.0,
) -> tuple[str, list[Item]]:
    """A search in one session, which becomes an event of it: the ranking, and what was found, best first.

    Recorded results come first (`recorded`), else memories are ranked by words (`lexical`).
    """
    recorded = held.recall(query)
    if recorded is None:
        ranking, found = LEXICAL, search_items([held], query, limit=limit, types=types, tags=tags)
        extra: dict[str, Any] = {"ranking": LEXICAL}
    else:
        ranking, extra = "recorded", copy_value(dict(recorded.extra))
        is_similar = extra.get("ranking") != LEXICAL
        kept = [one for one in recorded.results if not (is_similar and _is_below(one, threshold))]
        found = [Item(copy_value(dict(one))) for one in kept[:limit]]
    with held.writing() as ledger:
        results = [plain(item) for item in found]
        ledger.append(MemorySearched(query, results, timestamp(), held.during(), extra))
    return ranking, found


def _is_below(result: Mapping[str, Any], threshold: float) -> bool:
    score = result.get("score")
    return isinstance(score, (int, float)) and score < threshold


def search_items(
    helds: Iterable[Held],
    query: str,
    *,
    limit: int | None = None,
    types: list[str] | None = None,
    tags: list[str] | None = None,
) -> list[Item]:
    """Memories that share words with `query`, best first, of equal ones the newest first."""
    words = _words(query)
    scored = []
    for held in helds:
        for item in held.memory_items():
            if (types is None or item.type in types) and (tags is None or set(tags) & set(item.tags)):
                score = _score(words, _words(" ".join((item.content, *map(str, item.tags)))))
                if score > 0:
                    scored.append((score, item))
    scored.reverse()
    scored.sort(key=lambda pair: -pair[0])
    return [
        Item(id=item.id, session_id=item.session_id, content=item.content, type=item.type, score=round(score, 4))
        for score, item in scored[:limit]
    ]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _score(query: set[str], words: set[str]) -> float:
    """The share of the query's words that are there; a word of four letters counts where another begins with it."""
    if not query:
        return 0.0
    found = sum(1 for word in query if word in words or (len(word) > 3 and any(w.startswith(word) for w in words)))
    return found / len(query)
