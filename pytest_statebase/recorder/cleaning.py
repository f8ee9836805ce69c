"""What stands between a capture and the disk, in the writer's thread: secrets and personal data go."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import OptionError
from ..frames import Frame
from .tap import settled_frame

if TYPE_CHECKING:
    from ..privacy import RedactionOptions

Redact: TypeAlias = Callable[[Frame], Frame]


def cleaning_of(
    directory: str | os.PathLike[str],
    redact: Redact | RedactionOptions | None,
    privacy: str,
    keep_fields: Iterable[str],
) -> Cleaning:
    """What makes of each frame the one that is written; see `capture`.

    Raises OptionError for what means nothing.
    """
    if privacy not in ("default", "strict"):
        raise OptionError(f"privacy: {privacy!r} is none", remedy="Say `default` or `strict`.")
    fields = frozenset([keep_fields] if isinstance(keep_fields, str) else keep_fields)
    if privacy == "default" and fields:
        raise OptionError("keep_fields goes with privacy='strict'", remedy="Without it, every field is kept.")
    if redact is not None and not callable(redact) and not is_dataclass(redact):
        raise OptionError(f"redact={redact!r} redacts nothing", remedy="Give RedactionOptions(…) or a function.")
    if privacy == "strict":
        from ..privacy import RedactionOptions

        if callable(redact):
            raise OptionError("privacy='strict' and a redact function exclude each other", remedy="Give one of them.")
        options = redact or RedactionOptions()
        redact = replace(options, strict=True, keep=options.keep | fields)
    return Cleaning(directory, redact)


class Cleaning:
    """Decodes what frames hold of HTTP, and redacts them; of one thread at a time.

    redact: rules and options, by default with the key of the directory, so that one value has one token there; or what
    redacts in place of all that.
    """

    def __init__(self, directory: str | os.PathLike[str], redact: Redact | RedactionOptions | None) -> None:
        self._directory = Path(directory).absolute()
        self._given = redact
        self._process = 0
        self._redact: Redact

    def __call__(self, frame: Frame) -> Frame:
        # A child of fork may have been split off in the middle of a frame.
        if self._process != os.getpid():
            self._redact = self._begun()
            self._process = os.getpid()
        return self._redact(settled_frame(frame))

    @property
    def counts(self) -> Mapping[str, int]:
        """In how many places this process took something out, by kind, where that is counted."""
        redact: Any = self._redact if self._process == os.getpid() else None
        found = getattr(getattr(redact, "__self__", redact), "counts", None)
        return found if isinstance(found, Mapping) else {}

    def _begun(self) -> Redact:
        if callable(self._given):
            return self._given
        # Loaded by the thread that writes: the program does not wait for it.
        from ..privacy import FrameRedactor, RedactionOptions

        options = self._given or RedactionOptions()
        return FrameRedactor(options if options.key else replace(options, key=self._key())).frame

    def _key(self) -> bytes:
        from ..journal.files import make_directory
        from ..privacy import key_of

        try:
            make_directory(self._directory)
            return key_of(self._directory)
        except OSError:  # where nothing can be written, no key is needed; the writer tells of it
            return b""
