"""Interactions as vcrpy's files have them, in all the forms that are found, and the exchanges that they are."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..wire.encoding import decoded
from ..wire.exchange import Answer, Exchange, Failure, Headers, Request, Response, header_of

_FAILURES = ("connect", "timeout", "closed", "unreadable")
_NO_BODY = (204, 304)


def is_http(item: Mapping[str, Any]) -> bool:
    """Whether an interaction is, or was meant to be, a request with its response."""
    return "request" in item or "response" in item or not item


def exchange_of(item: Any) -> Exchange:
    """The exchange that an interaction tells, bodies decoded.

    Raises KeyError for what is missing, ValueError or TypeError for what is malformed.
    """
    request = _request(_mapping(item, "request"))
    return Exchange(
        request,
        _answer(item, request.method),
        turn=_count(item, "turn"),
        during=_count(item, "during"),
        at=_text_or_none(item, "at"),
        latency_ms=_count(item, "latency_ms"),
        derived=_derived(item.get("derived")),
    )


def _derived(value: Any) -> tuple[str, ...] | None:
    if value is not None and (type(value) is not list or not all(type(one) is str for one in value)):
        raise ValueError(f"`derived` is {value!r:.40}, and no list of what is not known")
    return None if value is None else tuple(value)


def _mapping(item: Any, key: str) -> Mapping[str, Any]:
    if type(item) is not dict:
        raise ValueError(f"it is {item!r:.40}")
    value = item[key]
    if type(value) is not dict:
        raise ValueError(f"`{key}` is {value!r:.40}")
    return value


def _count(item: Mapping[str, Any], key: str) -> int | None:
    value = item.get(key)
    if value is not None and (type(value) is not int or value < 0):
        raise ValueError(f"`{key}` is {value!r:.40}, and no count")
    return value


def _text_or_none(item: Mapping[str, Any], key: str) -> str | None:
    value = item.get(key)
    if value is not None and type(value) is not str:
        raise ValueError(f"`{key}` is {value!r:.40}, and no text")
    return value


def _request(value: Mapping[str, Any]) -> Request:
    method, address = value["method"], value["uri"] if "uri" in value else value["url"]
    if type(method) is not str or not method:
        raise ValueError(f"the request's `method` is {method!r:.40}")
    _check_address(address)
    headers, body = unencoded(_headers(value.get("headers")), _body(value.get("body"), value), has_body=True)
    return Request(method, address, headers, body)


def _check_address(address: Any) -> None:
    try:
        parts = urlsplit(address)
        is_whole = bool(parts.scheme and parts.netloc)
        _ = parts.port
    except (ValueError, AttributeError, TypeError):
        is_whole = False
    if not is_whole or type(address) is not str:
        raise ValueError(f"the request's `uri` is {address!r:.60}, and no whole address")


def _answer(item: Mapping[str, Any], method: str) -> Answer:
    failed = item.get("failed")
    if failed is not None:
        kind = failed.get("kind") if type(failed) is dict else failed
        if kind not in _FAILURES:
            raise ValueError(f"`failed` is {kind!r:.40}; its `kind` is one of {', '.join(_FAILURES)}")
        return Failure(kind, str(failed.get("message") or ""))
    value = _mapping(item, "response")
    status, reason = _status(value)
    # A file that was cut off may end before the body.
    key = next((key for key in ("content", "parsed_body") if key in value and "body" not in value), "body")
    content = value[key] if key != "parsed_body" else None
    has_body = method.upper() != "HEAD" and status not in _NO_BODY
    headers, body = _headers(value.get("headers")), _body(content, value)
    is_encoded = item.get("encoded") is True
    if not is_encoded:
        headers, body = unencoded(headers, body, has_body=has_body)
    return Response(status, reason, headers, body, _text_or_none(item, "cut"), is_encoded)


def _status(value: Mapping[str, Any]) -> tuple[int, str]:
    """Code and words; a plain number as old recordings of httpx have it."""
    found, reason = value["status"] if "status" in value else value["status_code"], ""
    if type(found) is dict:
        found, reason = found["code"], str(found.get("message") or "")
    if type(found) is not int or not 100 <= found <= 999:
        raise ValueError(f"the status is {found!r:.40}")
    return found, reason


def _headers(value: Any) -> Headers:
    if value is None:
        return ()
    if type(value) is not dict:
        raise ValueError(f"`headers` is {value!r:.40}")
    return tuple([(_text(name), _text(one)) for name, some in value.items() for one in _each(some)])


def _each(value: Any) -> Iterator[Any]:
    if type(value) is list:
        yield from value
    elif value is not None:
        yield value


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    return value.decode("latin-1") if type(value) is bytes else str(value)


def _body(body: Any, around: Mapping[str, Any]) -> bytes:
    """The bytes of a body, in whichever of its forms it stands."""
    if body is None and "parsed_body" in around:
        return _json(around["parsed_body"])
    if type(body) is dict and "base64_string" in body:
        return base64.b64decode(body["base64_string"])
    if type(body) is dict and "string" in body and body.keys() <= {"string", "encoding"}:
        body = body["string"]
    if body is None:
        return b""
    if type(body) is bytes:
        return body
    return body.encode("utf-8", "surrogatepass") if type(body) is str else _json(body)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def unencoded(headers: Headers, body: bytes, *, has_body: bool) -> tuple[Headers, bytes]:
    """Headers and body without their encoding; headers that fit already stay as they are, in their order.

    has_body: an answer to HEAD has none, and tells of a length and an encoding all the same.
    """
    if not has_body and not body:
        return headers, body
    names = {name.lower() for name, _ in headers}
    if "content-encoding" not in names and "transfer-encoding" not in names:
        length = header_of(headers, "content-length") if "content-length" in names else None
        if length is None or length == str(len(body)):
            return headers, body
    return decoded(headers, body)
