"""Writes plans: the first proposal, which people then edit."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from ..errors import PlanError
from ..values import ABSENT, visible_text
from .canonical import parts_of
from .files import write_atomic
from .plan import Answer, CallExpect, Expect, HttpPlan, Known, Plan, ReplaySpec, Retention, ToolRules
from .planread import FORMAT
from .yamlwrite import document_text


def write_plan(path: str | os.PathLike[str], plan: Plan, *, overwrite: bool = False, notes: Iterable[str] = ()) -> None:
    """Write a plan as `NAME.session.yaml`, in one step; what is as it is by default is left out.

    notes: comments for its first lines, one line each; what YAML cannot hold in them is escaped.
    Raises PlanError where the file is already there, because people edit plans.
    """
    name = os.fspath(path)
    if not overwrite and os.path.lexists(name):
        raise PlanError("there is a plan already", where=name, remedy="Edit it, or remove it first.")
    comments = "".join(f"# {visible_text(note)}\n" for note in notes)
    write_atomic(name, (comments + plan_text(plan)).encode())


def plan_text(plan: Plan) -> str:
    """The YAML of a plan."""
    form: dict[str, Any] = {"cassette": FORMAT}
    for key in ("session", "record", "agent", "title"):
        if getattr(plan, key) is not None:
            form[key] = getattr(plan, key)
    if plan.replays != (ReplaySpec(),):
        replays = [_replay(spec) for spec in plan.replays]
        form["replay"] = replays[0] if len(replays) == 1 else replays
    form["failing"] = sorted(plan.failing)
    form["expect"] = {turn: expect_form(expect) for turn, expect in plan.expect.items()}
    form["answers"] = [_answer(answer) for answer in plan.answers]
    form["inputs"] = dict(plan.inputs)
    form["ignore"] = list(plan.ignore)
    form["compare"] = dict(plan.compare)
    form["owner"] = plan.owner
    form["gate"] = None if plan.gate == "block" else plan.gate
    form["known"] = [_known(known) for known in plan.known]
    names = [sibling.name for sibling in plan.stubs_from]
    form["stubs_from"] = names[0] if len(names) == 1 else names
    form["http"] = _http(plan.http)
    form["retention"] = _retention(plan.retention)
    form["privacy"] = None if plan.privacy == "default" else plan.privacy
    form["keep"] = list(plan.keep)
    form["tools"] = {name: _rules(rules) for name, rules in plan.tools.items()}
    return document_text(parts_of({key: value for key, value in form.items() if value not in (None, [], {})}))


def _retention(retention: Retention | None) -> dict[str, Any] | None:
    if retention is None:
        return None
    return {"days": retention.days} if retention.until is None else {"until": retention.until.isoformat()}


def _http(http: HttpPlan) -> Any:
    if not http.headers:
        return http.file
    form: dict[str, Any] = {"headers": list(http.headers)}
    return form if http.file is None else {"file": http.file, **form}


def _replay(spec: ReplaySpec) -> dict[str, Any]:
    form: dict[str, Any] = {"fork": str(spec.fork)}
    if spec.until is not None:
        form["until"] = spec.until if spec.until == "end" else f"turn {spec.until}"
    if spec.mode is not None:
        form["mode"] = spec.mode
    return form


def expect_form(expect: Expect) -> dict[str, Any]:
    """What a plan says of a turn, as data."""
    form: dict[str, Any] = {}
    if expect.output is not None:
        output = expect.output
        form["output"] = _texts(output, ("contains", "not_contains", "matches"))
        if output.equals is not ABSENT:
            form["output"]["equals"] = output.equals
    if expect.tools is not None:
        form["tools"] = _texts(expect.tools, ("called", "not_called"))
    if expect.state:
        form["state"] = dict(expect.state)
    return form


def _texts(rules: Any, names: Iterable[str]) -> dict[str, Any]:
    """Each rule that there is: a single one as such, several as a list."""
    found = {name: [_entry(rule) for rule in getattr(rules, name)] for name in names if getattr(rules, name)}
    return {name: texts[0] if len(texts) == 1 else texts for name, texts in found.items()}


def _entry(rule: str | CallExpect) -> Any:
    return rule if isinstance(rule, str) else {"tool": rule.tool, "arguments": dict(rule.arguments)}


def _answer(answer: Answer) -> dict[str, Any]:
    form: dict[str, Any] = {"tool": answer.tool, "arguments": dict(answer.arguments)}
    if answer.error is not None:
        return {**form, "error": dict(answer.error)}
    return {**form, "result": answer.result}


def _rules(rules: ToolRules) -> dict[str, Any]:
    """`result` is left out: a plan does not say it."""
    lists = {"ignore": list(rules.ignore), "was": list(rules.was)}
    form = {"reads": rules.reads, **lists, "rename": dict(rules.rename), "added": dict(rules.added), "live": rules.live}
    return {key: value for key, value in form.items() if value}


def _known(known: Known) -> dict[str, Any]:
    form = {"fingerprint": known.fingerprint, "until": known.until.isoformat()}
    return {**form, "ticket": known.ticket} if known.ticket is not None else form
