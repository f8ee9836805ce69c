"""Kills processes that capture under load, at random moments, and looks for every turn that was reported as kept.

    python -m tests.data.kill_trials [TRIALS [SEED]]

By default 200 trials. In each, two processes go one after the other through the same sessions, in several threads, and
both are killed with the signal that cannot be caught. Then: is every reported turn in the journals, once? Is every
journal readable? Is each cassette made of them sealed, and does it replay unchanged with an agent that does as before?
"""

from __future__ import annotations

import os
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_statebase import Verdict, replay
from pytest_statebase.cassette import load_cassette, verify
from pytest_statebase.events import SessionCreated, StateUpdated, ToolCalled, TurnAdded, TurnStarted, timestamp
from pytest_statebase.frames import SessionOpened, TurnClosed, TurnOpened
from pytest_statebase.importers import import_file
from pytest_statebase.importers.store import Store
from pytest_statebase.journal import CapturedSession, Damage, Limits, Writer, read_sessions
from pytest_statebase.ledger import input_text
from pytest_statebase.privacy import FrameRedactor, RedactionOptions
from pytest_statebase.testing import Reenact

ROOT = Path(__file__).parents[2]
THREADS, SESSIONS = 4, 3


# --- The process that is killed


def answer(session: str, said: str) -> tuple[dict[str, Any], str]:
    """What the tool of the agent finds, and what the agent says of it: the same for the same words."""
    number = sum(map(ord, session + said))
    items = [{"sku": f"S-{number % (7 + at)}", "price": (number, at)} for at in range(number % 40)]
    return {"order": said.rsplit(" ", 1)[-1], "items": items}, f"{len(items)} items are on their way. " * (number % 9)


def turn(session: str, number: int, said: str, state: dict[str, Any]) -> TurnClosed:
    """One turn, in which a tool is asked and the state changed."""
    at = timestamp()
    result, text = answer(session, said)
    after = {"turns": number, "order": result["order"], "seen": state.get("seen", 0) + 1}
    return TurnClosed(
        session,
        (
            TurnStarted(number, {"type": "text", "content": said}, at),
            ToolCalled("look_up", {"order": result["order"]}, result, step=1, at=timestamp()),
            StateUpdated(number, after, "It was asked for", at=timestamp()),
            TurnAdded({"type": "text", "content": text}, at=timestamp()),
        ),
        state_before=state,
    )


def load(directory: str, generation: str, pause: float) -> None:
    """Talk in many sessions until killed. Each turn that is kept is told on stdout, as one line in one write."""
    redactor = FrameRedactor(RedactionOptions(key=b"of the trials" * 3))
    writer = Writer(directory, redact=redactor.frame, limits=Limits(file_bytes=60_000))
    told = sys.stdout.fileno()

    def talk(thread: int) -> None:
        states: dict[str, dict[str, Any]] = {}
        for count in range(1, 1_000_000):
            session = f"sess_{thread}_{count % SESSIONS}"
            state = states.get(session)
            if state is None:
                state = {"from": generation}
                writer.put(SessionOpened(SessionCreated(session, "support", at=timestamp(), state=state)))
            number = state.get("turns", 0) + 1
            said = f"{generation}: where is order {thread}-{count}?"
            done = turn(session, number, said, state)
            writer.put(TurnOpened(session, done.events[0].input, done.at))  # type: ignore[union-attr]
            line = f"{session}\t{said}\n".encode()
            writer.put(done, lambda kept, line=line: os.write(told, line) if kept else None)  # type: ignore[misc]
            states[session] = done.events[2].value  # type: ignore[union-attr]
            time.sleep(pause)

    for thread in range(THREADS):
        threading.Thread(target=talk, args=(thread,), daemon=True).start()
    signal.pause()


def fork_on_demand() -> None:
    """For every line on stdin a child of its own that does `load`: one that has not to import everything first."""
    for line in sys.stdin:
        directory, generation, pause = line.rstrip("\n").split("\t")
        pid = os.fork()
        if pid == 0:
            load(directory, generation, float(pause))
        os.write(sys.stdout.fileno(), f"{_BEGUN}{pid}\n".encode())
        os.waitpid(pid, 0)
        os.write(sys.stdout.fileno(), _OVER)


_BEGUN, _OVER = "begun ", b"over\n"


# --- The trials


@dataclass(slots=True)
class Trial:
    """What was found after the processes were killed."""

    reported: int = 0
    torn: int = 0
    sessions: int = 0
    turns: int = 0
    bytes: int = 0
    faults: list[str] = field(default_factory=list)


