"""How a replay is run, as one object, and what people write for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import ForkError, OptionError
from ..ledger import ForkPoint
from ..wire.hosts import Hosts
from ..wire.hosts import api_hosts as hosts_of_api
from .pins import as_pins
from .tools import Tool, find_tools
from .web.options import WebOptions, web_options

Mode = Literal["continuous", "isolated"]
Unrecorded = Literal["fail", "simulate", "call"]
Clock = Literal["recorded", "real"]
Simulator = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How a replay is run, as one object.

    fork, until and mode given here win over the plan's.
    """

    fork: ForkPoint | None = None
    until: int | Literal["end"] | None = None
    mode: Mode | None = None
    tools: tuple[Tool, ...] = ()
    unrecorded: Unrecorded = "fail"
    simulator: Simulator | None = None
    turn_timeout: float = 60.0
    """Seconds that a turn may take; 0 for no limit."""
    clock: Clock = "recorded"
    pin: tuple[str, ...] = ()
    """What chance is made the same on every run: `random`, `uuid`."""
    allowed_hosts: Hosts = field(default_factory=Hosts)
    """What a replay may reach."""
    blocked_hosts: Hosts = field(default_factory=Hosts)
    """What is refused without a verdict."""
    api_hosts: Hosts = field(default_factory=hosts_of_api)
    """Where the agent thinks that StateBase is: requests there are answered from the fork."""
    web: WebOptions = field(default_factory=WebOptions)


def make_options(
    *,
    fork: str | ForkPoint | None = None,
    until: int | str | None = None,
    mode: str | None = None,
    tools: Iterable[str | Tool] = (),
    unrecorded: str = "fail",
    simulator: Simulator | None = None,
    turn_timeout: float = 60.0,
    clock: str = "recorded",
    pin: Iterable[str] = (),
    allowed_hosts: Iterable[str] = (),
    blocked_hosts: Iterable[str] = (),
    api_hosts: Iterable[str] = (),
    web: WebOptions | None = None,
    **live: Any,
) -> ReplayOptions:
    """Options from what people write.

    live: what `web_options` takes, where `web` is not given. Raises OptionError, ForkError or ToolError for what means
    nothing.
    """
    if mode not in (None, "continuous", "isolated"):
        raise OptionError(f"{mode!r} is no mode", remedy="Modes are continuous and isolated.")
    if unrecorded not in ("fail", "simulate", "call"):
        what = f"{unrecorded!r} is no policy for unrecorded calls"
        raise OptionError(what, remedy="Policies are fail, simulate and call.")
    if unrecorded == "simulate" and simulator is None:
        raise OptionError(
            "unrecorded calls are to be simulated, but there is no simulator",
            remedy="Name one with the ini key statebase_simulator = module:callable.",
        )
    if clock not in ("recorded", "real"):
        raise OptionError(f"{clock!r} is no clock", remedy="Clocks are recorded and real.")
    if not 0 <= turn_timeout < 1e9:
        raise OptionError(f"{turn_timeout!r} is no time limit", remedy="Write seconds, or 0 for no limit.")
    tools = list(tools)
    found = [tool for tool in tools if isinstance(tool, Tool)]
    found += find_tools(tool for tool in tools if isinstance(tool, str))
    return ReplayOptions(
        ForkPoint.parse(fork) if isinstance(fork, str) else fork,
        parse_until(until),
        mode,  # type: ignore[arg-type]
        tuple(found),
        unrecorded,  # type: ignore[arg-type]
        simulator,
        turn_timeout,
        clock,  # type: ignore[arg-type]
        as_pins(pin),
        Hosts.parse(allowed_hosts),
        Hosts.parse(blocked_hosts),
        hosts_of_api(api_hosts),
        web_options(**live) if web is None else web,
    )


def parse_until(until: int | str | None) -> int | Literal["end"] | None:
    """`turn 3`, `3`, `end` or None as a turn number, `end` or None.

    Raises ForkError for anything else.
    """
    if until is None or until == "end" or isinstance(until, int):
        return until  # type: ignore[return-value]
    number = until.strip().removeprefix("turn").strip()
    if number == "end":
        return "end"
    if not number.isdecimal():
        raise ForkError(f"{until!r} is no place to stop at", remedy="Write `turn N` or `end`.")
    return int(number)
