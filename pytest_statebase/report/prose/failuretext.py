"""What failed, as inline Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...compare.model import Facet, Group, Kind, Verdict
from ..grouping import group_of_turn, judged, plural, sentence, side_name, told_sides
from ..raised import raised_text, trace_of
from ..rows import Row
from ..show import one_line, shorten_pair
from .identical import OTHER_VALUES, Failure, raised_in
from .markdown import block, code

_VERDICTS = frozenset(verdict.value for verdict in Verdict)
_KINDS = frozenset(kind.value for kind in Kind)
_ELSEWHERE = {Kind.MOVED.value: "made, in another turn", Kind.REORDERED.value: "made, in another order"}
_WIDTH = 60
_WIDE = 400
_LISTED = 20


def verdict_text(verdict: object) -> str:
    """A verdict; a word that this version does not know is somebody else's."""
    return str(verdict) if verdict in _VERDICTS else code(verdict, 40)


def turn_text(turn: Row) -> str:
    """`turn 3`."""
    number = turn["turn"]
    return f"turn {number}" if isinstance(number, int) else f"turn {code(number, 20)}"


def turns_text(row: Row) -> str:
    """`turn 3 changed, turn 4 unrecorded, 7 turns not replayed`, or why there is no turn."""
    turns = judged(row)
    bad = [turn for turn in turns if group_of_turn(turn) is Group.FAIL or turn["verdict"] == Verdict.STALE]
    left = sum(turn["verdict"] == Verdict.NOT_REPLAYED for turn in turns)
    bad += [turn for turn in turns if turn["verdict"] == Verdict.INCONCLUSIVE]
    parts = [f"{turn_text(turn)} {verdict_text(turn['verdict'])}" for turn in bad[:3]]
    parts += [f"{len(bad) - 3:,} more"] if len(bad) > 3 else []
    parts += [f"{plural(left, 'turn')} not replayed"] if left else []
    if not parts and row.get("unfinished"):
        return "did not finish"
    return ", ".join(parts) if parts else code(row.get("failure") or "did not begin")


def what_differs(failure: Failure) -> tuple[str, str]:
    """What differs, and the values on both sides."""
    found, raised = failure.found, raised_in(failure)
    crash = f", the agent raised {code(raised[0], 200)}{raised[1]}" if raised else ""
    if found is None:
        return code(failure.why, 300) + crash, _without_difference(failure)
    sides = _sides(found, _WIDTH)
    if len(sides) == 2:
        values = " → ".join(sides.values())
    else:
        values = "".join(f"{_side(found, side)} {text}" for side, text in sides.items())
    more = f", {OTHER_VALUES}" if failure.parts and values else ""
    return headed(found, 120) + crash, (values or _without_values(found)) + more


def _without_difference(failure: Failure) -> str:
    """What stands for the values of a failure that no difference is."""
    turn = failure.places[0][1]
    if turn is None or turn["replayed"] is None:
        return "not replayed"
    return "the same" if turn["verdict"] == Verdict.STILL_FAILING else "not judged"


def _without_values(found: Row) -> str:
    """What became of a call, or of a value, where neither side is told."""
    if found["kind"] in _ELSEWHERE:
        return _ELSEWHERE[found["kind"]]
    if found["kind"] != Kind.EXPECT:
        return "not told"
    return "now not made" if found["facet"] in (Facet.TOOLS, Facet.HTTP) else "now nothing"


def _side(found: Row, side: str) -> str:
    return "now" if side == "replayed" else side_name(found, side)


def headed(found: Row, width: int) -> str:
    """Path and words of a difference."""
    return f"{code(found['path'], width)} {words_of(found)}"


def words_of(found: Row) -> str:
    """What sort of difference it is: own words, or what a person or a tool said of it."""
    words = sentence(found)
    if found.get("detail"):
        return code(words, 200)
    return words or ("another value" if found["kind"] in _KINDS else code(found["kind"], 40))


def _sides(found: Row, width: int) -> dict[str, str]:
    told = {side: one_line(found[side]) for side in told_sides(found)}
    if len(told) == 2:
        told = dict(zip(told, shorten_pair(told["recorded"], told["replayed"], width), strict=True))
    return {side: code(text, width + 40) for side, text in told.items()}


def detail_lines(turn: Row) -> Iterator[str]:
    """A turn that fails: what was said to the agent, every difference, what it raised, what answers an open call."""
    yield f"**{verdict_text(turn['verdict'])}**" + (f", asked {code(turn['input'], _WIDE)}" if turn["input"] else "")
    yield ""
    found = [one for one in turn["divergences"] if not one.get("note")]
    for one in found[:_LISTED]:
        yield f"- {_difference(one)}"
    if len(found) > _LISTED:
        yield f"- … and {len(found) - _LISTED:,} more differences"
    raised, trace = raised_text(turn, turn["divergences"]), trace_of(turn)
    if raised:
        yield f"- the agent raised {code(raised, _WIDE)}"
    for text in dict.fromkeys([*([trace] if trace else []), *_explanations(turn)]):
        yield ""
        yield block(text)


def _difference(found: Row) -> str:
    sides = ", ".join(f"{_side(found, side)} {text}" for side, text in _sides(found, _WIDE).items())
    follows = " (follows from the first)" if found.get("follows") else ""
    told = f"{headed(found, 200)}{follows}" + (f": {sides}" if sides else "")
    return told + (f" · {code(found['fingerprint'], 20)}" if found.get("fingerprint") else "")


def _explanations(turn: Row) -> Iterable[str]:
    """Texts of several lines that somebody may paste from."""
    told = [turn.get("reason"), *(call.get("explanation") for call in turn["calls"])]
    told += [request.get(name) for request in turn.get("requests", ()) for name in ("explanation", "hint")]
    return [str(text) for text in told if text and "\n" in str(text)]
