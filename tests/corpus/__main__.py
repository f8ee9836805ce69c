"""Prints how well the comparison does on the labelled pairs: `python -m tests.corpus`."""

from __future__ import annotations

from .scores import PAIRS, lines, score

if __name__ == "__main__":
    print("\n".join(lines([score(pair) for pair in PAIRS])))
