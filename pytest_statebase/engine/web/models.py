"""Calls of models: which requests are some, and what of a request is prompt, conversation, tools and parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from ...compare import IgnoreRules
from ...compare.paths import Index, Path
from ...wire.exchange import Request
from ...wire.hosts import Hosts, plain_host

Dialect: TypeAlias = Literal["chat", "responses", "messages", "gemini", "bedrock", "other"]

_PROVIDERS = frozenset({
    "ai-gateway.vercel.sh", "aiplatform.googleapis.com", "api-inference.huggingface.co", "api.ai21.com",
    "api.anthropic.com", "api.cerebras.ai", "api.cohere.ai", "api.cohere.com", "api.deepinfra.com", "api.deepseek.com",
    "api.fireworks.ai", "api.githubcopilot.com", "api.groq.com", "api.jina.ai", "api.minimax.io", "api.mistral.ai",
    "api.moonshot.ai", "api.moonshot.cn", "api.novita.ai", "api.openai.com", "api.perplexity.ai", "api.sambanova.ai",
    "api.siliconflow.com", "api.studio.nebius.com", "api.together.ai", "api.together.xyz", "api.upstage.ai",
    "api.voyageai.com", "api.x.ai", "api.z.ai", "codestral.mistral.ai", "dashscope-intl.aliyuncs.com",
    "dashscope.aliyuncs.com", "eu.inference.heroku.com", "gateway.ai.cloudflare.com",
    "generativelanguage.googleapis.com", "inference.baseten.co", "integrate.api.nvidia.com", "models.github.ai",
    "models.inference.ai.azure.com", "ollama.com", "open.bigmodel.cn", "openrouter.ai", "router.huggingface.co",
    "us.inference.heroku.com",
})  # fmt: skip
_REGIONAL = re.compile(
    r"""(?:
      .+\.openai\.azure\.(?:com|us|cn) | .+\.(?:services\.ai|cognitiveservices|models\.ai)\.azure\.com
    | [a-z0-9-]+\.api\.openai\.com | [a-z0-9-]+\.api\.x\.ai | .+\.endpoints\.huggingface\.cloud
    | [a-z0-9-]+-aiplatform\.googleapis\.com | aiplatform\.[a-z0-9-]+\.rep\.googleapis\.com
    | bedrock-(?:runtime|mantle)(?:-fips)?\.[a-z0-9-]+\.(?:amazonaws\.com(?:\.cn)?|api\.aws)
    )\Z""",
    re.VERBOSE,
)
_ENDS: tuple[tuple[str, Dialect], ...] = (
    ("/chat/completions", "chat"), ("/api/chat", "chat"), ("/v1/chat", "chat"), ("/v2/chat", "chat"),
    ("/responses", "responses"), ("/responses/compact", "responses"), ("/responses/input_tokens", "responses"),
    ("/messages", "messages"), ("/messages/count_tokens", "messages"), (":rawpredict", "messages"),
    (":streamrawpredict", "messages"), ("/invoke", "messages"), ("/invoke-with-response-stream", "messages"),
    (":generatecontent", "gemini"), (":streamgeneratecontent", "gemini"), (":counttokens", "gemini"),
    (":embedcontent", "gemini"), (":batchembedcontents", "gemini"),
    ("/converse", "bedrock"), ("/converse-stream", "bedrock"), ("/count-tokens", "bedrock"),
    ("/completions", "other"), ("/completion", "other"), ("/embeddings", "other"), ("/moderations", "other"),
    ("/rerank", "other"), ("/generate", "other"), ("/generate_stream", "other"), ("/embed", "other"),
    (":predict", "other"), ("/images/generations", "other"), ("/images/edits", "other"), ("/audio/speech", "other"),
    ("/audio/transcriptions", "other"), ("/audio/translations", "other"),
)  # fmt: skip
_ANY_END = tuple(end for end, _ in _ENDS)
_HUGGING_FACE = re.compile(r"/models/[^/]+/[^/]+(?:/pipeline/[\w-]+)?\Z")
_KEPT_MESSAGES = re.compile(r"/threads/[^/]+/messages\Z")
"""Stored by OpenAI's assistants, and answered by nobody."""
_MODEL = re.compile(
    r"/(?:models?|deployments)/(.+?)"
    r"(?=:[^:/]+\Z|/(?:converse|invoke|count|chat|embeddings|completions|responses|images|audio)\b|\Z)"
)


