from __future__ import annotations

import json
from typing import Any

import pytest
from cassette_values import JSON
from hypothesis import given

from pytest_statebase.cassette.shapes import MalformedError
from pytest_statebase.cassette.states import apply_patch, patch_for
from pytest_statebase.values import ABSENT

BIG = {"rows": [{"sku": f"sku-{n}", "qty": n} for n in range(40)], "status": "new"}


def test_a_small_change_of_a_large_state_is_a_patch() -> None:
    patch = patch_for(BIG, {**BIG, "status": "open"})
    assert patch == [{"op": "replace", "path": "/status", "value": "open"}]
    assert apply_patch(BIG, patch) == {**BIG, "status": "open"}
    assert BIG["status"] == "new"


@pytest.mark.parametrize(
    "after",
    [
        {"status": "small"},
        {**BIG, "status": (1,)},
        {**BIG, 1: 2},
        {"status": "new", "rows": BIG["rows"]},
        {"rows": [{"sku": f"other-{n}", "qty": -n} for n in range(40)]},
    ],
    ids=["small", "tuple", "key", "order", "all-new"],
)
def test_what_is_written_whole(after: Any) -> None:
    assert patch_for(BIG, after) is None


def test_a_change_of_type_alone_is_not_lost() -> None:
    after = {**BIG, "rows": [{**BIG["rows"][0], "qty": False}, *BIG["rows"][1:]]}
    patch = patch_for(BIG, after)
    assert patch is None or json.dumps(apply_patch(BIG, patch)) == json.dumps(after)


@given(JSON, JSON)
def test_a_patch_gives_just_the_state(before: Any, after: Any) -> None:
    before, after = {**BIG, "x": before}, {**BIG, "x": after}
    patch = patch_for(before, after)
    assert patch is None or json.dumps(apply_patch(before, patch)) == json.dumps(after)


@pytest.mark.parametrize(
    "patch", [None, 1, [1], [{"op": "remove", "path": "/none"}], [{"op": "odd", "path": ""}], [{}]]
)
def test_a_patch_that_does_not_fit(patch: Any) -> None:
    with pytest.raises(MalformedError, match="does not fit"):
        apply_patch({"a": 1}, patch)


def test_a_patch_of_nothing() -> None:
    with pytest.raises(MalformedError, match="no state before"):
        apply_patch(ABSENT, [])
