from __future__ import annotations

from itertools import combinations
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.selection.cover import by_gain, smallest_cover

Sets = list[set[int]]
SETS = st.lists(st.sets(st.integers(0, 9), max_size=6), max_size=9)


def union(sets: Sets, chosen: tuple[int, ...] | list[int] | range) -> set[int]:
    return set().union(*(sets[at] for at in chosen))


def fewest(sets: Sets) -> int:
    """By trying all."""
    every = union(sets, range(len(sets)))
    sizes = range(len(sets) + 1)
    return next(n for n in sizes if any(union(sets, list(some)) == every for some in combinations(range(len(sets)), n)))


@given(SETS)
def test_it_is_the_smallest(sets: Sets) -> None:
    cover = smallest_cover(sets)
    assert union(sets, cover.chosen) == union(sets, range(len(sets)))
    assert len(cover.chosen) == cover.least == fewest(sets)
    assert cover.is_smallest


@given(SETS)
def test_without_work_it_is_a_cover_that_needs_all_its_sets(sets: Sets) -> None:
    cover = smallest_cover(sets, budget=0)
    every = union(sets, range(len(sets)))
    assert union(sets, cover.chosen) == every
    for left_out in cover.chosen:
        assert union(sets, [at for at in cover.chosen if at != left_out]) != every
    assert cover.least <= fewest(sets) <= len(cover.chosen)


@given(SETS)
def test_each_adds_most_in_its_turn(sets: Sets) -> None:
    covered: set[int] = set()
    chosen = smallest_cover(sets).chosen
    for number, at in enumerate(chosen):
        gains = [len(sets[other] - covered) for other in chosen[number:]]
        assert gains[0] == max(gains) > 0
        covered |= sets[at]


GREEDY_FAILS = [{0, 1, 2, 3, 8, 9}, {0, 1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12, 13}, {4, 5, 10, 11, 7, 0, 1, 8}]


def test_where_the_largest_is_a_trap() -> None:
    trap = smallest_cover(GREEDY_FAILS)
    assert (sorted(trap.chosen), trap.is_smallest) == ([1, 2], True)


def hard(sets: int, elements: int = 60) -> Sets:
    """By chance, so that little can be decided beforehand."""
    random = Random(sets)
    return [set(random.sample(range(elements), 6)) for _ in range(sets)]


def test_the_search_ends_after_its_budget_and_says_so() -> None:
    sets = hard(150)
    cover = smallest_cover(sets, budget=20_000)
    assert union(sets, cover.chosen) == union(sets, range(len(sets)))
    assert not cover.is_smallest
    assert cover.least < len(cover.chosen)
    # The step that was begun is ended.
    assert 20_000 <= cover.work < 30_000


def test_the_same_every_time_and_the_first_of_equals() -> None:
    sets = [{1, 2}, {0, 1, 2}, {0, 1, 2}, {3}, {3}]
    assert smallest_cover(sets).chosen == (1, 3)
    assert smallest_cover(hard(80), budget=5_000) == smallest_cover(hard(80), budget=5_000)


def test_parts_are_searched_apart() -> None:
    """Twelve hard parts at once would take the product of what each takes."""
    part = hard(24, 20)
    alone = smallest_cover(part)
    many = [{element + 100 * number for element in members} for number in range(12) for members in part]
    together = smallest_cover(many)
    assert together.is_smallest
    assert len(together.chosen) == 12 * len(alone.chosen)
    assert together.work < 40 * alone.work


def test_nothing() -> None:
    assert smallest_cover([]).chosen == smallest_cover([set(), set()]).chosen == ()
    assert smallest_cover([set()]).is_smallest


def test_at_most_so_many() -> None:
    sets = [{0}, {0, 1, 2}, {2, 3}, {1}]
    assert list(by_gain(sets, range(4), most=2)) == [1, 2]
    assert list(by_gain(sets, range(4))) == [1, 2, 0, 3]
