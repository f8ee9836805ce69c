"""A progress bar on stderr, where that is a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from .output import printable, say, warn

if TYPE_CHECKING:
    from tqdm import tqdm

T = TypeVar("T")


class Progress:
    """A bar that counts `unit`. Use it as a context manager; what it says goes above the bar."""

    def __init__(self, unit: str, total: int = 0) -> None:
        from tqdm import tqdm

        self._bar: tqdm[Any] = tqdm(unit=f" {unit}", total=total, disable=None, leave=False, delay=0.5)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def about(self, text: str) -> None:
        """What is being done."""
        self._bar.set_description(printable(text)[:40], refresh=False)

    def expect(self, more: int) -> None:
        """There are so many more to count."""
        self._bar.total = (self._bar.total or 0) + more

    def count(self, items: Iterable[T]) -> Iterator[T]:
        """The items, each counted once it was dealt with."""
        for item in items:
            yield item
            self._bar.update()

    def say(self, text: str) -> None:
        """A line on stdout."""
        self._bar.clear()
        say(text)

    def warn(self, text: str) -> None:
        """A line on stderr."""
        self._bar.clear()
        warn(text)
