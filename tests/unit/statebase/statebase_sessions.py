"""Sessions for the client: as production made them, one version and one turn after the other."""

from __future__ import annotations

from pytest_statebase.ledger import (
    Ledger,
    MemoryAdded,
    SessionCreated,
    StateRolledBack,
    StateUpdated,
    ToolCalled,
    TurnAdded,
    TurnStarted,
)

ACTOR = "api_key_abc123"


def moment(number: int) -> str:
    return f"2024-03-15T10:{number // 60:02}:{number % 60:02}Z"


def production(session: str, turns: int, *, rollback: int | None = None) -> Ledger:
    """A session of that many turns; each makes one version before it ends. After `rollback`, it is rolled back."""
    ledger = Ledger(
        [
            SessionCreated(
                session, "support", "user_1", moment(0), {"step": 0}, {"channel": "web"}, ACTOR, "New conversation"
            )
        ]
    )
    for number in range(1, turns + 1):
        add_turn(ledger, number)
        if number == rollback:
            state = {"step": number - 1}
            version = ledger.next_version()
            ledger.append(
                StateRolledBack(
                    version, version - 2, state, "Agent exposed sensitive data", ACTOR, moment(number * 9 + 8)
                )
            )
    return ledger


def add_turn(ledger: Ledger, number: int) -> None:
    at = number * 9
    text = f"Question {number}"
    ledger.append(TurnStarted(number, {"type": "text", "content": text}, moment(at)))
    ledger.append(ToolCalled("look_up", {"number": number}, result={"found": number}))
    ledger.append(
        StateUpdated(ledger.next_version(), {"step": number}, f"Step {number} was done", ACTOR, moment(at + 1))
    )
    if number == 2:
        ledger.append(MemoryAdded("Likes hiking boots", "preference", ["shoes"], None, ACTOR, moment(at + 2)))
    output = {"type": "text", "content": f"Answer {number}"}
    more = {"latency_ms": 1000 * number, "model": "gpt-4o"}
    ledger.append(TurnAdded(output, None, f"Because of {number}", more, actor=ACTOR, at=moment(at + 3)))
