"""Any session replays unchanged, and any one change to what the agent does is reported as exactly that."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import inspect
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_statebase import Cassette, ReplayResult, record_session, replay
from pytest_statebase.cassette import Plan, ToolRules
from pytest_statebase.compare.model import Facet, Kind
from pytest_statebase.values import same

LIVE: list[Any] = []


class StoreError(Exception):
    def __init__(self, key: str, *, writes: int) -> None:
        super().__init__(f"{key} after {writes}")
        self.key = key
        self.writes = writes


@dataclass
class World:
    """What the tools stand for: what was written to each key, in its order, and which writes came last."""

    store: dict[str, list[Any]] = field(default_factory=dict)
    trail: list[str] = field(default_factory=list)
    """The keys that were written to, but for those of writes made at once."""

    def read(self, key: str) -> Any:
        return {"key": key, "values": list(self.store.get(key, [])), "writes": self.writes, "trail": self.trail[-3:]}

    @property
    def writes(self) -> int:
        return sum(map(len, self.store.values()))

    def write(self, key: str, value: Any) -> Any:
        self.trail.append(key)
        return self.write_later(key, value)

    def write_later(self, key: str, value: Any) -> Any:
        """Made at once with others, those to other keys: their order makes no difference. Gives what it replaced."""
        values = self.store.setdefault(key, [])
        values.append(value)
        return values[-2] if len(values) > 1 else None

    def read_own(self, key: str) -> Any:
        return list(self.store.get(key, []))

    def fail(self, key: str) -> Any:
        raise StoreError(key, writes=self.writes)

    def rows(self, key: str) -> Any:
        return [(name, values[-1]) for name, values in sorted(self.store.items()) if name != key]

    read_later = read


WORLD = World()


def read(key: str) -> Any:
    LIVE.append(key)
    return WORLD.read(key)


async def read_later(key: str) -> Any:
    LIVE.append(key)
    await asyncio.sleep(0)
    return WORLD.read(key)


async def read_own(key: str) -> Any:
    LIVE.append(key)
    await asyncio.sleep(0)
    return WORLD.read_own(key)


def write(key: str, value: Any) -> Any:
    LIVE.append(key)
    return WORLD.write(key, value)


async def write_later(key: str, value: Any) -> Any:
    LIVE.append(key)
    await asyncio.sleep(0)
    return WORLD.write_later(key, value)


def fail(key: str) -> Any:
    LIVE.append(key)
    return WORLD.fail(key)


def rows(key: str) -> Any:
    LIVE.append(key)
    yield from WORLD.rows(key)


def other(key: str) -> Any:
    LIVE.append(key)


ENOUGH: contextvars.ContextVar[asyncio.Event] = contextvars.ContextVar("enough")


async def hold() -> Any:
    await ENOUGH.get().wait()


NAMES = ("read", "read_later", "read_own", "write", "write_later", "fail", "rows", "other", "hold")
TOOLS = [f"{__name__}:{name}" for name in NAMES]
READS = Plan(tools={name: ToolRules(reads=True) for name in ("read", "read_later", "read_own", "fail", "rows", "hold")})
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "read": read,
    "read_later": read_later,
    "read_own": read_own,
    "write": write,
    "write_later": write_later,
    "fail": fail,
    "rows": lambda key: list(rows(key)),
    "other": other,
}

Call = tuple[str, dict[str, Any]]
Turn = list[list[Call]]
"""Groups of calls; the calls of one group are made at once, but those with one key one after the other."""


@dataclass(frozen=True)
class Ref:
    """An argument that is the result of an earlier single call of the turn."""

    index: int


@dataclass
class Playing:
    """An agent that makes these calls, and notes beside each answer what the world itself would have given."""

    turns: list[Turn]
    seed: int = 0
    reply: tuple[Ref, ...] = ()
    """The results that the last turn ends with."""
    shadow: World = field(default_factory=World)
    pairs: list[tuple[Any, Any]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    """Of the single calls of the turn."""

    async def __call__(self, user_input: str, turn: int) -> Any:
        self.results = []
        for group in self.turns[turn - 1] if turn <= len(self.turns) else []:
            if len(group) == 1:
                await self.one(*group[0])
            else:
                await self.many(group)
        if self.reply and turn == len(self.turns):
            return {f"part {number}": self.results[ref.index] for number, ref in enumerate(self.reply)}
        return "done"

    async def one(self, name: str, given: dict[str, Any]) -> None:
        arguments = {k: self.results[value.index] if isinstance(value, Ref) else value for k, value in given.items()}
        self.results.append(await self.made(name, arguments))

    async def many(self, group: list[Call]) -> None:
        lines: dict[str, list[Call]] = {}
        for call in group:
            lines.setdefault(call[1]["key"], []).append(call)
        order = list(lines.values())
        chance = random.Random(self.seed)
        chance.shuffle(order)
        async with self.holding():
            await asyncio.gather(*(self.line(calls, apart=chance.random() < 0.5) for calls in order))

    @asynccontextmanager
    async def holding(self) -> AsyncIterator[None]:
        """Meanwhile another call goes on."""
        enough = asyncio.Event()
        ENOUGH.set(enough)
        self.pairs.append((None, None))
        held = asyncio.create_task(hold())
        await asyncio.sleep(0)
        yield
        enough.set()
        await held

    async def line(self, calls: list[Call], *, apart: bool) -> None:
        """One call after the other, each in a task of its own if they are made `apart`."""
        for name, arguments in calls:
            made = self.made(name, arguments)
            await (asyncio.create_task(made) if apart else made)

    async def made(self, name: str, arguments: dict[str, Any]) -> Any:
        place = len(self.pairs)
        self.pairs.append((None, None))
        got = outcome(lambda: FUNCTIONS[name](**arguments))
        if inspect.iscoroutine(got):
            got = await got
        wanted = None if name == "other" else outcome(lambda: getattr(self.shadow, name)(**arguments))
        self.pairs[place] = copy.deepcopy(wanted), got
        return got


def outcome(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except StoreError as error:
        return ("raised", type(error), str(error), error.key, error.writes)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.decimals(allow_nan=False)
    | st.binary(max_size=3) | st.datetimes(),
    lambda inner: st.lists(inner, max_size=2) | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
KEYS = st.sampled_from("abc")
ONE: st.SearchStrategy[list[Call]] = st.one_of(
    st.tuples(st.sampled_from(["read", "fail", "rows"]), st.fixed_dictionaries({"key": KEYS})),
    st.tuples(st.just("write"), st.fixed_dictionaries({"key": KEYS, "value": VALUES})),
).map(lambda call: [call])
MANY = st.one_of(
    st.lists(st.tuples(st.just("read_later"), st.fixed_dictionaries({"key": KEYS})), min_size=2, max_size=3),
    st.lists(
        st.one_of(
            st.tuples(st.just("write_later"), st.fixed_dictionaries({"key": KEYS, "value": VALUES})),
            st.tuples(st.just("read_own"), st.fixed_dictionaries({"key": KEYS})),
        ),
        min_size=2,
        max_size=6,
    ),
)
TURNS = st.lists(st.lists(ONE | MANY, max_size=4), min_size=1, max_size=3)
QUICK = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def record(turns: list[Turn], reply: tuple[Ref, ...] = ()) -> Cassette:
    global WORLD
    WORLD = World()
    agent = Playing(turns, reply=reply)
    ledger = record_session(agent, ["go"] * len(turns), session_id="s", tools=TOOLS)
    assert all(same(wanted, got) for wanted, got in agent.pairs)
    return Cassette.from_ledger(ledger, READS)


def replayed(
    cassette: Cassette, turns: list[Turn], seed: int = 1, reply: tuple[Ref, ...] = ()
) -> tuple[ReplayResult, Playing]:
    agent = Playing(turns, seed, reply)
    LIVE.clear()
    result = replay(cassette, agent, tools=TOOLS)
    assert LIVE == []
    no_wrong_answer_without_a_flag(result, agent)
    return result, agent


def no_wrong_answer_without_a_flag(result: ReplayResult, agent: Playing) -> None:
    """The world is played beside the replay: an answer that it would not have given carries a flag."""
    calls = [call for turn in result.turns for call in turn.calls]
    for (wanted, got), call in zip(agent.pairs, calls, strict=False):
        if not (call.stale or call.unrecorded):
            assert same(wanted, got), (wanted, got, call)


def told(result: ReplayResult) -> list[tuple[Kind, str]]:
    """Kind and tool of what was reported of calls."""
    found = [one for turn in result.turns for one in turn.divergences if one.facet is Facet.TOOLS]
    return [(one.kind, one.path.split(".")[1].partition("#")[0]) for one in found]


@QUICK
@given(TURNS, st.integers(0, 9))
def test_any_session_replays_unchanged(turns: list[Turn], seed: int) -> None:
    result, agent = replayed(record(turns), turns, seed)
    assert set(result.verdicts) <= {"unchanged"}, told(result)
    assert result.unused == 0
    assert all(same(wanted, got) for wanted, got in agent.pairs)


def places(turns: list[Turn], wanted: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Where single calls of such tools are made."""
    return [
        (number, at)
        for number, turn in enumerate(turns)
        for at, group in enumerate(turn)
        if len(group) == 1 and wanted(group[0][0])
    ]


