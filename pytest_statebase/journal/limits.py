"""How much a journal may take, in memory and on disk."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import OptionError

_MB = 1024 * 1024
_FROM_ZERO = ("days", "flush_seconds")


@dataclass(frozen=True, slots=True)
class Limits:
    """What of a capture is bounded. Beyond a bound something is left out or removed; the program never waits."""

    queue_frames: int = 10_000
    """Frames that wait to be written."""
    queue_bytes: int = 64 * _MB
    """Memory that they take, roughly."""
    frame_bytes: int = 32 * _MB
    """Memory that a single one takes: a larger turn is not kept."""
    file_bytes: int = 64 * _MB
    """A journal that has grown to this goes on in a new file."""
    total_bytes: int = 1024 * _MB
    """All journals of the directory: beyond, the oldest are removed that nobody writes to any more."""
    days: float | None = 30
    """How long a journal is kept after it was last written to; None for ever."""
    flush_seconds: float = 5.0
    """How long the end of the program waits for what is not written yet."""
    fsync: bool = False
    """Whether a turn counts as kept only when it would outlast a loss of power, too."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            is_flag = field.name == "fsync"
            if is_flag != isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
                raise _meaningless(field.name, value, "True or False" if is_flag else "a number")
            if value is None and field.name != "days":
                raise _meaningless(field.name, value, "a number")
            if value is not None and not is_flag and not value >= (0 if field.name in _FROM_ZERO else 1):
                raise _meaningless(field.name, value, "a number above 0")

    @property
    def longest_file(self) -> int:
        """When a journal goes on in a new file: one that is written to is never removed."""
        return min(self.file_bytes, self.total_bytes // 4)


def _meaningless(name: str, value: object, wanted: str) -> OptionError:
    return OptionError(f"{name}={value!r:.40} means nothing as a limit of a capture", remedy=f"It is {wanted}.")
