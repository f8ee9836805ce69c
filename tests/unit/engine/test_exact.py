"""What a tool gave or raised comes back from the file equal, of the same type, and as a fresh copy."""

from __future__ import annotations

import asyncio
import collections
import dataclasses
import datetime
import enum
import json
import threading
import uuid
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pydantic
import pytest

from pytest_statebase import ABSENT, Cassette, Ledger, record_session, replay
from pytest_statebase.cassette import read_record, write_record
from pytest_statebase.engine.revive import build_error, build_result
from pytest_statebase.engine.snapshot import error_record, snapshot
from pytest_statebase.engine.tool import Tool
from pytest_statebase.errors import ToolError, UnstorableError
from pytest_statebase.ledger import SessionCreated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.values import TypedData, Uncopied, same


class Color(enum.Enum):
    RED = 1


class Perm(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Pair(NamedTuple):
    left: int
    right: Any = None


@dataclasses.dataclass(frozen=True, slots=True)
class Money:
    amount: Decimal
    currency: str = "EUR"


@dataclasses.dataclass
class Order:
    id: str
    price: Money
    lines: list[Pair] = dataclasses.field(default_factory=list)
    kinds: ClassVar[int] = 7
    note: dataclasses.InitVar[str] = "none"
    total: Decimal = dataclasses.field(init=False)

    def __post_init__(self, note: str) -> None:
        self.total = self.price.amount * 2
        self.remark = note


class Item(pydantic.BaseModel):
    name: str = pydantic.Field(alias="itemName")
    color: Color


class Basket(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    items: list[Item]
    price: Money | None = None


VALUES: list[Any] = [
    None, False, 0, 0.0, "", [], {}, (), b"", set(),
    True, 1, -0.0, 1e300, float("inf"), "1", "null", "no", "2024-01-01", '{"a": 1}', "line\nline\n", "\ud800", "\x00",
    [1, 1.0, True], {"z": 1, "a": 2}, {(1, 2): 3, 4: 5, None: 6},
    Decimal("1.10"), Fraction(1, 3), 1 + 2j, uuid.UUID(int=7), b"\xff", bytearray(b"x"), Path("a/b"),
    datetime.date(2026, 1, 2), datetime.time(3, 4), datetime.timedelta(days=-1, microseconds=3),
    datetime.datetime(2026, 1, 2, 3, 4, 5, 6), datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
    (1, (2, "x")), {1, 2}, frozenset({"a"}), collections.deque([1, 2]),
    collections.OrderedDict(b=1, a=2), collections.Counter("aab"),
    Color.RED, Perm.READ, Perm.READ | Perm.WRITE, Level.HIGH, Word.YES,
    Pair(1), [Pair(Color.RED, Pair(2, {"x": (1,)}))],
    Money(Decimal("2.50")), Order("7", Money(Decimal("1")), [Pair(1, Money(Decimal("3")))]),
    Item(itemName="fig", color=Color.RED),
    Basket(items=[Item(itemName="fig", color=Color.RED)], price=Money(Decimal("4")), gift=True),
    {"deep": collections.deque([collections.OrderedDict(a=Money(Decimal("1")))])},
    [ValueError("kept", 1), KeyError("k")],
]  # fmt: skip
HAND: list[Any] = []


def give(number: int) -> Any:
    """The tool: gives, or raises, what stands in HAND."""
    value = HAND[number]
    if isinstance(value, BaseException):
        raise value
    return value


TOOLS = [f"{__name__}:give"]
TOOL = Tool("give", give, "m:give")  # type: ignore[arg-type]


def through_a_file(path: Path, agent: Any) -> Ledger:
    write_record(path / "s.record.yaml", record_session(agent, ["go"], session_id="s", tools=TOOLS))
    return read_record(path / "s.record.yaml")


def shape(value: Any) -> Any:
    """Types all the way down."""
    if isinstance(value, BaseException):
        return (type(value), [shape(item) for item in value.args])
    if isinstance(value, dict):
        return (type(value), [(shape(key), shape(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple, collections.deque)):
        return (type(value), [shape(item) for item in value])
    return (type(value), repr(value))


def test_every_value_comes_back_from_the_file_as_it_was(tmp_path: Path) -> None:
    HAND[:] = VALUES
    got: list[Any] = []

    def agent(user_input: str) -> str:
        got.append([give(number) for number in range(len(VALUES))])
        return "done"

    ledger = through_a_file(tmp_path, agent)
    HAND[:] = ["live"] * len(VALUES)
    assert replay(Cassette.from_ledger(ledger), agent, tools=TOOLS).verdicts == {"unchanged": 1}
    live, stubbed = got
    assert [shape(value) for value in stubbed] == [shape(value) for value in VALUES]
    assert all(before is given for before, given in zip(VALUES, live, strict=True))
    for before, after in zip(VALUES, stubbed, strict=True):
        assert isinstance(before, list) or after == before


def test_a_dataclass_keeps_what_its_constructor_made_and_no_pseudo_fields() -> None:
    order = Order("7", Money(Decimal("1")), note="mine")
    record = snapshot(order)
    from pytest_statebase.cassette.tags import typed_data

    data = typed_data(record)
    assert data is not None
    assert set(data.fields) == {"id", "price", "lines", "total", "remark"}
    again = build_result(data, TOOL)
    assert (again, again.remark, again.total) == (order, "mine", order.total)


def test_answers_are_fresh_copies() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "go"})])
    data = TypedData(f"{__name__}:Basket", {"items": [], "price": None})
    ledger.append(ToolCalled("give", {"number": 0}, result={"list": [1], "basket": data}))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))

    def agent(user_input: str) -> str:
        first = give(0)
        first["list"].append(2)
        first["basket"].items.append("x")
        assert first == {"list": [1, 2], "basket": first["basket"]}
        second = give(0)
        assert second["list"] == [1]
        assert second["basket"].items == []
        return "done"

    from pytest_statebase.cassette import Plan, ToolRules

    plan = Plan(tools={"give": ToolRules(reads=True)})
    (turn,) = replay(Cassette.from_ledger(ledger, plan), agent, tools=TOOLS).turns
    assert [call.repeated for call in turn.calls] == [False, True]