def changed(turns: list[Turn], number: int, groups: Turn) -> list[Turn]:
    return [groups if index == number else turn for index, turn in enumerate(turns)]


@QUICK
@given(TURNS, st.data())
def test_a_skipped_read_is_one_missing_call(turns: list[Turn], data: st.DataObject) -> None:
    where = places(turns, lambda tool: tool in ("read", "fail", "rows"))
    assume(where)
    number, at = data.draw(st.sampled_from(where))
    result, _ = replayed(record(turns), changed(turns, number, [*turns[number][:at], *turns[number][at + 1 :]]))
    assert told(result) == [(Kind.MISSING, turns[number][at][0][0])]


@QUICK
@given(TURNS, st.data())
def test_a_repeated_read_is_one_extra_call_and_flagged(turns: list[Turn], data: st.DataObject) -> None:
    where = places(turns, lambda tool: tool in ("read", "fail", "rows"))
    assume(where)
    number, at = data.draw(st.sampled_from(where))
    groups = [*turns[number][: at + 1], turns[number][at], *turns[number][at + 1 :]]
    result, _ = replayed(record(turns), changed(turns, number, groups))
    tool = turns[number][at][0][0]
    reads = [group[0] for turn in turns for group in turn if group[0] == turns[number][at][0]]
    if len(reads) == 1:
        assert told(result) == [(Kind.EXTRA, tool)]
        assert [call.repeated for turn in result.turns for call in turn.calls if call.tool == tool].count(True) == 1
    else:  # the recording of another turn may answer
        assert told(result) in ([(Kind.EXTRA, tool)], [(Kind.MOVED, tool)])


