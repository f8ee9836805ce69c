"""Logs of inspect_ai → sessions, one a sample and epoch."""

from __future__ import annotations

from .archive import is_archive, read_archive
from .samples import inspect_session, is_log, samples_of

__all__ = ["inspect_session", "is_archive", "is_log", "read_archive", "samples_of"]
