"""What a service answered, and how it fails a turn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SHOWN = 300


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """What a service answered to the request of one turn."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON. Raises ValueError where it is none."""
        return json.loads(self.body)

    @property
    def content(self) -> Any:
        """The value of a JSON body, any other as text."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip()
        try:
            return self.json() if kind == "application/json" or kind.endswith("+json") or not kind else self.text
        except ValueError:
            return self.text


class ServiceError(Exception):
    """A service answered with an error, or without what was to be read from its answer: the turn fails with it."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def refused(request: str, answer: ServiceAnswer) -> ServiceError:
    """The error for an answer that is not 2xx, with the start of its body."""
    shown = " ".join(answer.text.split())
    told = f": {shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}" if shown else ""
    return ServiceError(f"{request} answered {answer.status}{told}", answer.status)