def test_a_record_is_the_value_at_that_moment(tmp_path: Path) -> None:
    messages: list[Any] = []

    def agent(user_input: str) -> str:
        for number in range(3):
            HAND[:] = [messages]
            give(0)
            messages.append({"n": number})
        return "done"

    ledger = record_session(agent, ["go"], session_id="s", tools=TOOLS)
    assert [call.result for call in ledger.turns[0].calls] == [[], [{"n": 0}], [{"n": 0}, {"n": 1}]]


# --- what cannot be kept -----------------------------------------------------------------------------------------


@dataclasses.dataclass
class Connection:
    name: str
    lock: Any


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda: {"rows": [1, {"lock": threading.Lock()}]}, "result.rows[1].lock"),
        (lambda: Connection("db", threading.Lock()), "result.fields.lock"),
        (lambda: (1, threading.Lock()), "result[1]"),
        (lambda: object(), "result"),
    ],
)
def test_what_cannot_be_kept_leaves_the_agent_alone_and_is_refused_by_name(
    make: Any, where: str, tmp_path: Path
) -> None:
    HAND[:] = [make()]

    def agent(user_input: str) -> str:
        assert give(0) is HAND[0]
        return "done"

    ledger = record_session(agent, ["go"], session_id="s", tools=TOOLS)
    with pytest.raises(UnstorableError) as refused:
        write_record(tmp_path / "s.record.yaml", ledger)
    assert f"turn 1, tool give, {where}" in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_no_stub_answers_with_a_placeholder() -> None:
    HAND[:] = [{"lock": threading.Lock(), "name": "x"}]

    def agent(user_input: str) -> str:
        try:
            give(0)
        except BaseException:
            return "hidden"
        return "done"

    ledger = record_session(agent, ["go"], session_id="s", tools=TOOLS)
    with pytest.raises(ToolError, match="holds no copy of a value of type '_thread:lock'"):
        replay(Cassette.from_ledger(ledger), agent, tools=TOOLS)


