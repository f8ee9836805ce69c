"""The runs and examples of an export, whatever container they stand in, and where each is in its trace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..dialects.text import NOT_JSON, from_json
from ..files import inside

_LISTS = ("post", "patch", "runs", "data", "items", "traces", "examples")
_EXAMPLE = frozenset(
    {"id", "inputs", "outputs", "metadata", "dataset_id", "dataset_name", "created_at", "modified_at", "source_run_id"}
    | {"split", "name", "reference_outputs", "attachment_urls", "attachments", "runs", "feedback_stats"}
)
_STRUCTURES = frozenset({"inputs", "outputs", "extra", "metadata", "custom_metadata", "events", "tags"})
_ORDERED = re.compile(r"Z([0-9a-fA-F-]{8,})\Z")
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Run:
    """A run, its ids resolved."""

    fields: Mapping[str, Any]
    id: str
    trace: str
    parent: str | None
    where: str


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a dataset: what went in and what should come out."""

    fields: Mapping[str, Any]
    where: str


def is_langsmith(document: Any) -> bool:
    """Whether a JSON document, or the first item of a list, is an export of LangSmith."""
    if isinstance(document, list):
        return bool(document) and isinstance(document[0], Mapping) and is_langsmith(document[0])
    if not isinstance(document, Mapping):
        return False
    if _is_run(document) or _is_example(document):
        return True
    items = (document[key] for key in _LISTS if isinstance(document.get(key), list))
    return any(_is_run(item) or _is_example(item) for listed in items for item in listed[:1])


def _is_run(item: Any) -> bool:
    if not isinstance(item, Mapping) or not ("id" in item or "run_id" in item):
        return False
    return isinstance(item.get("run_type"), str) or (
        "trace_id" in item and ("dotted_order" in item or "end_time" in item)
    )


def _is_example(item: Any) -> bool:
    if not isinstance(item, Mapping) or not isinstance(item.get("inputs"), Mapping) or "outputs" not in item:
        return False
    return item.keys() <= _EXAMPLE and isinstance(item["outputs"], (Mapping, type(None)))


def _told(key: str, value: Any) -> Any:
    """The value of a field; bulk exports write structures as JSON in text."""
    found = from_json(value) if key in _STRUCTURES and isinstance(value, str) else NOT_JSON
    return value if found is NOT_JSON else found


class Runs:
    """Collects runs from documents. A run that comes twice (begun, then ended) is one."""

    def __init__(self) -> None:
        self.examples: list[Example] = []
        self._runs: dict[str, dict[str, Any]] = {}
        self._places: dict[str, str] = {}

    def runs(self) -> list[Run]:
        """Each run once."""
        return [self._resolved(one, fields) for one, fields in self._runs.items()]

    def add(self, document: Any, where: str) -> None:
        """Take the runs and examples of a document in."""
        waiting: list[tuple[Any, str, str | None, int]] = [(document, where, None, _DEPTH)]
        while waiting:
            item, place, parent, depth = waiting.pop()
            if isinstance(item, list) and depth > 0:
                places = ((one, inside(place, index), parent, depth - 1) for index, one in enumerate(item))
                waiting.extend(reversed(list(places)))
            elif _is_run(item):
                above = self._add_run(item, place, parent)
                children = item.get("child_runs")
                if isinstance(children, list):
                    waiting.append((children, inside(place, "child_runs"), above, _DEPTH))
            elif _is_example(item):
                self.examples.append(Example(item, place))
            elif isinstance(item, Mapping) and depth > 0:
                lists = [(item[key], inside(place, key), None, depth - 1) for key in _LISTS if key in item]
                waiting.extend(reversed(lists))

    def _add_run(self, item: Mapping[str, Any], where: str, parent: str | None) -> str:
        own = str(item.get("id") or item.get("run_id") or where)
        fields = {key: _told(key, value) for key, value in item.items() if key != "child_runs"}
        if parent is not None and fields.get("parent_run_id") is None:
            fields["parent_run_id"] = parent
        known = self._runs.setdefault(own, {})
        self._places.setdefault(own, where)
        known.update({key: value for key, value in fields.items() if value not in (None, {}, []) or key not in known})
        return own

    def _resolved(self, id: str, fields: Mapping[str, Any]) -> Run:
        order = fields.get("dotted_order")
        steps = [_ORDERED.search(step) for step in order.split(".")] if isinstance(order, str) else []
        path = [step[1] for step in steps if step is not None]
        parent = fields.get("parent_run_id") or (path[-2] if len(path) > 1 else None)
        trace = fields.get("trace_id") or (path[0] if path else None) or self._root(id)
        return Run(fields, id, str(trace), None if parent is None else str(parent), self._places[id])

    def _root(self, id: str) -> str:
        top, seen = id, {id}
        while True:
            parent = self._runs.get(top, {}).get("parent_run_id")
            if parent is None or str(parent) in seen:
                return top
            top = str(parent)
            seen.add(top)
