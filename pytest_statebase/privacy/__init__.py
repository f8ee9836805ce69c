"""What must not reach a disk: secrets and personal data out of whole sessions, on their way to a journal or a cassette.

`FrameRedactor` puts a token in the place of each value, equal where the values are; `renumbered` makes the placeholders
of a cassette from the tokens: of valid form, numbered by kind and session.
"""

from __future__ import annotations

from .frames import FrameRedactor
from .keyfile import key_of
from .options import RedactionOptions, Rule, rules_from, set_redaction
from .renumber import renumbered
from .sessions import RedactedSession, redacted_session

__all__ = [
    "FrameRedactor",
    "RedactedSession",
    "RedactionOptions",
    "Rule",
    "key_of",
    "redacted_session",
    "renumbered",
    "rules_from",
    "set_redaction",
]
