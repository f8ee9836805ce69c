"""Texts for the log of a CI job, which the service searches for commands."""

from __future__ import annotations

import os
import re

_COMMAND = re.compile(r"(?:^|(?<=\r))([^\S\r\n]*):(?=:)|##(?=\[|vso\[)", re.MULTILINE)
"""Runners take a carriage return for the end of a line, and drop blanks of any script before they look for `::`."""


def printable(text: str) -> str:
    """A text for the terminal, which is a log that a service may search for commands: it finds none in it."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if "GITHUB_ACTIONS" not in os.environ and "TF_BUILD" not in os.environ:
        return shown
    return _COMMAND.sub(lambda found: "#\\x23" if found[1] is None else found[1] + "\\x3a", shown)
