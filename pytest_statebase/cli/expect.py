"""`pytest-statebase expect`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ..errors import AgentError, ForkError, PlanError
from ..ledger import ForkPoint
from .output import printable, say, warn
from .project import Project, find_project
from .targets import find_cassette, shown

if TYPE_CHECKING:
    from ..cassette import Cassette
    from ..cassette.plan import ReplaySpec
    from ..compare.model import TurnResult
    from ..engine.options import ReplayOptions

_PLACEHOLDER = "…"


@click.command("expect")
@click.argument("session")
@click.argument("turn", type=click.IntRange(min=1))
@click.option("--agent", metavar="MODULE:ATTR", help="The agent; by default that of the ini key statebase_agent.")
@click.option(
    "--tools",
    multiple=True,
    metavar="PATTERN",
    help="A tool or a pattern of them, MODULE:*; by default those of the ini key statebase_tools.",
)
def command(session: str, turn: int, agent: str | None, tools: tuple[str, ...]) -> None:
    """Draft what to expect of a turn.

    It is drafted from what the repaired agent does. SESSION is a plan, a record or the id of a session in the
    project's cassettes. The session is replayed up to TURN, as its plan says, and the block to paste is printed:
    what makes the turn right now and the recorded one wrong. Read it before you keep it: it says what the agent does,
    not whether that is right.

    Exit code 1 where there is nothing to draft: the turn is as it was recorded, or so but for its wording; a call had
    no answer; the agent raised.
    """
    project = find_project()
    cassette = find_cassette(session, project=project)
    result = _replayed(cassette, turn, agent, tools, project)
    draft = _drafted(cassette, result)
    for note in _where(cassette, turn):
        warn(note)
    say(draft)
    if _PLACEHOLDER in draft:
        warn("Nothing else could be drafted: write in what a right answer says.")


def _replayed(cassette: Cassette, turn: int, agent: str | None, tools: tuple[str, ...], project: Project) -> TurnResult:
    """The turn as the agent plays it, judged as a failing one without `expect`."""
    from ..engine.agents import as_agent
    from ..engine.runner import run

    cassette.ledger.turn(turn)
    name = agent or project.text("statebase_agent")
    if name is None:
        remedy = "Give --agent MODULE:ATTR, or set the ini key statebase_agent. Fixtures and hooks are not asked here."
        raise AgentError(
            "there is no agent to replay against", where=shown(project.ini) if project.ini else None, remedy=remedy
        )
    plan = cassette.plan
    expects = {number: expect for number, expect in plan.expect.items() if number != turn}
    cassette.plan = replace(plan, expect=expects, failing=plan.failing | {turn})
    before = list(sys.path)
    sys.path[:0] = project.import_path
    try:
        with redirect_stdout(sys.stderr):  # what the agent prints is no part of the draft
            result = run(cassette, as_agent(name), _options(turn, tools, project), _spec(cassette, turn))
    finally:
        cassette.plan = plan
        sys.path[:] = before
    return next((one for one in result.turns if one.turn == turn), None) or _not_there(cassette, turn)


def _options(turn: int, tools: tuple[str, ...], project: Project) -> ReplayOptions:
    from ..engine.agents import import_attribute
    from ..engine.options import make_options

    simulator = project.text("statebase_simulator")
    return make_options(
        until=turn,
        mode=project.text("statebase_mode"),
        tools=tools or project.lines("statebase_tools"),
        unrecorded=project.text("statebase_unrecorded") or "fail",
        simulator=import_attribute(simulator, what="simulator") if simulator else None,
    )


def _spec(cassette: Cassette, turn: int) -> ReplaySpec:
    """The first replay of the plan that comes to the turn, else one that begins with it."""
    from ..cassette.plan import ReplaySpec

    ledger, plan = cassette.ledger, cassette.plan
    begins = ledger.cut(ForkPoint("turn", turn))
    for spec in plan.replays:
        if ledger.cut(ledger.resolve(spec.fork, plan.failing)) <= begins:
            return spec
    return ReplaySpec(ForkPoint("turn", turn))


def _not_there(cassette: Cassette, turn: int) -> Any:
    raise ForkError(
        f"turn {turn} of session {cassette.ledger.id} is not replayed: the agent speaks first in it, without a call",
        remedy="Choose a turn with an input.",
    )


def _drafted(cassette: Cassette, result: TurnResult) -> str:
    """The block, without its first line where the plan has an `expect` already.

    Raises PlanError where the turn gives nothing to expect.
    """
    from ..compare import Verdict, draft_expect
    from ..compare.baseline import differs

    _refuse_unfinished(result)
    found = result.divergences if result.accepted is None else result.from_record
    if not differs(found, wording=False):
        raise _as_recorded(result, " but for its wording" if differs(found) else "")
    # A turn that was accepted is judged by that, and has no draft yet.
    draft = result.reason if result.verdict is Verdict.UNPROVEN else None
    draft = draft or draft_expect(result, ledger=cassette.ledger, plan=cassette.plan)
    return draft.removeprefix("expect:\n") if cassette.plan.expect else draft


def _as_recorded(result: TurnResult, less: str) -> PlanError:
    return PlanError(
        f"turn {result.turn} is as it was recorded{less}: an expect drafted from what is to be mended proves nothing",
        remedy="Repair the agent first (--agent MODULE:ATTR names another one), or write by hand what is right.",
    )


def _refuse_unfinished(result: TurnResult) -> None:
    """A turn that did not come to its end shows nothing that could be expected of it."""
    from ..compare import Verdict

    if result.verdict not in (Verdict.ERROR, Verdict.UNRECORDED, Verdict.NOT_REPLAYED):
        return
    told = [result.reason] if result.reason else []
    told += [call.explanation for call in result.calls if call.explanation]
    error = result.replayed.error if result.replayed else None
    if error is not None:
        told.append(f"the agent raised {error.get('type')}: {error.get('message')}")
    lines = [line for text in told for line in text.split("\n")]
    raise PlanError(
        f"turn {result.turn} is {result.verdict}: there is nothing to expect of it yet", remedy="\n  ".join(lines)
    )


def _where(cassette: Cassette, turn: int) -> list[str]:
    """Where the draft goes, and what else the plan needs."""
    plan = cassette.plan
    if cassette.path is None:
        return [f"# for the plan of {printable(str(cassette.record_path))}"]
    file = shown(cassette.path)
    if turn in plan.expect:
        notes = [f"# {plan.where.get(f'expect.{turn}') or file}: instead of what is expected of turn {turn} now"]
    elif plan.expect:
        notes = [f"# {plan.where.get('expect') or file}: below `expect:`"]
    else:
        notes = [f"# {file}"]
    if turn not in plan.failing:
        others = ", ".join(map(str, sorted(plan.failing | {turn})))
        place = plan.where.get("failing") or file
        notes.append(f"# {place}: the turn is to change, so mark it as well: `failing: [{others}]`")
    return notes
