"""What the page has ready to be copied for a coding agent: a brief for each turn, or session, that does not pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..grouping import group_of_row, group_of_turn
from ..prose.brief import brief

if TYPE_CHECKING:
    from ..rows import Row
    from ..runs import Run

_MOST = 2_000_000
"""Characters of all briefs of a page; turns beyond have a short one that the page makes itself."""


class Briefs:
    """Writes the briefs of one page, as long as there is room for them."""

    def __init__(self, made: Run) -> None:
        self._made = made
        self._left = _MOST

    def added(self, shown: Mapping[str, Any], row: Row, anchor: str) -> dict[str, Any]:
        """`shown`, which is `row` as the page has it, with `brief` in the turns that do not pass.

        It is in the row itself where no turn is to blame: the replay could not begin, or did not finish.
        """
        if group_of_row(row).passes or self._left <= 0:
            return dict(shown)
        turns: Sequence[Row] = row["turns"]
        if all(map(_is_fine, turns)):
            return {**shown, "brief": self._brief(row, None, anchor)}
        pairs = zip(shown["turns"], turns, strict=True)
        return {**shown, "turns": [self._turn(one, row, turn, anchor) for one, turn in pairs]}

    def _turn(self, shown: Row, row: Row, turn: Row, anchor: str) -> Row:
        if _is_fine(turn) or self._left <= 0:
            return shown
        return {**shown, "brief": self._brief(row, turn, anchor)}

    def _brief(self, row: Row, turn: Row | None, anchor: str) -> str:
        text = brief(self._made, row, turn, anchor=anchor)
        self._left -= len(text)
        return text


def _is_fine(turn: Row) -> bool:
    return group_of_turn(turn).passes or bool(turn.get("beyond_until"))