def test_a_snapshot_never_raises() -> None:
    class Hostile:
        def __deepcopy__(self, memo: Any) -> Any:
            raise RuntimeError("no copies")

    kept = snapshot([Hostile(), {"x": (Hostile(),)}])
    assert isinstance(kept[0], Uncopied)
    assert isinstance(kept[1]["x"][0], Uncopied)
    assert "Hostile" in repr(kept)


@pytest.mark.parametrize(
    "data",
    [
        TypedData(f"{__name__}:Money", {"currency": "EUR"}),
        TypedData(f"{__name__}:Basket", {"price": None}),
        TypedData(f"{__name__}:Item", {"name": "x", "color": 1, "more": 2}),
        TypedData(f"{__name__}:Color", {"name": "BLUE", "value": 9}, "enum"),
        TypedData(f"{__name__}:Pair", {"right": 1}),
    ],
    ids=lambda data: data.type.rpartition(":")[2],
)
def test_a_class_that_changed_is_named_and_never_half_built(data: TypedData) -> None:
    with pytest.raises(ToolError, match="does not fit that class today"):
        build_result(data, TOOL)


def test_a_field_that_came_later_has_its_default() -> None:
    assert build_result(TypedData(f"{__name__}:Money", {"amount": Decimal(1)}), TOOL) == Money(Decimal(1))


def test_named_tuples_and_models_compare_with_their_data() -> None:
    from pytest_statebase.cassette.tags import typed_data

    for value in (Pair(1, 2), Money(Decimal(1)), Basket(items=[], extra=1)):
        data = typed_data(value)
        assert data is not None
        assert same(value, data)


# --- exceptions --------------------------------------------------------------------------------------------------


class ApiError(Exception):
    def __init__(self, status: int, *, body: str) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status
        self.body = body


class Slotted(Exception):
    __slots__ = ("code",)

    def __init__(self, *, code: int) -> None:
        self.code = code


def raised(error: BaseException, cause: BaseException | None = None, *notes: str) -> BaseException:
    error.__cause__ = cause
    for note in notes:
        error.add_note(note)
    return error


def _json_error() -> Exception:
    try:
        json.loads("{")
    except json.JSONDecodeError as error:
        return error
    raise AssertionError


ERRORS: list[BaseException] = [
    KeyError("k"),
    ValueError(),
    ValueError(""),
    ApiError(503, body="down"),
    Slotted(code=7),
    _json_error(),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    OSError(2, "no such file"),
    FileNotFoundError(2, "no such file", "name.txt"),
    OSError("text alone"),
    ImportError("no", name="gone", path="x"),
    StopAsyncIteration(1),
    SystemExit(3),
    asyncio.CancelledError("stop"),
    TimeoutError(),
    ExceptionGroup("both", [ApiError(1, body="a"), ExceptionGroup("in", [OSError(1, "b")])]),
    BaseExceptionGroup("base", [KeyboardInterrupt()]),
    raised(ApiError(500, body="x"), raised(OSError(5, "io"), KeyError("k")), "first note", "second note"),
    ValueError(Money(Decimal(1)), Color.RED),
]


def told(error: BaseException | None) -> Any:
    """Everything that a caller can see of an exception."""
    if error is None:
        return None
    own = {key: value for key, value in vars(error).items() if key != "__notes__"}
    c_attributes = [getattr(error, name, None) for name in ("errno", "filename", "name", "path", "code", "encoding")]
    inner = [told(one) for one in error.exceptions] if isinstance(error, BaseExceptionGroup) else error.args
    notes = getattr(error, "__notes__", None)
    return type(error), str(error), inner, own, c_attributes, notes, told(error.__cause__)


def test_every_exception_comes_back_from_the_file_as_it_was(tmp_path: Path) -> None:
    HAND[:] = ERRORS
    got: list[Any] = []

    def agent(user_input: str) -> str:
        for number in range(len(ERRORS)):
            try:
                give(number)
            except BaseException as error:
                got.append(told(error))
        return "done"

    ledger = through_a_file(tmp_path, agent)
    HAND[:] = ["live"] * len(ERRORS)
    assert replay(Cassette.from_ledger(ledger), agent, tools=TOOLS).verdicts == {"unchanged": 1}
    assert got[len(ERRORS) :] == [told(error) for error in ERRORS]


