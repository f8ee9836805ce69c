"""Nothing of the corpus that must go reaches a file, and nothing that must stay is touched."""

from __future__ import annotations

import pytest

from tests.corpus.secrets.lookalikes import lookalikes
from tests.corpus.secrets.scores import cleaned, holds, scores, secrets

LEAST = {"key": 120, "named": 65, "email": 16, "phone": 28, "card": 7, "iban": 8}
"""Values of the corpus by kind: none may be lost from it."""


def test_the_corpus_is_large_enough_and_its_values_are_where_it_says() -> None:
    cases = secrets()
    assert len(cases) >= 240
    assert len(list(lookalikes())) >= 195
    assert [case.name for case in cases if not holds(case.carrier, case.value)] == []


def test_recall_and_what_is_left_alone() -> None:
    found, left = scores()
    assert {kind: score.missed for kind, score in found.items() if score.missed} == {}
    assert {kind: score.missed for kind, score in left.items() if score.missed} == {}
    assert {kind: score.total for kind, score in found.items() if score.total < LEAST[kind]} == {}
    assert found.keys() == LEAST.keys()


@pytest.mark.parametrize("case", list(lookalikes())[:5], ids=lambda case: case.name[:20])
def test_what_stays_is_the_same_object(case: object) -> None:
    assert cleaned(case) is case.carrier  # type: ignore[arg-type, attr-defined]