@QUICK
@given(TURNS, st.data())
def test_a_dropped_write_is_told_first(turns: list[Turn], data: st.DataObject) -> None:
    where = places(turns, lambda tool: tool == "write")
    assume(where)
    number, at = data.draw(st.sampled_from(where))
    result, _ = replayed(record(turns), changed(turns, number, [*turns[number][:at], *turns[number][at + 1 :]]))
    writes = [group[0] for turn in turns for group in turn if group[0][0] == "write"]
    if sum(same(turns[number][at][0], other) for other in writes) == 1:
        # Equal calls that were made at once with others may change places: all of them are stale.
        assert [one for one in told(result) if one[0] is not Kind.REORDERED] == [(Kind.MISSING, "write")]
    assert (Kind.MISSING, "write") in told(result)
    first = next(one for turn in result.turns for one in turn.divergences)
    assert first.follows is None


@QUICK
@given(TURNS, st.data())
def test_an_added_call_is_a_call_without_an_answer(turns: list[Turn], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(turns) - 1))
    at = data.draw(st.integers(0, len(turns[number])))
    added: Call = ("other", {"key": "z"})
    groups = [*turns[number][:at], [added], *turns[number][at:]]
    result, _ = replayed(record(turns), changed(turns, number, groups))
    assert result.turns[number].verdict == "unrecorded"
    # The turn ends there: nobody knows whether the next recorded call would have come.
    following = turns[number][at : at + 1]
    if not following:
        assert told(result) == [(Kind.EXTRA, "other")]
    else:
        tools = ["hold"] if len(following[0]) > 1 else [following[0][0][0]]
        assert told(result) == [(Kind.REPLACED, tool) for tool in tools]


