"""The file format: records, plans, defaults and seals."""

from __future__ import annotations

from .model import PLAN_SUFFIX, RECORD_SUFFIX, Cassette, load_cassette
from .plan import Answer, Expect, OutputExpect, Plan, ReplaySpec, ToolRules, ToolsExpect, Where
from .planread import read_plan
from .planwrite import write_plan
from .record import read_record, record_bytes, seal, verify, write_record
from .sealing import Verification

__all__ = [
    "PLAN_SUFFIX",
    "RECORD_SUFFIX",
    "Answer",
    "Cassette",
    "Expect",
    "OutputExpect",
    "Plan",
    "ReplaySpec",
    "ToolRules",
    "ToolsExpect",
    "Verification",
    "Where",
    "load_cassette",
    "read_plan",
    "read_record",
    "record_bytes",
    "seal",
    "verify",
    "write_plan",
    "write_record",
]
