"""The plan's answers to calls that production never made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..cassette.plan import Answer
from ..values import freeze
from .matching import Canonical, Lenient, no_leniency


@dataclass(slots=True)
class Authored:
    """The plan's `answers`, by call: those of one call in their order, as a recording of them would answer.

    A read gets the last of them again and again; a write gets each once, because its effect happens once.
    """

    answers: dict[Hashable, list[Answer]]
    is_write: Callable[[str], bool]
    used: Counter[Hashable] = field(default_factory=Counter)
    lenient: Lenient = no_leniency

    @classmethod
    def of(
        cls,
        answers: Iterable[Answer],
        canonical: Canonical,
        is_write: Callable[[str], bool],
        lenient: Lenient = no_leniency,
    ) -> Authored:
        by_call: dict[Hashable, list[Answer]] = {}
        for answer in answers:
            key = (answer.tool, freeze(canonical(answer.tool, answer.arguments, 0)))
            by_call.setdefault(key, []).append(answer)
        return cls(by_call, is_write, lenient=lenient)

    def answer(self, tool: str, arguments: Any) -> Answer | None:
        """The authored answer for a call with canonical arguments; None where there is none (any more)."""
        if not self.answers:
            return None
        for form in (arguments, *self.lenient(tool, arguments)):
            key = (tool, freeze(form))
            found = self.answers.get(key)
            if found is not None and (self.used[key] < len(found) or not self.is_write(tool)):
                self.used[key] += 1
                return found[min(self.used[key], len(found)) - 1]
        return None

    def unused(self) -> list[Answer]:
        """Answers that no call asked for."""
        return [answer for key, some in self.answers.items() for answer in some[self.used[key] :]]
