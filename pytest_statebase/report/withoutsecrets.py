"""Secrets out of what a run tells: a replayed agent may have them from its own code or environment."""

from __future__ import annotations

from typing import Any

from ..cassette.personal import Kind
from ..cassette.redaction import REDACTED
from ..privacy.hiding import Hiding
from ..privacy.walk import Walk


def without_secrets(value: Any) -> Any:
    """A JSON-safe value without secrets, known by their form or by the names that they stand under.

    What is known to be one in one place goes in all others. Placeholders of recordings stay, and so does personal data:
    recordings hold none, and the agent's own texts are the project's. What holds no secret is the very same object.
    """
    hiding = Hiding(_instead)
    clean = Walk(hiding).whole(value)
    if not hiding.learned:
        return clean
    again = Walk(hiding)
    again.echoes = tuple(sorted(hiding.learned, key=len, reverse=True))
    return again.whole(clean)


def _instead(kind: str, identity: str, like: str, *, is_number: bool = False) -> str:
    if kind != Kind.SECRET:
        return like
    return "0" if is_number else REDACTED
