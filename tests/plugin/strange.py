"""Sessions whose agent now answers, keeps and sends values that JSON does not have, one sort in each."""

from __future__ import annotations

from pytest_statebase.cassette import write_http, write_record
from pytest_statebase.ledger import Ledger, MemoryAdded
from pytest_statebase.wire.exchange import Exchange, Request, Response
from tests.plugin.conftest import PLAN, Project

STRANGE = """
import datetime, enum, json, os, pathlib, re, time, urllib.request
import toy
from pytest_statebase import AgentReply
class Colour(enum.Enum):
    RED = 1
class Text(str): pass
VALUES = [datetime.datetime(2026, 1, 2, 3, 4, 5), Colour.RED, "\\ud83d", Text("odd"), float("nan")]
def another_is_done():
    for _ in range(1000):
        if pathlib.Path("done").exists(): return
        time.sleep(0.01)
def agent(session_id, user_input, turn):
    number = int(re.search("sess_(.)", session_id)[1])
    if (number, turn) == (0, 1) and "PYTEST_XDIST_WORKER" in os.environ:
        another_is_done()
    value = VALUES[number]
    if turn == 2:
        sent = json.dumps({"amount": number, "lone": "\\ud83d"}).encode()
        headers = {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request("http://shop.example/refunds", sent, headers))
    if turn == 3:
        pathlib.Path("done").touch()
        toy.price(value)
    toy.price("apple")
    return AgentReply({"odd": value}, state={"turns": value, "cart": ["apple"]})
"""
SHOWN = [
    {"!datetime": "2026-01-02T03:04:05"},
    {"!enum": {"type": "strange:Colour", "fields": {"name": "RED", "value": 1}}},
    "\ud83d",
    "odd",
    {"!float": "nan"},
]
"""Its values as rows have them."""


def strange_sessions(project: Project) -> None:
    """A session for each strange value, with a refund that was sent otherwise and a memory after its turns."""
    (project.path / "strange.py").write_text(STRANGE)
    asked = Request("POST", "http://shop.example/refunds", (("Content-Type", "application/json"),), b'{"amount": 7}')
    for number in range(len(SHOWN)):
        name, session = f"toy-{number}", f"sess_{number}"
        (project.fixtures / f"{name}.session.yaml").write_text(PLAN.replace("sess_toy", session))
        events = [*project.ledger(session=session).events, MemoryAdded("likes figs")]
        write_record(project.fixtures / f"{name}.record.yaml", Ledger(events))
        write_http(project.fixtures / f"{name}.http.yaml", [Exchange(asked, Response(200, "OK"), turn=2)])