@QUICK
@given(TURNS, st.data())
def test_a_changed_argument_is_told_by_its_path(turns: list[Turn], data: st.DataObject) -> None:
    where = places(turns, lambda tool: True)
    assume(where)
    number, at = data.draw(st.sampled_from(where))
    tool, arguments = turns[number][at][0]
    groups = [*turns[number][:at], [(tool, {**arguments, "key": "changed"})], *turns[number][at + 1 :]]
    result, _ = replayed(record(turns), changed(turns, number, groups))
    turn = result.turns[number]
    assert turn.verdict == "unrecorded"
    (one,) = [one for one in turn.divergences if one.facet is Facet.TOOLS]
    assert (one.kind, one.path.endswith(".arguments.key")) == (Kind.ARGUMENTS, True)
    assert (one.recorded, one.replayed) == (arguments["key"], "changed")


@QUICK
@given(TURNS, st.data())
def test_two_reads_in_another_order_are_reordered(turns: list[Turn], data: st.DataObject) -> None:
    reads = places(turns, lambda tool: tool in ("read", "fail", "rows"))
    where = [(n, at) for n, at in reads if (n, at + 1) in reads and turns[n][at] != turns[n][at + 1]]
    assume(where)
    number, at = data.draw(st.sampled_from(where))
    groups = list(turns[number])
    groups[at], groups[at + 1] = groups[at + 1], groups[at]
    result, _ = replayed(record(turns), changed(turns, number, groups))
    assert {kind for kind, _ in told(result)} == {Kind.REORDERED}


@QUICK
@given(TURNS, st.data())
def test_two_writes_in_another_order_are_reordered(turns: list[Turn], data: st.DataObject) -> None:
    writes = [group[0] for turn in turns for group in turn if group[0][0] == "write"]
    where = [
        (n, at)
        for n, at in places(turns, lambda tool: tool == "write")
        if (n, at + 1) in places(turns, lambda tool: tool == "write")
        and all(sum(same(one, other) for other in writes) == 1 for one in (turns[n][at][0], turns[n][at + 1][0]))
    ]
    assume(where)
    number, at = data.draw(st.sampled_from(where))
    groups = list(turns[number])
    groups[at], groups[at + 1] = groups[at + 1], groups[at]
    result, _ = replayed(record(turns), changed(turns, number, groups))
    assert told(result) == [(Kind.REORDERED, "write")]
    calls = [call for turn in result.turns for call in turn.calls]
    made_before = [*(group for turn in turns[:number] for group in turn), *turns[number][:at]]
    later = sum(len(group) + (len(group) > 1) for group in made_before)
    assert [call.stale for call in calls] == [position >= later for position in range(len(calls))]


@QUICK
@given(TURNS, st.data())
def test_a_write_made_twice_is_one_extra_call_without_an_answer(turns: list[Turn], data: st.DataObject) -> None:
    writes = [group[0] for turn in turns for group in turn if group[0][0] == "write"]
    where = [
        (n, at)
        for n, at in places(turns, lambda tool: tool == "write")
        if sum(same(turns[n][at][0], other) for other in writes) == 1
    ]
    assume(where)
    number, at = data.draw(st.sampled_from(where))
    groups = [*turns[number][: at + 1], turns[number][at], *turns[number][at + 1 :]]
    result, _ = replayed(record(turns), changed(turns, number, groups))
    assert result.turns[number].verdict == "unrecorded"
    assert told(result) == [(Kind.EXTRA, "write")]


@QUICK
@given(TURNS, st.permutations("abc"), st.booleans(), st.integers(0, 9))
def test_two_calls_of_one_line_in_another_order_are_reordered(
    before: list[Turn], keys: list[str], reads: bool, seed: int
) -> None:
    one, other, third = (("write_later", {"key": key, "value": f"{key} {n}"}) for n, key in enumerate((keys[0],) * 3))
    beside: list[Call] = [("write_later", {"key": keys[1], "value": 1}), ("write_later", {"key": keys[1], "value": 2})]
    last: Turn = [[("read", {"key": key})] for key in keys]
    own: list[Call] = [("read_own", {"key": keys[0]})] if reads else []
    recording = record([*before, [[one, *own, other, third, *beside], *last]])
    result, _ = replayed(recording, [*before, [[*beside, other, *own, one, third], *last]], seed)
    assert set(told(result)) == {
        (Kind.REORDERED, tool) for tool in (("write_later", "read_own") if reads else ("write_later",))
    }
    line = [call for call in result.turns[-1].calls if call.arguments.get("key") == keys[0]]
    assert all(call.stale for call in line)
    assert all(call.stale for call in result.turns[-1].calls if call.tool == "read")


