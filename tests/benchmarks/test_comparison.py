"""Comparing large states against DeepDiff alone on the same values. Nothing here asserts a time."""

from __future__ import annotations

import copy
import json
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest
from deepdiff import DeepDiff

from pytest_statebase.compare.diff import diff

WORDS = ["order", "refund", "delivered", "parcel", "address", "change", "please", "thank", "you", "is", "was", "on"]


def wide(size: int) -> dict[str, Any]:
    """A state as support sessions have it: orders with their items, in one list."""
    dice = random.Random(7)
    return {"customer": {"id": "c_1", "tags": ["new"]}, "orders": [_order(dice, number) for number in range(size)]}


def dense(size: int) -> dict[str, Any]:
    """A state of many small values, by key."""
    dice = random.Random(7)
    rows = [
        {"id": n, "ok": dice.random() > 0.5, "n": dice.randrange(100), "x": dice.randrange(100) / 4, "p": [n, n + 1]}
        for n in range(size)
    ]
    return {f"block_{start}": rows[start : start + 500] for start in range(0, size, 500)}


def _order(dice: random.Random, number: int) -> dict[str, Any]:
    items = [
        {"sku": f"S{dice.randrange(10**6)}", "name": " ".join(dice.choices(WORDS, k=4)), "count": dice.randrange(9)}
        for _ in range(3)
    ]
    total = dice.randrange(10**5) / 100
    return {"id": f"W{number:07d}", "status": dice.choice(WORDS), "total": total, "items": items, "note": None}


def loaded(value: Any) -> Any:
    """The value as a file would give it: no part of it shared with another copy."""
    return json.loads(json.dumps(value))


def seconds(function: Callable[[], object], rounds: int) -> float:
    """Processor time, the median of some rounds: other processes do not count."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        function()
        times.append(time.process_time() - started)
    return statistics.median(times)


def deepdiff(recorded: Any, replayed: Any) -> Any:
    return DeepDiff(recorded, replayed, threshold_to_diff_deeper=0, zip_ordered_iterables=True)


STATES = {"wide": wide(3800), "dense": dense(14500)}


@pytest.mark.parametrize("shape", STATES)
def test_one_change_in_a_large_state(benchmark: Any, shape: str) -> None:
    """Budget: 50 times faster than DeepDiff alone on states of 1 MB."""
    recorded, replayed = loaded(STATES[shape]), loaded(STATES[shape])
    last = list(replayed.values())[-1]
    last[len(last) // 2]["n"] = "changed"
    assert len(diff(recorded, replayed)) == 1
    benchmark(diff, recorded, replayed)
    alone = seconds(lambda: deepdiff(recorded, replayed), 3)
    ours = seconds(lambda: diff(recorded, replayed), 9)
    benchmark.extra_info["megabytes"] = round(len(json.dumps(recorded)) / 1e6, 2)
    benchmark.extra_info["times_faster_than_deepdiff"] = round(alone / ours)


@pytest.mark.parametrize("shape", STATES)
def test_equal_large_states(benchmark: Any, shape: str) -> None:
    """Budget: 10 ms on states of 1 MB. Against Python's own `==`, which cannot tell 1, 1.0 and True apart."""
    recorded, replayed = loaded(STATES[shape]), loaded(STATES[shape])
    assert diff(recorded, replayed) == []
    benchmark(diff, recorded, replayed)
    ours = seconds(lambda: diff(recorded, replayed), 15)
    benchmark.extra_info["milliseconds"] = round(1000 * ours, 1)
    benchmark.extra_info["times_plain_equality"] = round(ours / seconds(lambda: recorded == replayed, 15), 1)


@pytest.mark.parametrize("how", ["changed", "removed", "mixed", "shuffled"])
def test_a_thousand_changes_in_ten_thousand_items(benchmark: Any, how: str) -> None:
    """Budget: bounded, with an answer that says how much it left out; against DeepDiff on a tenth of it."""
    recorded = loaded(wide(10_000)["orders"])
    assert len(diff(recorded, changed(recorded, how))) > 1
    replayed = changed(recorded, how)
    found = benchmark.pedantic(diff, (recorded, replayed), rounds=3)
    assert found[-1].detail == "differs in more places than are listed"
    few = recorded[:1000]
    alone = seconds(lambda: deepdiff(few, changed(few, how)), 1)
    benchmark.extra_info["times_deepdiff_on_a_tenth"] = round(seconds(lambda: diff(recorded, replayed), 1) / alone, 2)


def changed(items: list[Any], how: str) -> list[Any]:
    """A copy with a tenth of the items changed."""
    dice = random.Random(3)
    result = copy.deepcopy(items)
    if how == "shuffled":
        dice.shuffle(result)
        return result
    for count, place in enumerate(sorted(dice.sample(range(len(items)), len(items) // 10), reverse=True)):
        if how == "removed" or (how == "mixed" and count % 3 == 0):
            del result[place]
        elif how == "mixed" and count % 3 == 1:
            result.insert(place, {"id": f"new {count}"})
        else:
            result[place]["total"] = -1.5
    return result
