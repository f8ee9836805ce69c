"""What a trace can lack, and the setting of its tracer that would mend it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..grades import Reason

_OTEL_CONTENT = (
    "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY and "
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental (older instrumentations: "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)."
)
_CONTENT: Mapping[str, str] = {
    "": _OTEL_CONTENT,
    "openinference": "Unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS, OPENINFERENCE_HIDE_INPUT_MESSAGES, "
    "OPENINFERENCE_HIDE_OUTPUT_MESSAGES, OPENINFERENCE_HIDE_INPUT_TEXT and OPENINFERENCE_HIDE_OUTPUT_TEXT.",
    "traceloop": "Set TRACELOOP_TRACE_CONTENT=true.",
    "logfire": "Instrument with InstrumentationSettings(include_content=True).",
    "vercel": "Set experimental_telemetry: {isEnabled: true, recordInputs: true, recordOutputs: true}.",
    "any-agent": "Trace with any-agent 1.0 or newer, which keeps inputs and outputs.",
    "langfuse": "Trace without a mask, and with capture_input and capture_output left on "
    "(LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=true).",
    "langsmith": "Unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS.",
}
_TOOLS: Mapping[str, str] = {
    "": "Have the framework make execute_tool spans with gen_ai.tool.call.arguments and gen_ai.tool.call.result: both "
    "are kept only where content is captured (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT).",
    "openinference": "Instrument the framework and not only the model's client, so that tools get spans of the kind "
    "TOOL, and unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS.",
    "traceloop": "Decorate the tools with @tool of traceloop.sdk.decorators, and set TRACELOOP_TRACE_CONTENT=true.",
    "langfuse": 'Observe the tools as well: @observe(as_type="tool").',
    "langsmith": 'Trace the tools as well: @traceable(run_type="tool").',
}
_LENGTH: Mapping[str, str] = {
    "": "Unset OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT and OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT, or raise them; look for a "
    "limit of the collector or the backend, too.",
}
_COUNT: Mapping[str, str] = {
    "": "Raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and OTEL_SPAN_EVENT_COUNT_LIMIT (128 each where they are not set).",
}
_SPANS: Mapping[str, str] = {
    "": "Sample whole traces (OTEL_TRACES_SAMPLER=parentbased_always_on), export all of a trace together, and raise "
    "OTEL_BSP_MAX_QUEUE_SIZE where the exporter drops spans.",
    "langfuse": "Set LANGFUSE_SAMPLE_RATE=1 and flush before the process ends.",
    "langsmith": "Set LANGSMITH_TRACING_SAMPLING_RATE=1 and flush before the process ends.",
}

REASONS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "no-content": ("neither what was said nor what was answered was kept", _CONTENT),
    "no-input": ("what the user said was not kept", _CONTENT),
    "no-output": ("what the agent answered was not kept", _CONTENT),
    "no-arguments": ("the arguments of calls were not kept", _TOOLS),
    "no-results": ("the results of calls were not kept", _TOOLS),
    "truncated": ("values were cut off", _LENGTH),
    "dropped": ("attributes or events were dropped", _COUNT),
    "missing-spans": ("spans are missing", _SPANS),
}
"""By kind: what is missing, and for each tracer what would mend it (`""` for any other)."""


def reason(kind: str, tracer: str, detail: str = "") -> Reason:
    """A reason of a grade.

    kind: a key of `REASONS`. tracer: as in `Span.tracer`. detail: how many, where.
    """
    text, remedies = REASONS[kind]
    return Reason(kind, f"{text} ({detail})" if detail else text, remedies.get(tracer, remedies[""]))