@dataclass(frozen=True, slots=True)
class ModelHosts:
    """Which requests are calls of models: those of known providers, and of the hosts that are named."""

    hosts: Hosts = field(default_factory=Hosts)

    @classmethod
    def parse(cls, texts: Iterable[str]) -> ModelHosts:
        """Further hosts as `host` or `host:port`. Raises OptionError for what is none."""
        return cls(Hosts.parse(texts))

    def is_model(self, request: Request) -> bool:
        """Whether a request asks a model."""
        if request.method.upper() != "POST" or dialect_of(request) is None:
            return False
        host = plain_host(request.host)
        return host in _PROVIDERS or bool(_REGIONAL.match(host)) or self.hosts.matches(host, request.port)


def dialect_of(request: Request) -> Dialect | None:
    """Which API a request speaks, by the end of its path; None where that is none of a model's."""
    path = request.parts.path.rstrip("/").lower()
    if not path.endswith(_ANY_END):
        is_inference = request.host.endswith(".huggingface.co") and _HUGGING_FACE.search(path)
        return "other" if is_inference else None
    if _KEPT_MESSAGES.search(path):
        return None
    return next(dialect for end, dialect in _ENDS if path.endswith(end))


class Piece(NamedTuple):
    """A text or message, and its place in the request's body."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model in its parts."""

    dialect: Dialect
    endpoint: str
    """The address; `{model}` stands for a model that is named in it."""
    model: str | None
    system: tuple[Piece, ...]
    """The texts of the instructions, wherever they stand."""
    messages: tuple[Piece, ...]
    """The conversation without them, and what of it the provider keeps (`previous_response_id`)."""
    tools: dict[str, Any]
    """By name."""
    parameters: dict[str, Any]
    """All the rest: temperature, format of the answer, query, marks of what to cache."""


_SYSTEM_KEYS = ("system", "instructions", "system_instruction", "systemInstruction", "preamble")
_MESSAGE_KEYS = (
    "previous_response_id", "conversation", "container", "chat_history", "messages", "input", "contents", "content",
    "prompt", "suffix", "inputs", "inputText", "message", "texts", "query", "documents", "requests", "instances",
    "images",
)  # fmt: skip
_TOOL_KEYS = ("tools", "functions", "toolConfig")
_SYSTEM_ROLES = ("system", "developer")
_CACHE_MARKS = frozenset({"cache_control", "cachePoint"})


def model_request(request: Request, rules: IgnoreRules | None = None) -> ModelRequest:
    """The parts of a request to a model, without what `rules` ignore; one that is no JSON object has but parameters."""
    dialect = dialect_of(request) or "other"
    endpoint, model = _endpoint(request)
    body = body_of(request)
    query: Any = dict(request.query)
    if rules:
        body, query = rules.strip(body, ("http", "body")), rules.strip(query, ("http", "query"))
    query = {f"query.{name}": value for name, value in query.items()} if isinstance(query, dict) else {}
    if not isinstance(body, dict):
        return ModelRequest(dialect, endpoint, model, (), (Piece(("body",), body),) if body else (), {}, query)
    left = dict(body)
    if isinstance(left.get("model"), str):
        model = left.pop("model")
    system = [piece for key in _SYSTEM_KEYS if key in left for piece in _texts(left.pop(key), (key,))]
    messages: list[Piece] = []
    for key in _MESSAGE_KEYS:
        if key in left and not (key == "prompt" and isinstance(left[key], dict)):  # one that the provider keeps
            _sort_messages(left.pop(key), key, system, messages)
    tools = {name: tool for key in _TOOL_KEYS for name, tool in _tools(_taken_tools(left, key))}
    marks = _marks(body)
    parameters = {**left, **query, **({"cache": marks} if marks else {})}
    return ModelRequest(dialect, endpoint, model, tuple(system), tuple(messages), tools, parameters)


