"""The file format: records, plans, defaults and seals."""

from __future__ import annotations

from .accepted import ACCEPTED_SUFFIX, Accepted, AcceptedCall, AcceptedTurn, read_accepted
from .http import HttpRecording, read_http
from .httpwrite import http_bytes, write_http
from .model import PLAN_SUFFIX, RECORD_SUFFIX, Cassette, load_cassette
from .plan import (
    Answer,
    CallExpect,
    Expect,
    HttpPlan,
    Known,
    OutputExpect,
    Plan,
    ReplaySpec,
    Retention,
    StubsFrom,
    ToolRules,
    ToolsExpect,
    Where,
)
from .planread import read_plan
from .planwrite import write_plan
from .record import read_record, record_bytes, seal, verify, write_record
from .redaction import set_secret_names
from .sealing import Verification

__all__ = [
    "ACCEPTED_SUFFIX",
    "PLAN_SUFFIX",
    "RECORD_SUFFIX",
    "Accepted",
    "AcceptedCall",
    "AcceptedTurn",
    "Answer",
    "CallExpect",
    "Cassette",
    "Expect",
    "HttpPlan",
    "HttpRecording",
    "Known",
    "OutputExpect",
    "Plan",
    "ReplaySpec",
    "Retention",
    "StubsFrom",
    "ToolRules",
    "ToolsExpect",
    "Verification",
    "Where",
    "http_bytes",
    "load_cassette",
    "read_accepted",
    "read_http",
    "read_plan",
    "read_record",
    "record_bytes",
    "seal",
    "set_secret_names",
    "verify",
    "write_http",
    "write_plan",
    "write_record",
]
