"""What holds for any values and any calls."""

from __future__ import annotations

import copy
from typing import Any

from compare_data import T, answered, call, judged, record, replay_of, told
from hypothesis import given
from hypothesis import strategies as st

from pytest_statebase.compare.diff import diff
from pytest_statebase.compare.model import Kind, ReplayedCall, Source
from pytest_statebase.compare.paths import IgnoreRules, render
from pytest_statebase.values import freeze

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, 1.0, float("nan"), "a", "b", "", "a.b", b"a"])
)
keys = st.sampled_from(["a", "b", "a b", "c.d", "0"]) | st.integers(0, 2)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        | st.tuples(inner, inner)
        | st.frozensets(scalars, max_size=3)
    ),
    max_leaves=12,
)


@given(values, values)
def test_nothing_differs_exactly_where_values_are_equal_to_the_type(left: Any, right: Any) -> None:
    assert (diff(left, right) == []) == (freeze(left) == freeze(right))


@given(values)
def test_a_copy_is_equal(value: Any) -> None:
    assert diff(value, copy.deepcopy(value)) == []


@given(st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, values, max_size=4))
def test_ignoring_every_path_that_was_told_leaves_nothing(left: Any, right: Any) -> None:
    told_paths = [render(found.path) for found in diff(left, right, prefix=("state",))]
    rules = IgnoreRules.parse(told_paths)
    assert [found for found in diff(left, right, prefix=("state",), ignore=rules) if found.path[1:]] == [] or _shifts(
        left, right
    )


def _shifts(left: Any, right: Any) -> bool:
    """Where a list has other items once one is ignored, its neighbours may pair in another way."""
    return any(isinstance(value, (list, tuple)) for side in (left, right) for value in _inside(side))


def _inside(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, (list, tuple)) else []
    return [value, *(deeper for item in inner for deeper in _inside(item))]


made = st.lists(st.tuples(st.sampled_from(["f", "g"]), st.integers(0, 2)), max_size=5)


@given(made, st.data())
def test_every_call_is_told_once(recorded: list[tuple[str, int]], data: st.DataObject) -> None:
    """Whatever is made of a turn's calls: none is lost, none is told twice, and no change means no divergence."""
    ledger = record(T(tuple(call(tool, x=x) for tool, x in recorded)))
    (observed,) = replay_of(ledger)
    order = data.draw(st.permutations(range(len(recorded))))
    kept = order[: data.draw(st.integers(0, len(order)))]
    observed.calls = [answered(1, i, ledger.turn(1).calls[i]) for i in kept]
    for tool, x in data.draw(made):
        place = data.draw(st.integers(0, len(observed.calls)))
        observed.calls.insert(place, ReplayedCall(tool, {"x": x}, 1, Source.SIMULATED))
    (result,) = judged(ledger, [observed])
    rows = result.aligned
    assert sorted(row.recorded for row in rows if row.recorded is not None) == list(range(len(recorded)))
    assert sorted(row.replayed for row in rows if row.replayed is not None) == list(range(len(observed.calls)))
    assert len({row.label for row in rows}) == len(rows)
    same = [(made.tool, made.arguments["x"]) for made in observed.calls] == recorded
    assert not told([result]) if same else told([result])
    kinds = [found.kind for found in result.divergences]
    assert kinds.count(Kind.MISSING) == sum(row.replayed is None for row in rows)
    assert kinds.count(Kind.EXTRA) == sum(row.recorded is None for row in rows)
