"""The differences of two values, to the type. The only importer of deepdiff.

Equal parts are passed over first, lists are aligned as sequences, and a value that cannot be judged is reported as
such: nothing here raises, and nothing that the agent may still read is consumed.
"""

from __future__ import annotations

import datetime
import enum
import gc
import marshal
import numbers
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ..values import ABSENT, TypedData, fields_of, freeze, same
from .model import Kind, stable_text
from .paths import IGNORED, IgnoreRules, Index, Path, render
from .sequences import Rows, align_keys, likeness, with_gaps

Translate: TypeAlias = Callable[[Any], Any]
"""Turns a replayed value into how the recording would have it (session ids, made-up ids), for tests of equality."""

NOT_COMPARABLE: Final = "not comparable: nothing tells whether the two are equal"
_EXACT: Final = frozenset({str, int, bool, type(None), bytes})
_PLAIN: Final = frozenset({dict, list, str, int, float, bool, type(None)})
_TIMES: Final = (datetime.date, datetime.time)
_LARGE: Final = 2_000
_MAX_NODES: Final = 3_000_000
_MAX_DEPTH: Final = 5_000
_MAX_DIFFERENCES: Final = 500
_PRUNED_DEPTH: Final = 64
"""How deep equal parts are passed over at once. Deeper, looking ahead at every level would take quadratic time."""


class _EndlessError(Exception):
    """The values hold themselves, or are too large to be looked through."""


class Difference(NamedTuple):
    """One difference of two values."""

    kind: Kind
    path: Path
    recorded: Any = ABSENT
    replayed: Any = ABSENT
    detail: str | None = None


def identity(value: Any) -> Any:
    """The translation that changes nothing."""
    return value


def plain_equal(left: Any, right: Any) -> bool:
    """Whether two values of plain JSON types are surely equal, to the type. False also means: not known."""
    return _plain_equal(left, right) is True


def _plain_equal(left: Any, right: Any) -> bool | None:
    """As `plain_equal`; None where no end was found.

    Most of the time of a comparison is spent here. The two loops say the same; a shared one takes half as long again.
    """
    if type(left) is not dict and type(left) is not list:
        left, right = [left], [right]
    if type(left) is not type(right):
        return False
    whole, stack, exact = (left, right), [(left, right)], _EXACT
    visited, is_large = 0, False
    while stack:
        left, right = stack.pop()
        visited += len(left) + 1
        if len(left) != len(right):
            return False
        if visited > _LARGE and not is_large:
            is_large = True
            if (equal := _equal_in_bytes(*whole)) is not None:
                return equal
        if visited > _MAX_NODES:
            return None
        if type(left) is dict:
            other_of = right.get
            for key, item in left.items():
                other = other_of(key, ABSENT)
                kind = type(item)
                if kind is not type(other) or type(key) is not str:
                    return False
                if kind in exact:
                    if item != other:
                        return False
                elif kind is dict or kind is list:
                    stack.append((item, other))
                elif kind is not float or not (item == other or (item != item and other != other)):
                    return False
        else:
            for item, other in zip(left, right):  # noqa: B905 (their lengths are equal, and saying so takes time)
                kind = type(item)
                if kind is not type(other):
                    return False
                if kind in exact:
                    if item != other:
                        return False
                elif kind is dict or kind is list:
                    stack.append((item, other))
                elif kind is not float or not (item == other or (item != item and other != other)):
                    return False
    return True


def _equal_in_bytes(left: Any, right: Any) -> bool | None:
    """As `plain_equal`, for large values: no step of it is taken in Python. None where that cannot be.

    `marshal` tells 1, 1.0 and True apart and runs nobody's code, but writes bytes, bytearrays and other buffers alike.
    """
    try:
        if not _is_plain(left):
            return None
        return bool(left == right) and (marshal.dumps(left, 2) == marshal.dumps(right, 2) or None)
    except Exception:  # deeper than C recurses, or a stranger's equality
        return None


def _is_plain(value: Any) -> bool:
    level, visited = [value], 0
    while level:
        visited += len(level)
        if visited > _MAX_NODES or not _PLAIN.issuperset(map(type, level)):
            return False
        level = gc.get_referents(*level)
    return True


def diff(
    recorded: Any,
    replayed: Any,
    *,
    prefix: Path = (),
    ignore: IgnoreRules | None = None,
    translate: Translate | None = None,
) -> list[Difference]:
    """The differences between two values in the order of the recorded one; empty where they are equal.

    prefix: where the values lie; it begins every path, and decides which of the `ignore` rules apply.
    A failure to compare is a difference of its own, never an exception.
    """
    equal = recorded is replayed or _plain_equal(recorded, replayed)
    if equal:
        return []
    try:
        if equal is None:
            raise _EndlessError
        if ignore:
            recorded, replayed = ignore.strip(recorded, prefix), ignore.strip(replayed, prefix)
        return _Walk(translate or identity).run(recorded, replayed, prefix)
    except Exception as error:  # what is compared comes from strangers, and comparing must not end the run
        return [Difference(Kind.VALUE, prefix, recorded, replayed, _failure(error))]


