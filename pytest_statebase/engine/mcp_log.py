"""What MCP servers said, apart from calls of their tools: kept in the record, and answered from it in a replay.

It stands in the session's metadata, because opening a connection and listing tools is nothing that an agent does: where
it connects again, or another turn is replayed by itself, the same answers serve, and nothing of it is compared.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from ..cassette import Cassette
from ..cassette.plan import ToolRules
from ..errors import ToolError
from ..ledger import Event, Ledger, SessionCreated
from ..values import copy_value, freeze

KEY = "mcp"
"""In the metadata of a session."""
HANDSHAKES = ("initialize", "server/discover")
_BARE_FLAGS = ("-m", "-y", "-u", "-I", "-E", "-s", "-B")
"""What follows another flag may be a secret, and is not written down."""
Naming = Literal["tool", "server.tool"]


@dataclass(frozen=True, slots=True)
class Transport:
    """How a server is reached, as far as it can stand in a record: no directories, options, queries or passwords."""

    text: str
    """`stdio python server.py`, `http localhost:8000/mcp`."""
    id: str
    """Of everything that was passed, what is left out included."""

    @classmethod
    def of_command(cls, command: str, args: Sequence[str]) -> Transport:
        """A server that is started as a process."""
        words, flag = [os.path.basename(command)], ""
        for arg in args:
            if not arg.startswith("-") and flag in ("", *_BARE_FLAGS):
                words.append(os.path.basename(arg))
            flag = arg if arg.startswith("-") and "=" not in arg else ""
        return cls(" ".join(["stdio", *words]), _digest(command, *args))

    @classmethod
    def of_url(cls, url: str) -> Transport:
        """A server at an address."""
        parts = urlsplit(url)
        return cls(f"http {parts.netloc.rpartition('@')[2]}{parts.path}", _digest(url))

    @property
    def loose(self) -> str:
        """Without the port, which a test may choose anew on each run."""
        return re.sub(r":\d+", "", self.text)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]


@dataclass(slots=True)
class Server:
    """One server of a recording."""

    name: str
    transport: Transport
    calls: list[str] = field(default_factory=list)
    """The tools that were called, by their own names."""
    reads: list[str] = field(default_factory=list)
    """The tools that have no effect, as the server hinted, by their own names."""
    said: dict[Any, list[dict[str, Any]]] = field(default_factory=dict)
    """(method, params) → what came back, each time."""
    named: bool = False
    """By itself."""
    _asked: Counter[Any] = field(default_factory=Counter)

    def hear(self, method: str, params: Any, outcome: Mapping[str, Any]) -> None:
        """Keep what came back: `{result}` or `{error}`."""
        params = _counting(method, params)
        exchange = {"method": method, **({"params": params} if params else {}), **outcome}
        self.said.setdefault((method, freeze(params)), []).append(exchange)
        result = outcome.get("result") or {}
        if method == "tools/list":
            for tool in result.get("tools", ()):
                self._hint(tool["name"], (tool.get("annotations") or {}).get("readOnlyHint") is True)

    def _hint(self, tool: str, reads: bool) -> None:
        if reads and tool not in self.reads:
            self.reads.append(tool)
        elif not reads and tool in self.reads:
            self.reads.remove(tool)

    def answer(self, method: str, params: Any) -> dict[str, Any] | None:
        """What came back when it was asked the same, the k-th time the k-th, then the last; None if it never was."""
        key = (method, freeze(_counting(method, params)))
        said = self.said.get(key)
        if not said:
            return None
        at = min(self._asked[key], len(said) - 1)
        self._asked[key] += 1
        return copy_value({name: said[at][name] for name in ("result", "error") if name in said[at]})  # type: ignore[no-any-return]

    def form(self) -> dict[str, Any]:
        """As it stands in the record."""
        said = [one for exchanges in self.said.values() for one in _collapsed(exchanges)]
        lists = {"calls": self.calls, "reads": self.reads, "said": said}
        head = {"name": self.name, "transport": self.transport.text, "id": self.transport.id}
        return {**head, **{key: value for key, value in lists.items() if value}}

    @classmethod
    def of_form(cls, form: Mapping[str, Any]) -> Server:
        """Of what stands in a record."""
        transport = Transport(str(form.get("transport", "")), str(form.get("id", "")))
        server = cls(str(form.get("name", "")), transport, list(form.get("calls", ())), list(form.get("reads", ())))
        for one in form.get("said", ()):
            key = (one["method"], freeze(_counting(one["method"], one.get("params"))))
            server.said.setdefault(key, []).append(dict(one))
        return server


def _counting(method: str, params: Any) -> dict[str, Any]:
    """The parameters of a request that count: not who asks, nor with which progress token."""
    if method in HANDSHAKES or not isinstance(params, Mapping):
        return {}
    return {key: value for key, value in params.items() if key != "_meta"}


def _collapsed(exchanges: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return exchanges[:1] if len({freeze(one) for one in exchanges}) == 1 else exchanges


class Servers:
    """The servers of one recording or replay."""

    def __init__(self, known: Iterable[Server] = (), *, replayed: bool) -> None:
        self.known = list(known)
        self.replayed = replayed
        self.naming: Naming = "tool"
        """Of the calls; those with the server's name can always be told apart."""
        self._met: dict[str, Server] = {}

    @classmethod
    def recorded_in(cls, ledger: Ledger) -> Servers:
        """Those that a session's record knows."""
        return cls(map(Server.of_form, _forms(ledger)), replayed=True)

    def at(self, transport: Transport) -> Server:
        """The server that is reached there; in a replay, the recorded one that it stands for."""
        found = self._met.get(transport.id)
        if found is None:
            found = self._met[transport.id] = self._recorded(transport) if self.replayed else self._new(transport)
        return found

    def _new(self, transport: Transport) -> Server:
        server = Server("", transport)
        self.known.append(server)
        self.rename(server, transport.text.rpartition(" ")[2].partition(".")[0])
        server.named = False
        return server

    def rename(self, server: Server, name: str) -> None:
        """Give a server the name that it has for itself, or that with a number where another one has it."""
        taken = {other.name for other in self.known if other is not server}
        if server.named or not name:
            return
        numbered = (name if number == 1 else f"{name}-{number}" for number in range(1, len(taken) + 2))
        server.name, server.named = next(one for one in numbered if one not in taken), True

    def _recorded(self, transport: Transport) -> Server:
        for same in (
            lambda known: known.id == transport.id,
            lambda known: known.text == transport.text,
            lambda known: known.loose == transport.loose,
            lambda known: True,
        ):
            found = [server for server in self.known if same(server.transport)]
            if len(found) == 1:
                return found[0]
            if found:
                break
        # Which of several it is cannot be told, and the answers of another one would be wrong ones.
        return Server(transport.text, transport)

    def name_of(self, server: Server | None, tool: str, naming: Naming, own: str | None = None) -> str:
        """The name under which a call of a server's tool is recorded.

        own: what a server without a transport calls itself.
        """
        self.naming = naming
        if server is None:
            return f"{own}.{tool}" if own and naming == "server.tool" else tool
        if tool not in server.calls and not self.replayed:
            server.calls.append(tool)
        if not self.replayed or not self.known:
            return f"{server.name}.{tool}" if naming == "server.tool" and self.known else tool
        if naming == "server.tool":
            return f"{server.name}.{tool}"
        others = [other for other in self.known if other is not server and tool in other.calls]
        return f"{server.name}.{tool}" if others and tool not in server.calls else tool

    def check(self) -> None:
        """Refuse two servers whose tools of one name cannot be told apart.

        Raises ToolError.
        """
        for server in self.known if self.naming == "tool" else ():
            for other in self.known:
                both = [tool for tool in server.calls if tool in other.calls]
                if other is not server and both:
                    raise ToolError(
                        f"two MCP servers, {server.name} and {other.name}, were both asked for {both[0]!r}",
                        remedy="Write `mcp:*` in `statebase_tools`: tools are then recorded as `server.tool`.",
                    )