def passing(between: Turn, keys: tuple[str, str], *, crossed: bool) -> Turn:
    """Two reads, what is in between, two writes that pass on what the reads gave, and two more reads."""
    reads: Turn = [[("read", {"key": "a"})], [("read", {"key": "b"})]]
    first, second = (Ref(1), Ref(0)) if crossed else (Ref(0), Ref(1))
    writes: Turn = [[("write", {"key": keys[0], "value": first})], [("write", {"key": keys[1], "value": second})]]
    return [*reads, *between, *writes, [("read", {"key": keys[0]})], [("rows", {"key": "z"})]]


@QUICK
@given(TURNS, st.lists(ONE | MANY, max_size=2), TURNS)
def test_two_swapped_results_are_an_argument_that_changed(before: list[Turn], between: Turn, after: list[Turn]) -> None:
    straight, crossed = (passing(between, ("x", "y"), crossed=crossed) for crossed in (False, True))
    recording = record([*before, straight, *after])
    result, _ = replayed(recording, [*before, crossed, *after])
    turn = result.turns[len(before)]
    found = [one for one in turn.divergences if one.facet is Facet.TOOLS]
    assert turn.verdict == "unrecorded"
    assert {one.kind for one in found} == {Kind.ARGUMENTS}
    assert len({one.path.partition(".arguments.value")[0] for one in found}) == 1
    assert (found[0].recorded, found[0].replayed) == ("a", "b")
    assert told(result) == [(one.kind, "write") for one in found]


@QUICK
@given(TURNS, st.lists(ONE | MANY, max_size=2), TURNS)
def test_two_results_passed_to_one_thing_the_other_way_round(
    before: list[Turn], between: Turn, after: list[Turn]
) -> None:
    straight, crossed = (passing(between, ("x", "x"), crossed=crossed) for crossed in (False, True))
    result, _ = replayed(record([*before, straight, *after]), [*before, crossed, *after])
    assert told(result) == [(Kind.REORDERED, "write")]
    (read, rows) = result.turns[len(before)].calls[-2:]
    assert (read.stale, rows.stale) == (True, True)


@QUICK
@given(TURNS, st.lists(ONE | MANY, max_size=2))
def test_two_results_swapped_in_the_reply_are_told_there(before: list[Turn], between: Turn) -> None:
    turns = [*before, [[("read", {"key": "a"})], [("read", {"key": "b"})], *between]]
    result, _ = replayed(record(turns, (Ref(0), Ref(1))), turns, reply=(Ref(1), Ref(0)))
    assert told(result) == []
    found = result.turns[-1].divergences
    assert {one.facet for one in found} == {Facet.OUTPUT}
    assert [(one.recorded, one.replayed) for one in found if one.path.endswith(".key")] == [("a", "b"), ("b", "a")]
    assert result.verdicts == {"unchanged": len(before), "changed": 1}


def mutated(turns: list[Turn], chance: random.Random) -> list[Turn]:
    """Some calls dropped, made twice, moved elsewhere, or made apart or in another order that were made at once."""
    turns = [list(turn) for turn in turns]
    for _ in range(chance.randint(1, 3)):
        number = chance.choice([n for n, turn in enumerate(turns) if turn] or [0])
        if not turns[number]:
            break
        group = turns[number].pop(chance.randrange(len(turns[number])))
        what = chance.choice(("drop", "twice", "move", "apart", "shuffle"))
        mixed = chance.sample(group, len(group))
        parts = {
            "drop": [],
            "twice": [group, group],
            "move": [group],
            "apart": [[one] for one in group],
            "shuffle": [mixed],
        }[what]
        for part in parts:
            goal = turns[chance.randrange(len(turns))] if what == "move" else turns[number]
            goal.insert(chance.randint(0, len(goal)), part)
    return turns


@settings(QUICK, max_examples=300)
@given(TURNS, st.randoms(use_true_random=False))
def test_whatever_an_agent_does_no_answer_without_a_flag_is_wrong(turns: list[Turn], chance: random.Random) -> None:
    replayed(record(turns), mutated(turns, chance), chance.randint(0, 9))


def test_money_is_money() -> None:
    """A plain example of the same, for reading."""
    turns: list[Turn] = [[[("write", {"key": "a", "value": Decimal("1.10")})], [("read", {"key": "a"})]]]
    result, agent = replayed(record(turns), turns)
    assert result.verdicts == {"unchanged": 1}
    assert agent.pairs[1][1]["values"] == [Decimal("1.10")]
