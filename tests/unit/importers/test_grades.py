from __future__ import annotations

from pytest_statebase.importers.grades import Grade, Reason, graded, notes_of

MISSING = Reason("no-results", "2 calls have no result", "Have the tracer record what tools return")


def test_a_grade_follows_from_its_reasons() -> None:
    assert graded([]) == Grade("replayable")
    assert graded([MISSING, MISSING]) == Grade("partial", (MISSING,))
    assert graded([MISSING], unusable=True).level == "unusable"


def test_notes_are_lines_that_a_plan_can_hold() -> None:
    assert list(notes_of(None)) == list(notes_of(graded([]))) == []
    lines = list(notes_of(graded([MISSING, Reason("odd", "a\nb\x1b[2J" + " word" * 40)])))
    assert lines[:2] == [
        "Partly replayable:",
        "- 2 calls have no result. Have the tracer record what tools return",
    ]
    assert lines[2].startswith("- a b [2J word")
    assert len(lines) > 3
    assert all(line.isprintable() and len(line) <= 110 for line in lines)
