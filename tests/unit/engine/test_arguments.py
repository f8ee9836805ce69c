"""What counts as an argument of a call: two calls that mean something else never share an answer."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from pytest_statebase import Cassette, record_session, replay


def positional(a: int, /, **more: Any) -> str:
    return f"{a} {more}"


def starred(*rest: int, **more: Any) -> str:
    return f"{rest} {more}"


class Shelf:
    def find(self, a: int, /, *rest: int, **more: Any) -> str:
        return f"{a} {rest} {more}"


def _decorated(function: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(function)
    def around(*args: Any, **kwargs: Any) -> str:
        return function(*args, **kwargs)

    return around


@_decorated
def wrapped(a: int, /, *rest: int, **more: Any) -> str:
    return f"{a} {rest} {more}"


def defaulted(pair: Any = (1,), zero: float = 0.0, table: Any = {"a": 1}) -> str:  # noqa: B006
    return repr((pair, zero, table))


def verdict_of(tool: str, recorded: Callable[[], Any], replayed: Callable[[], Any]) -> str:
    """The verdict of an agent that makes one call other than the recorded one."""
    names = [f"{__name__}:{tool}"]

    def agent(call: Callable[[], Any]) -> Callable[[str], Any]:
        return lambda user_input: {"said": call()}

    cassette = Cassette.from_ledger(record_session(agent(recorded), ["go"], session_id="s", tools=names))
    assert replay(cassette, agent(recorded), tools=names).turns[0].verdict == "unchanged"
    return str(replay(cassette, agent(replayed), tools=names).turns[0].verdict)


@pytest.mark.parametrize(
    ("tool", "recorded", "replayed"),
    [
        ("positional", lambda: positional(1, a=2), lambda: positional(3, a=2)),
        ("positional", lambda: positional(1, a=2), lambda: positional(1, a=3)),
        ("positional", lambda: positional(1), lambda: positional(1, a=1)),
        ("positional", lambda: positional(1, a=2), lambda: positional(1, **{"**more": {"a": 2}})),
        ("starred", lambda: starred(1, rest=[2]), lambda: starred(9, rest=[2])),
        ("starred", lambda: starred(1), lambda: starred(rest=[1])),
        ("starred", lambda: starred(), lambda: starred(rest=[])),
        ("Shelf", lambda: Shelf().find(1, 2, a=3, rest=4), lambda: Shelf().find(9, 2, a=3, rest=4)),
        ("Shelf", lambda: Shelf().find(1, 2, a=3, rest=4), lambda: Shelf().find(1, 9, a=3, rest=4)),
        ("wrapped", lambda: wrapped(1, 2, a=3), lambda: wrapped(9, 2, a=3)),
        ("wrapped", lambda: wrapped(1, 2), lambda: wrapped(1, rest=[2])),
    ],
)
def test_keywords_named_as_a_positional_parameter_are_arguments_of_their_own(
    tool: str, recorded: Callable[[], Any], replayed: Callable[[], Any]
) -> None:
    assert verdict_of(tool, recorded, replayed) == "unrecorded"


def test_such_keywords_stand_under_the_name_of_their_parameter() -> None:
    def agent(user_input: str) -> str:
        return positional(1, a=2, b=3) + starred(1, **{"rest": 2, "**more": 4})

    names = [f"{__name__}:positional", f"{__name__}:starred"]
    calls = record_session(agent, ["go"], session_id="s", tools=names).turns[0].calls
    assert [call.arguments for call in calls] == [
        {"a": 1, "b": 3, "**more": {"a": 2}},
        {"rest": [1], "**more": {"rest": 2, "**more": 4}},
    ]
    assert calls[0].result == "1 {'a': 2, 'b': 3}"


@pytest.mark.parametrize(
    "replayed",
    [
        lambda: defaulted((True,)),
        lambda: defaulted((1.0,)),
        lambda: defaulted(zero=-0.0),
        lambda: defaulted(zero=0),
        lambda: defaulted(table={"a": 1.0}),
    ],
)
def test_a_default_is_equalled_to_the_type(replayed: Callable[[], Any]) -> None:
    assert verdict_of("defaulted", lambda: defaulted(), replayed) == "unrecorded"


def test_an_argument_that_equals_its_default_is_left_out() -> None:
    assert verdict_of("defaulted", lambda: defaulted(), lambda: defaulted((1,), 0.0, {"a": 1})) == "unchanged"


class Currency(enum.Enum):
    EUR = "eur"
    USD = "usd"


def price(currency: Any) -> str:
    return str(currency)


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (Currency.EUR, Currency.USD),
        (Decimal("1.0"), Decimal("2.0")),
        (date(2026, 3, 1), date(2026, 3, 2)),
        (UUID(int=1), UUID(int=2)),
    ],
)
def test_plain_values_that_a_partial_fills_in_are_arguments(value: Any, other: Any) -> None:
    def agent(filled: Any) -> Callable[[str], str]:
        return lambda user_input: functools.partial(price, filled)()

    tools = [f"{__name__}:price"]
    cassette = Cassette.from_ledger(record_session(agent(value), ["go"], session_id="s", tools=tools))
    assert replay(cassette, agent(value), tools=tools).verdicts == {"unchanged": 1}
    assert replay(cassette, agent(other), tools=tools).verdicts == {"unrecorded": 1}
