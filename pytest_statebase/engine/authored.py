"""The plan's answers to calls that production never made."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..cassette.plan import Answer
from ..values import freeze
from .matching import Canonical, Lenient, no_leniency


@dataclass(slots=True)
class Authored:
    """The plan's `answers`, by call. Each may answer any number of times."""

    answers: dict[Hashable, Answer]
    used: set[Hashable] = field(default_factory=set)
    lenient: Lenient = no_leniency

    @classmethod
    def of(cls, answers: Iterable[Answer], canonical: Canonical, lenient: Lenient = no_leniency) -> Authored:
        return cls({(a.tool, freeze(canonical(a.tool, a.arguments, 0))): a for a in answers}, lenient=lenient)

    def answer(self, tool: str, arguments: Any) -> Answer | None:
        """The authored answer for a call with canonical arguments."""
        if not self.answers:
            return None
        for form in (arguments, *self.lenient(tool, arguments)):
            key = (tool, freeze(form))
            found = self.answers.get(key)
            if found is not None:
                self.used.add(key)
                return found
        return None

    def unused(self) -> list[Answer]:
        """Answers that no call asked for."""
        return [answer for key, answer in self.answers.items() if key not in self.used]
