"""Recordings in which something was redacted that the agent has by itself: an address in its prompt."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pytest_statebase import Ledger
from pytest_statebase.compare import IgnoreRules
from pytest_statebase.engine.matching import Pool
from pytest_statebase.engine.web.inventions import Inventions
from pytest_statebase.engine.web.models import ModelHosts
from pytest_statebase.engine.web.pool import Exchanges, Found, Missed
from pytest_statebase.ledger import SessionCreated, TurnAdded, TurnStarted
from pytest_statebase.wire.exchange import Exchange, Request, Response

URL = "https://api.openai.com/v1/chat/completions"
OWN, USERS = "email-1@0a1b2c3d.example.com", "email-2@0a1b2c3d.example.com"


def ask(system: str, said: str) -> Request:
    messages = [{"role": "system", "content": f"Mail {system} in need."}, {"role": "user", "content": f"I am {said}."}]
    return Request("POST", URL, (), json.dumps({"model": "m", "messages": messages}).encode())


def answer(recorded: Exchange, *asked: Request) -> list[Found | Missed]:
    """What becomes of requests of the turn in which the user told an address."""
    events = [SessionCreated("s"), TurnStarted(1, {"type": "text", "content": f"I am {USERS}."}), TurnAdded()]
    ledger = Ledger(events)
    ids = Pool(ledger, 1, lambda tool, arguments, ordinal: arguments, lambda tool: True)
    ids.learn([f"I am {USERS}."])
    exchanges = [recorded] * len(asked)
    inventions = Inventions(ids, ledger, exchanges, ())
    pool = Exchanges(exchanges, rules=IgnoreRules(), is_model=ModelHosts().is_model, inventions=inventions)
    return [pool.answer(one, 1) for one in asked]


CHOICE = {"message": {"content": "Hi"}, "finish_reason": "stop"}
BODY = json.dumps({"id": "r", "model": "m", "created": 0, "choices": [CHOICE]})
SENT = Exchange(ask(OWN, USERS), Response(200, body=BODY.encode()), 1)


@pytest.mark.parametrize("recorded", [SENT, replace(SENT, derived=("parameters",))], ids=["sent", "derived"])
def test_what_the_agent_has_by_itself_may_stand_in_its_place(recorded: Exchange) -> None:
    first, again, other = answer(
        recorded, ask("help@shop-desk.org", USERS), ask("help@shop-desk.org", USERS), ask("other@shop-desk.org", USERS)
    )
    assert isinstance(first, Found)
    assert isinstance(again, Found)
    # One placeholder stands for one value.
    assert isinstance(other, Missed)


@pytest.mark.parametrize("recorded", [SENT, replace(SENT, derived=("parameters",))], ids=["sent", "derived"])
def test_what_the_user_told_has_to_be_that(recorded: Exchange) -> None:
    (missed,) = answer(recorded, ask("help@shop-desk.org", "someone@elsewhere.org"))
    assert isinstance(missed, Missed)
    (swapped,) = answer(recorded, ask(USERS, "help@shop-desk.org"))
    assert isinstance(swapped, Missed)


def test_other_words_are_another_request() -> None:
    (missed,) = answer(SENT, ask("help@shop-desk.org or wait", USERS))
    assert isinstance(missed, Missed)
