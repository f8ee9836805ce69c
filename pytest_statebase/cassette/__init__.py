"""The file format: records, plans, defaults and seals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import loader

if TYPE_CHECKING:
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

_HOMES = {
    "ACCEPTED_SUFFIX": "accepted",
    "Accepted": "accepted",
    "AcceptedCall": "accepted",
    "AcceptedTurn": "accepted",
    "Answer": "plan",
    "CallExpect": "plan",
    "Cassette": "model",
    "Expect": "plan",
    "HttpPlan": "plan",
    "HttpRecording": "http",
    "Known": "plan",
    "OutputExpect": "plan",
    "PLAN_SUFFIX": "model",
    "Plan": "plan",
    "RECORD_SUFFIX": "model",
    "ReplaySpec": "plan",
    "Retention": "plan",
    "StubsFrom": "plan",
    "ToolRules": "plan",
    "ToolsExpect": "plan",
    "Verification": "sealing",
    "Where": "plan",
    "http_bytes": "httpwrite",
    "load_cassette": "model",
    "read_accepted": "accepted",
    "read_http": "http",
    "read_plan": "planread",
    "read_record": "record",
    "record_bytes": "record",
    "seal": "record",
    "set_secret_names": "redaction",
    "verify": "record",
    "write_http": "httpwrite",
    "write_plan": "planwrite",
    "write_record": "record",
}

__getattr__ = loader(__name__, _HOMES)