def body_of(request: Request) -> Any:
    """The body as JSON, or as text where it is none."""
    try:
        return json.loads(request.body)
    except ValueError:
        return request.body.decode("utf-8", "replace")


def _endpoint(request: Request) -> tuple[str, str | None]:
    """The address without the model that some have in it, and that model."""
    address, path = request.address, request.parts.path
    found = _MODEL.search(path)
    if found is None:
        return address, None
    named = f"{path[: found.start(1)]}{{model}}{path[found.end(1) :]}"
    return address.removesuffix(path) + named, unquote(found[1])


def _sort_messages(value: Any, key: str, system: list[Piece], messages: list[Piece]) -> None:
    if not isinstance(value, list):
        messages.append(Piece((key,), _unmarked(value)))
        return
    for at, message in enumerate(value):
        path: Path = (key, Index(at))
        if isinstance(message, dict) and message.get("role") in _SYSTEM_ROLES:
            system += _texts(message.get("content"), (*path, "content"))
        else:
            messages.append(Piece(path, _unmarked(message)))


def _texts(value: Any, path: Path) -> Iterator[Piece]:
    """Every text of an instruction, whatever it is wrapped in; what is no text as it is."""
    if isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, (*path, Index(at)))
    elif isinstance(value, dict):
        for key in ("text", "parts", "content"):
            if key in value:
                yield from _texts(value[key], (*path, key))
                return
        if value and not _is_nothing_but_marks(value):
            yield Piece(path, value)
    elif value is not None and value != "":
        yield Piece(path, value)


def _unmarked(value: Any) -> Any:
    """Without the marks of what to cache, which say nothing."""
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if not _is_mark(key, item)}
    if isinstance(value, list):
        return [_unmarked(item) for item in value if not _is_nothing_but_marks(item)]
    return value


def _marks(value: Any) -> list[Any]:
    """The marks of what to cache, in order."""
    if isinstance(value, dict):
        told = ([item] if _is_mark(key, item) else _marks(item) for key, item in value.items())
        return [mark for marks in told for mark in marks]
    return [mark for item in value for mark in _marks(item)] if isinstance(value, list) else []


def _is_mark(key: str, value: Any) -> bool:
    return key in _CACHE_MARKS and isinstance(value, dict) and "type" in value


def _is_nothing_but_marks(value: Any) -> bool:
    return isinstance(value, dict) and bool(value) and all(_is_mark(key, item) for key, item in value.items())


def _taken_tools(left: dict[str, Any], key: str) -> Any:
    """The tools under a key, taken out. `toolConfig` holds them in one dialect, and how to choose in another."""
    value = left.get(key)
    if key != "toolConfig":
        return left.pop(key, None)
    if not isinstance(value, dict) or "tools" not in value:
        return None
    left[key] = {name: item for name, item in value.items() if name != "tools"}
    if not left[key]:
        del left[key]
    return value["tools"]


def _tools(value: Any) -> Iterator[tuple[str, Any]]:
    """Tools by name, each freed of what it is wrapped in; the second of one name is `name#2`."""
    seen: dict[str, int] = {}
    for tool in _declared(value):
        name = _name(tool)
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name}#{seen[name]}"), _unmarked(tool)


def _name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return str(tool)
    return str(tool.get("name") or tool.get("type") or next(iter(tool), "tool"))


def _declared(value: Any) -> Iterator[Any]:
    for tool in value if isinstance(value, list) else ():
        if not isinstance(tool, dict):
            yield tool
            continue
        for key in ("functionDeclarations", "function_declarations"):
            if isinstance(tool.get(key), list):
                yield from _declared(tool[key])
                tool = {name: item for name, item in tool.items() if name != key}
        wrapped = next((key for key in ("function", "toolSpec") if isinstance(tool.get(key), dict)), None)
        if wrapped is not None:
            yield {**{name: item for name, item in tool.items() if name != wrapped}, **tool[wrapped]}
        elif tool and not _is_nothing_but_marks(tool):
            yield tool
