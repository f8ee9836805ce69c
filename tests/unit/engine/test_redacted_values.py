"""An agent that has by itself what a recording has redacted: it matches one-to-one, and nothing is hidden by it."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pytest_statebase import Ledger, load_cassette, record_session, replay
from pytest_statebase.cassette import Cassette, write_http, write_record
from pytest_statebase.cassette.plan import Plan, ToolRules
from pytest_statebase.compare.model import Verdict
from pytest_statebase.engine.tools import ToolCaller
from pytest_statebase.ledger import SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted
from pytest_statebase.privacy import FrameRedactor, RedactionOptions, renumbered
from pytest_statebase.wire.exchange import Exchange

OWN, CUSTOMER, OTHER = "support@shop.com", "jane.doe@corp.com", "bob@corp.com"
KEY = "sk-proj-" + "abcdEFGH" * 4 + "12"
PLAN = Plan(tools={"look_up": ToolRules(reads=True)})


class Agent:
    """Answers from its own address, with a key from its environment."""

    def __init__(self, own: str = OWN, key: str = KEY, customer: str | None = None) -> None:
        self.own, self.key, self.customer = own, key, customer

    def __call__(self, user_input: str, tools: ToolCaller, statebase: Any) -> str:
        customer = self.customer or user_input.rpartition(" ")[2]
        found = tools.call("look_up", {"email": customer, "api_key": self.key})
        tools.call("refund", {"to": found["email"], "sender": self.own, "note": f"From {self.own}, thanks"})
        tools.call("mail", {"sender": self.own, "to": customer, "headers": {"Authorization": f"Bearer {self.key}"}})
        return f"Refunded. Questions? Write to {self.own}"


def recorded(turns: int = 1, *, state: bool = False) -> Ledger:
    """The session as it is on disk."""
    ledger = Ledger([SessionCreated("sess_1", state={} if state else {"x": 1})])
    for number in range(1, turns + 1):
        ledger.append(TurnStarted(number, {"type": "text", "content": f"Please refund {CUSTOMER}"}))
        ledger.append(ToolCalled("look_up", {"email": CUSTOMER, "api_key": KEY}, {"email": CUSTOMER, "name": "J"}))
        note = {"to": CUSTOMER, "sender": OWN, "note": f"From {OWN}, thanks"}
        ledger.append(ToolCalled("refund", note, {"ok": True, "echo": OWN}))
        headers = {"Authorization": f"Bearer {KEY}"}
        ledger.append(ToolCalled("mail", {"sender": OWN, "to": CUSTOMER, "headers": headers}, "sent"))
        ledger.append(TurnAdded({"type": "text", "content": f"Refunded. Questions? Write to {OWN}"}))
    return redacted(ledger)


def redacted(ledger: Ledger) -> Ledger:
    redactor = FrameRedactor(RedactionOptions(key=b"k"))
    clean, _ = renumbered(Ledger([redactor.event("sess_1", event) for event in ledger.events]))
    for value in (OWN, CUSTOMER, KEY):
        assert value not in repr(clean.events)
    return clean


def verdicts(ledger: Ledger, agent: Agent, **options: Any) -> dict[str, int]:
    return dict(replay(Cassette.from_ledger(ledger, PLAN), agent, **options).verdicts)


@pytest.mark.parametrize("fork", [None, "turn 2"])
def test_what_the_agent_has_by_itself_is_recognised(fork: str | None) -> None:
    options = {} if fork is None else {"fork": fork}
    assert verdicts(recorded(2), Agent(), **options) == {"unchanged": 2 if fork is None else 1}


def test_another_key_in_the_environment_is_the_same_key() -> None:
    assert verdicts(recorded(), Agent(key="of-the-test-run")) == {"unchanged": 1}


def test_another_customer_is_never_the_same_one() -> None:
    """Whom the user named, the agent got as a placeholder: a real address in its place is another one."""
    for wrong in (OTHER, CUSTOMER):
        result = replay(Cassette.from_ledger(recorded(), PLAN), Agent(customer=wrong))
        assert result.turns[0].verdict is not Verdict.UNCHANGED, wrong


def test_two_values_never_match_one_placeholder() -> None:
    class Wavering(Agent):
        def __call__(self, user_input: str, tools: ToolCaller, statebase: Any) -> str:
            answer = super().__call__(user_input, tools, statebase)
            self.own = OTHER
            return answer

    result = replay(Cassette.from_ledger(recorded(2), PLAN), Wavering())
    assert [turn.verdict is Verdict.UNCHANGED for turn in result.turns] == [True, False]


def test_one_value_never_matches_two_placeholders() -> None:
    ledger = Ledger([SessionCreated("sess_1"), TurnStarted(1, {"type": "text", "content": "go"})])
    ledger.append(ToolCalled("send", {"sender": OWN, "copy": OTHER}, "sent"))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))

    def agent(tools: ToolCaller) -> str:
        tools.call("send", {"sender": OWN, "copy": OWN})
        return "done"

    result = replay(Cassette.from_ledger(redacted(ledger)), agent)
    assert result.turns[0].verdict is Verdict.ERROR or result.turns[0].divergences


def test_a_placeholder_of_somebody_else_is_not_the_agents_own() -> None:
    """The agent sends to the customer where it sent to its own address before."""

    class Confused(Agent):
        def __call__(self, user_input: str, tools: ToolCaller, statebase: Any) -> str:
            self.own = user_input.rpartition(" ")[2]
            return super().__call__(user_input, tools, statebase)

    result = replay(Cassette.from_ledger(recorded(), PLAN), Confused())
    assert result.turns[0].verdict is not Verdict.UNCHANGED


def test_states_are_compared_alike() -> None:
    ledger = Ledger(
        [SessionCreated("sess_1", state={}), TurnStarted(1, {"type": "text", "content": f"I am {CUSTOMER}"})]
    )
    ledger.append(StateUpdated(1, {"contact": OWN, "customer": CUSTOMER}))
    ledger.append(TurnAdded({"type": "text", "content": "done"}))

    def agent(user_input: str, session_id: str, statebase: Any, customer: str | None = None) -> str:
        state = {"contact": OWN, "customer": customer or user_input.rpartition(" ")[2]}
        statebase.sessions.update_state(session_id=session_id, state=state)
        return "done"

    def wrong(user_input: str, session_id: str, statebase: Any) -> str:
        return agent(user_input, session_id, statebase, OTHER)

    cassette = Cassette.from_ledger(redacted(ledger))
    assert dict(replay(cassette, agent).verdicts) == {"unchanged": 1}
    assert [d.path for d in replay(cassette, wrong).turns[0].divergences if not d.note] == ["state.customer"]


# --- In HTTP


class Echo(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"customer": CUSTOMER}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def talker(url: str, own: str = OWN, customer: str | None = None) -> Any:
    """An agent whose prompt has its own address in it, and which asks for the customer's."""

    def post(path: str, said: Any) -> Any:
        with urllib.request.urlopen(urllib.request.Request(f"{url}{path}", json.dumps(said).encode())) as answer:
            return json.loads(answer.read())

    def agent(user_input: str) -> str:
        found = post(f"/ask?from={quote(own)}", {"system": f"You answer for {own}. Be kind.", "user": user_input})
        post("/refund", {"to": customer or found["customer"], "sender": own})
        return "done"

    return agent


@pytest.mark.parametrize(
    ("customer", "own", "is_same"), [(None, OWN, True), (OTHER, OWN, False), (CUSTOMER, OWN, False), (OWN, OWN, False)]
)
def test_requests_with_what_the_agent_has_by_itself(
    tmp_path: Path, url: str, customer: str | None, own: str, is_same: bool
) -> None:
    exchanges: list[Exchange] = []
    write_record(tmp_path / "s.record.yaml", record_session(talker(url), ["hi"], session_id="s", http=exchanges))
    write_http(tmp_path / "s.http.yaml", exchanges)
    assert OWN not in (tmp_path / "s.http.yaml").read_text("utf-8")
    assert CUSTOMER not in (tmp_path / "s.http.yaml").read_text("utf-8")
    result = replay(load_cassette(tmp_path / "s.record.yaml"), talker(url, own, customer))
    assert (dict(result.verdicts) == {"unchanged": 1}) is is_same
