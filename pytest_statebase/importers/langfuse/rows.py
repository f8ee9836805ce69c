"""The traces and observations of an export, whatever container they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..files import inside

TYPES = frozenset(
    {"SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"}
)
_TRACE_MARKS = frozenset(
    {
        "sessionId",
        "session_id",
        "projectId",
        "project_id",
        "htmlPath",
        "bookmarked",
        "observations",
        "userId",
        "user_id",
    }
)
_SNAKE = re.compile(r"_([a-z0-9])")
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A trace or an observation, its names in camel case, with its place."""

    fields: Mapping[str, Any]
    where: str

    def text(self, *keys: str) -> str | None:
        """The first of some fields that holds a text or a number."""
        values = (self.fields.get(key) for key in keys)
        return next((str(value) for value in values if isinstance(value, (str, int)) and value != ""), None)


@dataclass(slots=True)
class Trace:
    """A trace with its observations; `row` is None where only observations were exported."""

    id: str
    row: Row | None = None
    observations: dict[str, Row] = field(default_factory=dict)
    """By id."""
    scores: dict[str, Any] = field(default_factory=dict)

    def observe(self, row: Row) -> None:
        """Take an observation in; of two with one id the last that has ended counts."""
        known = self.observations.get(row.text("id") or row.where)
        if known is None or row.fields.get("endTime") or not known.fields.get("endTime"):
            self.observations[row.text("id") or row.where] = row


def is_langfuse(document: Any) -> bool:
    """Whether a JSON document, or the first item of a list, is of an export of Langfuse."""
    if isinstance(document, list):
        return bool(document) and isinstance(document[0], Mapping) and is_langfuse(document[0])
    if not isinstance(document, Mapping):
        return False
    observations, trace = document.get("observations"), document.get("trace")
    if isinstance(trace, Mapping) and isinstance(trace.get("observations"), list):
        return True
    if isinstance(observations, list) and (
        "trace" in document or "id" in document or any(map(_is_row, observations[:1]))
    ):
        return True
    if isinstance(document.get("data"), list) and isinstance(document.get("meta"), Mapping):
        return any(_is_row(item) for item in document["data"][:1])
    if isinstance(document.get("traces"), list):
        return any(_is_trace(item) for item in document["traces"][:1])
    return _is_row(document)


def _is_row(item: Any) -> bool:
    return _is_observation(item) or _is_trace(item) or _is_score(item)


def _is_observation(item: Any) -> bool:
    if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
        return False
    return item["type"].upper() in TYPES and ("traceId" in item or "trace_id" in item) and "id" in item


def _is_trace(item: Any) -> bool:
    if not isinstance(item, Mapping) or "id" not in item or "timestamp" not in item or "role" in item:
        return False
    return bool(_TRACE_MARKS & item.keys()) and "messages" not in item and not _is_score(item)


def _is_score(item: Any) -> bool:
    if not isinstance(item, Mapping):
        return False
    return ("traceId" in item or "trace_id" in item) and "name" in item and ("dataType" in item or "data_type" in item)


class Rows:
    """Collects rows from documents. What is no row of Langfuse is passed over."""

    def __init__(self) -> None:
        self._traces: dict[str, Trace] = {}

    def traces(self) -> list[Trace]:
        """Each trace once."""
        return list(self._traces.values())

    def add(self, document: Any, where: str) -> None:
        """Take the rows of a document in."""
        self._add(document, where, {}, _DEPTH)

    def _add(self, item: Any, where: str, above: Mapping[str, Any], depth: int) -> None:
        if depth < 0:
            return
        if isinstance(item, list):
            for index, one in enumerate(item):
                self._add(one, inside(where, index), above, depth - 1)
        elif isinstance(item, Mapping):
            self._add_mapping(item, where, above, depth)

    def _add_mapping(self, item: Mapping[str, Any], where: str, above: Mapping[str, Any], depth: int) -> None:
        if _is_observation(item):
            row = Row({**above, **camel(item)}, where)
            self._trace(row.text("traceId")).observe(row)
            return
        if _is_score(item):
            row = Row(camel(item), where)
            self._trace(row.text("traceId")).scores[str(row.fields["name"])] = _score(row)
            return
        if isinstance(item.get("trace"), Mapping):
            self._add_mapping({"observations": [], **item["trace"]}, inside(where, "trace"), above, depth - 1)
            above = {**above, "traceId": item["trace"].get("id")}
        elif isinstance(item.get("traces"), list):
            above = {**above, "sessionId": item.get("id"), **_known(item)}
        elif _is_trace(item) or ("id" in item and "observations" in item):
            self._add_trace(item, where, above)
            above = {**above, "traceId": item.get("id")}
        for key, inner in _inner(item):
            self._add_children(inner, inside(where, key), above, depth - 1)

    def _add_children(self, items: Any, where: str, above: Mapping[str, Any], depth: int) -> None:
        for index, item in enumerate(items):
            if isinstance(item, Mapping) and "traceId" in above and not _is_row(item) and "type" in item:
                item = {"traceId": above["traceId"], **item}
            self._add(item, inside(where, index), above, depth)

    def _add_trace(self, item: Mapping[str, Any], where: str, above: Mapping[str, Any]) -> None:
        fields = {key: value for key, value in above.items() if key != "traceId"} | {
            key: value for key, value in camel(item).items() if value is not None or key not in above
        }
        row = Row(fields, where)
        trace = self._trace(row.text("id"))
        trace.row = trace.row or row
        for score in fields.get("scores") or () if isinstance(fields.get("scores"), list) else ():
            if isinstance(score, Mapping) and "name" in score:
                trace.scores[str(score["name"])] = _score(Row(camel(score), where))

    def _trace(self, id: str | None) -> Trace:
        return self._traces.setdefault(id or "trace", Trace(id or "trace"))


def _inner(item: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for key in ("data", "traces", "observations", "scores"):
        if isinstance(item.get(key), list) and (key != "scores" or "trace" not in item):
            yield key, item[key]


def _known(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item[key] for key in ("userId",) if item.get(key) is not None}


def _score(row: Row) -> Any:
    value = row.fields.get("stringValue")
    value = row.fields.get("value") if value is None else value
    comment = row.fields.get("comment")
    return value if comment is None else {"value": value, "comment": comment}


def camel(item: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with its own names in camel case; where both stand, the one in camel case counts."""
    renamed = {_SNAKE.sub(lambda match: match[1].upper(), str(key)): value for key, value in item.items()}
    return {**renamed, **{key: value for key, value in item.items() if isinstance(key, str) and "_" not in key}}