def _failure(error: BaseException) -> str:
    endless = isinstance(error, (_EndlessError, RecursionError))
    return "could not be compared: " + ("too deep or too large" if endless else type(error).__name__)


_Pending: TypeAlias = tuple[Any, Any, Path]


class _Walk:
    """Walks two values side by side without recursion, so that depth is no limit."""

    __slots__ = ("found", "pending", "translate")

    def __init__(self, translate: Translate) -> None:
        self.translate = translate
        self.found: list[Difference] = []
        self.pending: list[_Pending | Difference] = []

    def run(self, recorded: Any, replayed: Any, path: Path) -> list[Difference]:
        self.pending.append((recorded, replayed, path))
        while self.pending:
            item = self.pending.pop()
            if len(self.found) == _MAX_DIFFERENCES:
                self.found.append(
                    Difference(Kind.VALUE, path, recorded, replayed, "differs in more places than are listed")
                )
                break
            if isinstance(item, Difference):
                self.found.append(item)
                continue
            left, right, at = item
            try:
                self.pending.extend(reversed(list(self.step(left, right, at))))
            except Exception as error:
                self.found.append(Difference(Kind.VALUE, at, left, right, _failure(error)))
        return self.found

    def step(self, left: Any, right: Any, path: Path) -> Iterator[_Pending | Difference]:
        if left is right or left is IGNORED or right is IGNORED:
            return iter(())
        kind = type(left)
        if len(path) > _MAX_DEPTH:
            raise RecursionError
        if kind is dict and type(right) is dict:
            return self.keys(left, right, path)
        if (kind is list or kind is tuple) and type(right) is kind:
            return self.items(left, right, path)
        return self.other(left, right, path)

    def keys(self, left: Mapping[Any, Any], right: Mapping[Any, Any], path: Path) -> Iterator[_Pending | Difference]:
        partners = {_typed(self.translate(key)): key for key in right}
        ahead = len(path) < _PRUNED_DEPTH
        for key, item in left.items():
            partner = partners.pop(_typed(key), ABSENT)
            if partner is ABSENT:
                yield Difference(Kind.REMOVED, (*path, key), recorded=item)
            elif not (ahead and _surely_equal(item, right[partner])):
                yield (item, right[partner], (*path, key))
        for key in partners.values():
            yield Difference(Kind.ADDED, (*path, key), replayed=right[key])

    def items(self, left: Any, right: Any, path: Path) -> Iterator[_Pending | Difference]:
        ahead = len(path) < _PRUNED_DEPTH
        for i, j in _align(left, right, self.translate):
            if j is None and i is not None:
                if left[i] is not IGNORED:
                    yield Difference(Kind.REMOVED, (*path, Index(i)), recorded=left[i])
            elif i is None and j is not None:
                if right[j] is not IGNORED:
                    yield Difference(Kind.ADDED, (*path, Index(j)), replayed=right[j])
            elif i is not None and j is not None and not (ahead and _surely_equal(left[i], right[j])):
                yield (left[i], right[j], (*path, Index(i)))

    def other(self, left: Any, right: Any, path: Path) -> Iterator[_Pending | Difference]:
        if type(left) in _EXACT or type(left) is float or isinstance(left, _TIMES):
            return self.scalar(left, right, path)
        ours, theirs = _as_fields(left), _as_fields(right)
        if ours is not None and theirs is not None:
            if ours.type != theirs.type:
                return iter([Difference(Kind.TYPE, path, left, right)])
            if ours.kind == "enum":
                return self.whole(ours.fields.get("name"), theirs.fields.get("name"), left, right, path)
            return iter([(dict(ours.fields), dict(theirs.fields), path)])
        if type(left) is not type(right):
            return iter([Difference(Kind.TYPE, path, left, right)])
        if isinstance(left, Mapping):
            return self.keys(left, right, path)
        if _told_by_attributes(left):
            return iter([(vars(left), vars(right), path)])
        return iter(_by_deepdiff(left, self.translate(right), right, path))

    def scalar(self, left: Any, right: Any, path: Path) -> Iterator[Difference]:
        if type(left) is not type(right):
            yield Difference(Kind.TYPE, path, left, right)
        elif not same(left, self.translate(right)):
            yield Difference(Kind.VALUE, path, left, right)

    def whole(self, ours: Any, theirs: Any, left: Any, right: Any, path: Path) -> Iterator[Difference]:
        if not same(ours, theirs):
            yield Difference(Kind.VALUE, path, left, right)


def _told_by_attributes(value: Any) -> bool:
    """Whether the value has no equality of its own, but attributes to go by."""
    return (
        getattr(type(value), "__eq__", None) is object.__eq__
        and bool(getattr(value, "__dict__", None))
        and not callable(value)
    )


def _typed(key: Hashable) -> Hashable:
    """A form of a key in which 1, 1.0 and True are three keys."""
    return key if type(key) is str else (type(key), key)


