"""Kills processes that capture under load, at random moments, and looks for every turn that was reported as kept.

    python -m tests.data.kill_trials [TRIALS [SEED]]

By default 200 trials. In each, two processes go one after the other through the same sessions, in several threads, and
both are killed with the signal that cannot be caught. Then: is every reported turn in the journals, once? Is every
journal readable? Is each cassette made of them sealed, and does it replay unchanged, with the agent of the processes
and with one that does as recorded?
"""

from __future__ import annotations

import itertools
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
from queue import SimpleQueue
from typing import Any

from pytest_statebase import Verdict, capture, replay
from pytest_statebase.cassette import load_cassette, verify
from pytest_statebase.importers import import_file
from pytest_statebase.importers.store import Store
from pytest_statebase.journal import CapturedSession, Damage, Limits, read_sessions
from pytest_statebase.ledger import input_text
from pytest_statebase.testing import Reenact

from .kill_shop import agent

ROOT = Path(__file__).parents[2]
THREADS, SESSIONS = 4, 3
TOOLS = ("tests.data.kill_shop:look_up",)


# --- The process that is killed


def load(directory: str, generation: str, pause: float) -> None:
    """Talk in many sessions until killed. Each turn that is kept is told on stdout, as one line in one write."""
    recording = capture(directory, tools=TOOLS, agent_id="support", limits=Limits(file_bytes=60_000)).start()
    ended: SimpleQueue[tuple[Any, str]] = SimpleQueue()

    def talk(thread: int) -> None:
        states: dict[str, Any] = {}
        for count in itertools.count(1):
            name = f"sess_{thread}_{count % SESSIONS}"
            state = states.setdefault(name, {"from": generation})
            said = f"{generation}: where is order {thread}-{count}?"
            with recording.session(name, state=state).turn(said, state=state) as turn:
                reply = agent(name, said, state)
                turn.reply(reply)
            states[name] = reply.state
            ended.put((turn, f"{name}\t{said}\n"))
            time.sleep(pause)

    for thread in range(THREADS):
        threading.Thread(target=talk, args=(thread,), daemon=True).start()
    while True:
        turn, line = ended.get()
        while turn.kept is None:
            time.sleep(0.0005)
        if turn.kept:
            os.write(sys.stdout.fileno(), line.encode())


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
                told += _piece(answers.fileno())
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
        told += _piece(pipe)
    return bytes(told)


def _piece(pipe: int) -> bytes:
    piece = os.read(pipe, 1 << 16)
    if not piece:
        raise RuntimeError("the process that forks the others is gone")
    return piece


def one_trial(place: Path, luck: random.Random, victims: Victims) -> Trial:
    """Two processes, killed one after the other, and what they left."""
    journals, out = place / "captured", place / "cassettes"
    reported = [line for name in ("first", "second") for line in victims.killed(journals, name, luck.uniform(0, 0.12))]
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
    turns = [*replay(cassette, agent, tools=TOOLS).turns, *replay(cassette, Reenact(cassette)).turns]
    changed = [turn for turn in turns if turn.verdict is not Verdict.UNCHANGED]
    return faults + [f"{plan.name}, turn {turn.turn}: {turn.verdict}: {turn.divergences}" for turn in changed]


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
