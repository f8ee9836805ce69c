"""Makes traces by hand: what an agent did, told in one dialect or another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_statebase.errors import ImportFileError
from pytest_statebase.importers import ImportedSession, import_file
from pytest_statebase.importers.spans.reasons import REASONS

TRACE = "0af7651916cd43dd8448eb211c80319c"
START = 1_760_000_000_000_000_000
SECOND = 1_000_000_000


def any_value(value: Any) -> dict[str, Any]:
    """A value as OTLP/JSON wraps it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": pairs(value)}}
    return {"stringValue": value}


def pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP/JSON lists them."""
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items()]


def span(
    name: str,
    number: int,
    attributes: Mapping[str, Any],
    *,
    parent: int | None = None,
    trace: str = TRACE,
    at: float = 0.0,
    lasts: float = 0.5,
    **more: Any,
) -> dict[str, Any]:
    """One span of OTLP/JSON.

    number: makes the id. at, lasts: seconds.
    """
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        **({} if parent is None else {"parentSpanId": f"{parent:016x}"}),
        "name": name,
        "startTimeUnixNano": str(START + int(at * SECOND)),
        "endTimeUnixNano": str(START + int((at + lasts) * SECOND)),
        "attributes": pairs(attributes),
        **more,
    }


def event(name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """One event of a span."""
    return {"name": name, "timeUnixNano": str(START), "attributes": pairs(attributes)}


def otlp(*spans: Mapping[str, Any], scope: str = "test") -> dict[str, Any]:
    """An export request."""
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": pairs({"service.name": "shop"})},
                "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
            }
        ]
    }


def write(path: Path, *documents: Any) -> Path:
    """A file of one JSON document, or of several, one a line."""
    path.write_text("\n".join(json.dumps(document) for document in documents), encoding="utf-8")
    return path


def sessions(path: Path) -> list[ImportedSession | ImportFileError]:
    """What `import` makes of a file."""
    return list(import_file(path))


def session(path: Path) -> ImportedSession:
    """The one session of a file."""
    (found,) = sessions(path)
    assert isinstance(found, ImportedSession), str(found)
    return found


def told(found: ImportedSession) -> list[tuple[Any, list[tuple[Any, ...]], Any]]:
    """Turn by turn: what was said, the calls with their results, what was answered."""
    return [
        (turn.text, [(call.tool, call.arguments, call.result) for call in turn.calls], _content(turn.output))
        for turn in found.ledger.turns
    ]


def _content(output: Any) -> Any:
    return output["content"] if isinstance(output, Mapping) else output


def graded(found: ImportedSession) -> tuple[str, dict[str, str]]:
    """The level of a session as far as its conversation goes, and by kind of a reason what would mend it.

    What its model calls lack, for a replay with recorded models, is not told.
    """
    assert found.grade is not None
    reasons = {reason.kind: reason.remedy for reason in found.grade.reasons if reason.kind in REASONS}
    if found.grade.level == "unusable":
        return "unusable", reasons
    return "partial" if reasons else "replayable", reasons
