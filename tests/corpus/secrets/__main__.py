"""`python -m tests.corpus.secrets`: what redaction finds of the corpus, and what it leaves."""

from __future__ import annotations

from .scores import Score, scores


def main() -> None:
    """Print the figures by kind, and what went wrong."""
    found, left = scores()
    print("values that must go            found   of  recall")
    _show(found)
    wrong = sum(score.total - score.right for score in left.values())
    right = sum(score.right for score in found.values())
    print(f"\nprecision over the corpus: {right / (right + wrong):.3f}\n")
    print("look-alikes that must stay     stayed  of")
    _show(left)


def _show(by_kind: dict[str, Score]) -> None:
    for kind, score in by_kind.items():
        print(f"  {kind:<28} {score.right:>5} {score.total:>5}  {score.right / score.total:.3f}")
        for name in score.missed:
            print(f"      not: {name}")
    right, total = sum(one.right for one in by_kind.values()), sum(one.total for one in by_kind.values())
    print(f"  {'all':<28} {right:>5} {total:>5}  {right / total:.3f}")


if __name__ == "__main__":
    main()