def test_an_exception_that_nobody_can_make_again_is_refused_when_it_is_written(tmp_path: Path) -> None:
    try:
        Item.model_validate({})
    except pydantic.ValidationError as error:
        HAND[:] = [error]

    def agent(user_input: str) -> str:
        with pytest.raises(pydantic.ValidationError):
            give(0)
        return "done"

    ledger = record_session(agent, ["go"], session_id="s", tools=TOOLS)
    with pytest.raises(UnstorableError, match=r"tool give, error\.args: the type .*ValidationError has no form"):
        write_record(tmp_path / "s.record.yaml", ledger)


def test_an_agent_that_raises_what_cannot_be_kept_is_recorded_all_the_same(tmp_path: Path) -> None:
    class WithLock(Exception):
        def __init__(self) -> None:
            self.lock = threading.Lock()

    def agent(user_input: str) -> str:
        raise WithLock

    write_record(tmp_path / "s.record.yaml", record_session(agent, ["go"], session_id="s"))
    assert set(read_record(tmp_path / "s.record.yaml").turns[0].error or {}) == {"type", "message"}


def test_a_class_that_is_not_loaded_is_named() -> None:
    with pytest.raises(ToolError, match="'nowhere:Gone' that m:give does not know"):
        build_error({"type": "ValueError", "message": "x", "cause": {"type": "nowhere:Gone", "message": ""}}, TOOL)


def test_a_long_chain_of_causes_ends() -> None:
    error: BaseException = ValueError("0")
    for number in range(100):
        error = raised(ValueError(str(number)), error)
    assert isinstance(build_error(error_record(error), TOOL), ValueError)


# --- cancellation ------------------------------------------------------------------------------------------------


async def wait(seconds: float) -> str:
    """A tool that takes its time, or gives up by itself."""
    if seconds < 0:
        raise asyncio.CancelledError("gave up")
    await asyncio.sleep(seconds)
    return "done"


WAIT = [f"{__name__}:wait"]


def test_a_tool_that_gives_up_cancels_its_task_again(tmp_path: Path) -> None:
    async def agent(user_input: str) -> str:
        task = asyncio.ensure_future(wait(-1))
        await asyncio.wait([task])
        return f"cancelled: {task.cancelled()}"

    ledger = record_session(agent, ["go"], session_id="s", tools=WAIT)
    assert ledger.turns[0].output["content"] == "cancelled: True"
    assert replay(Cassette.from_ledger(ledger), agent, tools=WAIT).verdicts == {"unchanged": 1}


def test_a_call_that_timed_out_times_out_again() -> None:
    async def agent(user_input: str) -> str:
        try:
            return await asyncio.wait_for(wait(30), 0.02)
        except TimeoutError:
            return "too slow"

    ledger = record_session(agent, ["go"], session_id="s", tools=WAIT)
    (call,) = ledger.turns[0].calls
    assert call.error is not None
    assert "cancelled_after_ms" in call.error
    assert replay(Cassette.from_ledger(ledger), agent, tools=WAIT).verdicts == {"unchanged": 1}


def test_not_recorded_is_no_result() -> None:
    ledger = Ledger([SessionCreated("s"), TurnStarted(1, {"type": "text", "content": "go"})])
    ledger.append(ToolCalled("give", {"number": 0}, result=ABSENT))
    ledger.append(TurnAdded({"type": "text", "content": "None"}))
    HAND[:] = ["live"]
    (turn,) = replay(Cassette.from_ledger(ledger), lambda user_input: str(give(0)), tools=TOOLS).turns
    assert turn.verdict == "unrecorded"


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_that_hold_each_other_twice_and_again_are_not_copied(
    monkeypatch: pytest.MonkeyPatch, kind: Callable[[list[Any]], Any]
) -> None:
    monkeypatch.setattr("pytest_statebase.engine.snapshot._MOST_PARTS", 1000)
    bomb = kind(["x"])
    for _ in range(60):
        bomb = kind([bomb, bomb])
    assert isinstance(snapshot(bomb), Uncopied)
    assert snapshot(kind(["x"] * 999)) == kind(["x"] * 999)