def _forms(ledger: Ledger) -> list[Mapping[str, Any]]:
    metadata = ledger.created.metadata or {}
    held = metadata.get(KEY)
    found = held.get("servers") if isinstance(held, Mapping) else None
    return [form for form in found if isinstance(form, Mapping)] if isinstance(found, list) else []


def with_servers(servers: Servers | None, events: list[Event]) -> list[Event]:
    """The events of a recording whose session tells of its servers.

    Raises ToolError where their tools cannot be told apart.
    """
    if servers is None or not servers.known or not isinstance(events[0], SessionCreated):
        return events
    servers.check()
    held = {"servers": [server.form() for server in servers.known]}
    return [replace(events[0], metadata={**(events[0].metadata or {}), KEY: held}), *events[1:]]


def names_of(ledger: Ledger) -> set[str]:
    """Every name under which a tool of the recorded servers may stand in the record."""
    servers = [Server.of_form(form) for form in _forms(ledger)]
    return {name for server in servers for tool in server.calls for name in (tool, f"{server.name}.{tool}")}


def unstubbed_servers(ledger: Ledger, stubs: Collection[str]) -> list[str]:
    """The recorded servers that an agent would start or reach, as far as their tools are not stubbed otherwise."""
    servers = [Server.of_form(form) for form in _forms(ledger)]
    return [one.name for one in servers if not one.calls or any(tool not in stubs for tool in one.calls)]


def with_hints(cassette: Cassette) -> Cassette:
    """The cassette with the tools that servers hinted to be without effect as reads, where the project says nothing."""
    servers = [Server.of_form(form) for form in _forms(cassette.ledger)]
    if not servers:
        return cassette
    rules = dict(cassette.plan.tools)
    for server in servers:
        for tool in [tool for tool in server.reads if tool in server.calls]:
            elsewhere = any(tool in other.calls and tool not in other.reads for other in servers)
            for name in (f"{server.name}.{tool}", *(() if elsewhere else (tool,))):
                known = rules.get(name, ToolRules())
                if "reads" not in known.given:
                    rules[name] = replace(known, reads=True)
    return replace(cassette, plan=replace(cassette.plan, tools=rules))
