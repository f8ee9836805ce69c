"""Recorded and replayed side by side: alignment, differences, verdicts."""

from .align import Alignment, align
from .diff import Difference, diff
from .draft import draft_expect
from .expect import check, check_plan
from .model import (
    AlignedCall,
    Divergence,
    Facet,
    Group,
    Kind,
    Observed,
    ReplayedCall,
    ReplayResult,
    Source,
    TurnResult,
    Verdict,
)
from .paths import IgnoreRules
from .verdicts import judge

__all__ = [
    "AlignedCall",
    "Alignment",
    "Difference",
    "Divergence",
    "Facet",
    "Group",
    "IgnoreRules",
    "Kind",
    "Observed",
    "ReplayResult",
    "ReplayedCall",
    "Source",
    "TurnResult",
    "Verdict",
    "align",
    "check",
    "check_plan",
    "diff",
    "draft_expect",
    "judge",
]