class Victims:
    """Processes to be killed."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.data.kill_trials", "fork"]
        self._forking = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Victims:
        return self

    def __exit__(self, *_: object) -> None:
        self._forking.communicate()

    def killed(self, directory: Path, generation: str, after: float) -> list[str]:
        """Kill a process `after` seconds from the first turn that it reports; the turns that it reported."""
        asked, answers = self._forking.stdin, self._forking.stdout
        assert asked is not None
        assert answers is not None
        asked.write(f"{directory}\t{generation}\t0.0005\n".encode())
        asked.flush()
        told, pid, due = bytearray(), None, time.monotonic() + 60
        while not told.endswith(_OVER):
            ready = select.select([answers], [], [], max(0.0, due - time.monotonic()))[0]
            if ready:
                told += os.read(answers.fileno(), 1 << 16)
            lines = told.decode().splitlines()
            pid = pid or next((int(line.removeprefix(_BEGUN)) for line in lines if line.startswith(_BEGUN)), None)
            if len(lines) > 1 and due > time.monotonic() + 1:
                due = time.monotonic() + after
            if pid is not None and time.monotonic() >= due:
                os.kill(pid, signal.SIGKILL)
                told += _rest(answers.fileno())
        return [line for line in told.decode().splitlines()[:-1] if not line.startswith(_BEGUN)]


def _rest(pipe: int) -> bytes:
    told = bytearray()
    while not told.endswith(_OVER):
        told += os.read(pipe, 1 << 16)
    return bytes(told)


def one_trial(place: Path, luck: random.Random, victims: Victims) -> Trial:
    """Two processes, killed one after the other, and what they left."""
    journals, out = place / "captured", place / "cassettes"
    reported = [line for name in ("first", "second") for line in victims.killed(journals, name, luck.uniform(0, 0.1))]
    damaged: list[Damage] = []
    sessions = list(read_sessions([journals], damaged=damaged))
    found = Counter(_turns(sessions))
    trial = Trial(len(reported), sum(one.is_torn for one in damaged), len(sessions), found.total())
    trial.bytes = sum(path.stat().st_size for path in journals.glob("*.journal"))
    trial.faults += [f"lost: {line}" for line in reported if line not in found]
    trial.faults += [f"{count} times: {line}" for line, count in found.items() if count > 1]
    trial.faults += [f"damaged: {one}" for one in damaged if not one.is_torn]
    trial.faults += [] if reported else ["nothing was reported"]
    store = Store(out)
    for session in import_file(journals):
        store.add(session)  # type: ignore[arg-type]
    plans = sorted(out.glob("*.session.yaml"))
    trial.faults += [] if len(plans) == len(sessions) else [f"{len(plans)} cassettes of {len(sessions)} sessions"]
    for plan in plans:
        trial.faults += _faults_of(plan)
    return trial


def _turns(sessions: list[CapturedSession]) -> list[str]:
    return [f"{session.ledger.id}\t{input_text(turn.input)}" for session in sessions for turn in session.ledger.turns]


def _faults_of(plan: Path) -> list[str]:
    """Whether a cassette is sealed and replays unchanged."""
    cassette = load_cassette(plan)
    seal = verify(cassette.record_path)
    faults = [] if seal.ok else [f"{plan.name}: {seal.message}"]
    result = replay(cassette, Reenact(cassette))
    return faults + [
        f"{plan.name} turn {turn.number}: {turn.verdict}"
        for turn in result.turns
        if turn.verdict is not Verdict.UNCHANGED
    ]


def _all(trials: int, seed: int) -> None:
    luck, total, began = random.Random(seed), Trial(), time.monotonic()
    with Victims() as victims:
        for number in range(1, trials + 1):
            with tempfile.TemporaryDirectory() as place:
                trial = one_trial(Path(place), luck, victims)
            for name in ("reported", "torn", "sessions", "turns", "bytes"):
                setattr(total, name, getattr(total, name) + getattr(trial, name))
            total.faults += trial.faults
            for fault in trial.faults:
                print(f"trial {number}: {fault}", flush=True)
    print(
        f"{trials} trials (seed {seed}), {2 * trials} processes killed in {time.monotonic() - began:.0f} s: "
        f"{total.reported} turns reported as kept, {total.turns} found, {total.torn} torn last lines, "
        f"{total.bytes / 1e6:.1f} MB of journals, {total.sessions} cassettes, {len(total.faults)} faults"
    )
    raise SystemExit(bool(total.faults))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fork"]:
            fork_on_demand()
        case numbers:
            _all(*[int(number) for number in [*numbers, *["200", str(random.randrange(10**6))][len(numbers) :]]])
