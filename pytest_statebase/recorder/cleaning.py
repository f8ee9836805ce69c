"""What stands between a capture and the disk: secrets and personal data go, in the writer's thread."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ..frames import Frame
from ..privacy import FrameRedactor, RedactionOptions, key_of


class Cleaning:
    """Redacts frames, with the key of their directory: one value has one token there. Of one thread at a time."""

    def __init__(self, directory: str | os.PathLike[str], options: RedactionOptions | None = None) -> None:
        self._directory = Path(directory).absolute()
        self._options = options
        self._process = 0
        self._redactor: FrameRedactor

    def __call__(self, frame: Frame) -> Frame:
        # A child of fork may have been split off in the middle of a frame.
        if self._process != os.getpid():
            options = self._options or RedactionOptions()
            self._redactor = FrameRedactor(options if options.key else replace(options, key=self._key()))
            self._process = os.getpid()
        return self._redactor.frame(frame)

    @property
    def counts(self) -> Mapping[str, int]:
        """In how many places this process took something out, by kind."""
        return self._redactor.counts if self._process == os.getpid() else {}

    def _key(self) -> bytes:
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            return key_of(self._directory)
        except OSError:  # where nothing can be written, no key is needed; the writer tells of it
            return b""
