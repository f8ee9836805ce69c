"""Where values stand: every function puts one into what a tool may return."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any
from urllib.parse import quote

from .case import Place


def _note(value: str) -> Any:
    return {"order": "1047", "note": f"Customer sent {value} in the chat."}


def _listed(value: str) -> Any:
    return [{"id": 1, "text": "nothing"}, {"id": 2, "text": value}]


def _log(value: str) -> str:
    return f"2026-03-15 10:23:45,123 INFO worker-3 request sent with {value} status=200\n2026-03-15 10:23:46 INFO done"


def _logfmt(value: str) -> str:
    return f'level=info ts=2026-03-15T10:23:45Z msg="calling provider" credential={value} status=200'


def _env(value: str) -> str:
    return f"HOME=/root\nPATH=/usr/bin:/bin\nPROVIDER_API_KEY={value}\nLANG=C.UTF-8\n"


def _trace(value: str) -> str:
    return (
        'Traceback (most recent call last):\n  File "/app/client.py", line 41, in call\n'
        f'    raise AuthError(f"rejected: {value}")\nAuthError: rejected: {value}\n'
    )


def _yaml(value: str) -> str:
    return f"services:\n  web:\n    image: app:1.4.2\n    environment:\n      - TIER=gold\n      - SETTING={value}\n"


def _xml(value: str) -> str:
    return f'<?xml version="1.0"?><config><name>x</name><setting id="4">{value}</setting></config>'


def _sse(value: str) -> str:
    return f'event: delta\ndata: {{"type": "text", "text": "use {value} now"}}\n\ndata: [DONE]\n\n'


def _json(value: str) -> str:
    return json.dumps({"config": {"endpoint": "https://api.corp.com", "setting": value}})


def _json_in_json(value: str) -> str:
    return json.dumps({"payload": json.dumps({"inner": json.dumps({"setting": value})})})


def _query(value: str) -> str:
    return f"https://api.corp.com/v1/items?page=2&ref={quote(value, safe='')}&sort=asc"


def _form(value: str) -> str:
    return f"name=x&ref={quote(value, safe='')}&count=2"


def _base64(value: str) -> Any:
    return {"blob": base64.b64encode(f"user=x;setting={value};end".encode()).decode()}


def _gzip(value: str) -> Any:
    return {"body": gzip.compress(f"the setting is {value}\n".encode())}


def _gzip_base64(value: str) -> Any:
    return {"body": base64.b64encode(gzip.compress(json.dumps({"setting": value}).encode())).decode()}


def _header(value: str) -> Any:
    return {"headers": {"Content-Type": "application/json", "Authorization": f"Bearer {value}"}}


def _header_line(value: str) -> str:
    return f"GET /v1 HTTP/1.1\r\nHost: api.corp.com\r\nX-Api-Key: {value}\r\nAccept: */*\r\n\r\n"


def _markdown(value: str) -> str:
    return f"Set it like this:\n\n```sh\nexport SETTING='{value}'\n```\n\n| a | b |\n|---|---|\n| 1 | `{value}` |\n"


def _multipart(value: str) -> str:
    return f'--b1\r\nContent-Disposition: form-data; name="note"\r\n\r\n{value}\r\n--b1--\r\n'


def _key_of_mapping(value: str) -> Any:
    return {"quota": {value: 17}}


def _bytes(value: str) -> Any:
    return {"raw": f"\x00\x01setting: {value}\n".encode("latin-1", "replace")}


def _set(value: str) -> Any:
    return {"seen": (value, "other")}


ANYWHERE: tuple[Place, ...] = (
    _note, _listed, _log, _logfmt, _env, _trace, _yaml, _xml, _sse, _json, _json_in_json, _query, _form, _base64, _gzip,
    _gzip_base64, _header, _header_line, _markdown, _multipart, _key_of_mapping, _bytes, _set,
)  # fmt: skip
"""For what is known by its form alone."""
PROSE: tuple[Place, ...] = (_note, _listed, _log, _sse, _json, _json_in_json, _xml, _base64, _gzip, _multipart, _bytes)
"""For personal data."""