def _as_fields(value: Any) -> TypedData | None:
    """A dataclass, model, enum member or exception as the data that a record holds of it."""
    kind = type(value)
    if kind is TypedData:
        return value  # type: ignore[no-any-return]
    name = f"{kind.__module__}:{kind.__qualname__}"
    if isinstance(value, enum.Enum):
        return TypedData(name, {"name": value.name, "value": value.value}, "enum")
    if isinstance(value, BaseException):
        return TypedData(name, {"args": list(value.args), **vars(value)}, "error")
    fields = fields_of(value)
    return None if fields is None else TypedData(name, fields)


def _align(left: Any, right: Any, translate: Translate) -> Rows:
    """The places of two lists side by side; equal ends are passed over first and left out."""
    limit = min(len(left), len(right))
    if len(left) == len(right) == 1:
        return [(0, 0)]
    start = next((i for i in range(limit) if not _surely_equal(left[i], right[i])), limit)
    rest = limit - start
    end = next((i for i in range(rest) if not _surely_equal(left[-1 - i], right[-1 - i])), rest)
    ours, theirs = left[start : len(left) - end], right[start : len(right) - end]
    return [
        (None if i is None else start + i, None if j is None else start + j)
        for i, j in with_gaps(_equal_pairs(ours, theirs, translate), len(ours), len(theirs), _score(ours, theirs))
    ]


def _equal_pairs(ours: Any, theirs: Any, translate: Translate) -> list[tuple[int, int]]:
    if not ours or not theirs or len(ours) == len(theirs) == 1:
        return []
    try:
        return align_keys([freeze(item) for item in ours], [freeze(translate(item)) for item in theirs])
    except Exception:  # unhashable, endless, or deeper than Python recurses
        return []


def _score(ours: Any, theirs: Any) -> Callable[[int, int], float]:
    return lambda i, j: 1 + 8 * likeness(ours[i], theirs[j], _surely_equal)


def _surely_equal(left: Any, right: Any) -> bool:
    equal = left is right or _plain_equal(left, right)
    if equal is None:
        raise _EndlessError
    return equal


_DEEPDIFF_KINDS: Final = {
    "type_changes": Kind.TYPE,
    "dictionary_item_added": Kind.ADDED,
    "iterable_item_added": Kind.ADDED,
    "set_item_added": Kind.ADDED,
    "attribute_added": Kind.ADDED,
    "dictionary_item_removed": Kind.REMOVED,
    "iterable_item_removed": Kind.REMOVED,
    "set_item_removed": Kind.REMOVED,
    "attribute_removed": Kind.REMOVED,
}


def _by_deepdiff(recorded: Any, translated: Any, shown: Any, path: Path) -> list[Difference]:
    """What DeepDiff finds in two values of one type that is neither plain nor known.

    It passes over what it cannot judge (two locks, two lambdas) and reads iterators to their end, so it is asked
    neither about iterators nor believed when it finds nothing in two values that are not known to be equal.
    """
    if _consumable(recorded) or _consumable(translated):
        return [Difference(Kind.VALUE, path, recorded, shown, NOT_COMPARABLE)]
    if same(recorded, translated) or _are_one_number(recorded, translated):
        return []
    from deepdiff import DeepDiff

    tree = DeepDiff(
        recorded, translated, view="tree", ignore_order=False, threshold_to_diff_deeper=0, zip_ordered_iterables=True
    )
    found = [
        _from_level(_DEEPDIFF_KINDS.get(report, Kind.VALUE), level, path)
        for report, levels in tree.items()
        for level in levels
    ]
    found.sort(key=_place)  # of a set, DeepDiff tells the members in the order of their hashes
    return found or [Difference(Kind.VALUE, path, recorded, shown, NOT_COMPARABLE)]


def _are_one_number(left: Any, right: Any) -> bool:
    """NaN equals NaN in every type that has it."""
    return isinstance(left, numbers.Number) and repr(left) == repr(right)


def _place(found: Difference) -> tuple[str, bool, str]:
    return render(found.path), found.kind is Kind.ADDED, stable_text((found.recorded, found.replayed))


def _from_level(kind: Kind, level: Any, path: Path) -> Difference:
    steps = level.path(output_format="list")
    if isinstance(level.up.t1 if level.up else None, (set, frozenset)):  # members of a set have no place of their own
        steps = steps[:-1]
    inner = tuple(Index(step) if type(step) is int else step for step in steps)
    recorded = ABSENT if kind is Kind.ADDED else level.t1
    replayed = ABSENT if kind is Kind.REMOVED else level.t2
    return Difference(kind, (*path, *inner), recorded, replayed)


def _consumable(value: Any) -> bool:
    """Whether looking through the value would use it up."""
    if hasattr(type(value), "__next__"):
        return True
    if isinstance(value, (set, frozenset)):
        return any(hasattr(type(item), "__next__") for item in value)
    return any(hasattr(type(item), "__next__") for item in getattr(value, "__dict__", {}).values())
