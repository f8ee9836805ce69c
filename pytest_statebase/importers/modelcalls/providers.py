"""Which API a model was asked through, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

Api: TypeAlias = Literal["chat", "responses", "messages", "gemini"]


class Place(NamedTuple):
    """An API and its address."""

    api: Api
    url: str
    is_known: bool = True
    """False where the trace does not tell the provider: most that have no API of their own speak like OpenAI."""


_CHAT = {
    "openai": "https://api.openai.com/v1",
    "azure": "https://unknown.openai.azure.com/openai/v1",
    "cerebras": "https://api.cerebras.ai/v1",
    "deepseek": "https://api.deepseek.com",
    "fireworks": "https://api.fireworks.ai/inference/v1",
    "github": "https://models.github.ai/inference",
    "groq": "https://api.groq.com/openai/v1",
    "mistral": "https://api.mistral.ai/v1",
    "moonshot": "https://api.moonshot.ai/v1",
    "ollama": "https://ollama.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "perplexity": "https://api.perplexity.ai",
    "together": "https://api.together.xyz/v1",
    "xai": "https://api.x.ai/v1",
}
"""Providers that speak OpenAI's chat completions, and before what path."""
_ALIASES = {
    "azure_openai": "azure",
    "azureopenai": "azure",
    "az": "azure",
    "google": "gemini",
    "google_genai": "gemini",
    "google_generative_ai": "gemini",
    "google_ai_studio": "gemini",
    "gemini": "gemini",
    "gcp": "gemini",
    "vertexai": "vertex",
    "vertex_ai": "vertex",
    "google_vertexai": "vertex",
    "google_vertex": "vertex",
    "mistral_ai": "mistral",
    "mistralai": "mistral",
    "x_ai": "xai",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "moonshot_ai": "moonshot",
    "claude": "anthropic",
}
_OTHERS = frozenset({"aws", "bedrock", "amazon", "cohere", "ibm", "watsonx", "sagemaker", "replicate", "huggingface"})
"""Providers with an API that is not written."""
_FAMILIES = (
    (re.compile(r"gpt-|chatgpt|o\d(-|$)|ft:gpt|codex"), "openai"),
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gemini|gemma"), "gemini"),
    (re.compile(r"mistral|codestral|magistral|ministral"), "mistral"),
    (re.compile(r"deepseek"), "deepseek"),
    (re.compile(r"grok"), "xai"),
)


def place_of(provider: str | None, model: str | None, attributes: Mapping[str, Any], name: str = "") -> Place | None:
    """Where the client of a provider asks a model; None for a provider with an API that is not written here.

    name: what the tracer calls the call, which may tell the API.
    """
    known = _provider(provider, model)
    plain = (model or "").rpartition("/")[2]
    if known == "anthropic":
        return Place("messages", "https://api.anthropic.com/v1/messages")
    if known == "gemini":
        named = quote(plain or "unknown", safe="")
        return Place("gemini", f"https://generativelanguage.googleapis.com/v1beta/models/{named}:generateContent")
    if known == "vertex":
        named = quote(plain or "unknown", safe="")
        return Place("gemini", f"https://aiplatform.googleapis.com/v1/publishers/google/models/{named}:generateContent")
    if known in _OTHERS:
        return None
    base = _CHAT.get(known or "")
    if base is None:
        return Place("chat", f"{_CHAT['openai']}/chat/completions", is_known=False)
    if known in ("openai", "azure") and _is_responses(provider, attributes, name):
        return Place("responses", f"{base}/responses")
    return Place("chat", f"{base}/chat/completions")


def _provider(provider: str | None, model: str | None) -> str | None:
    """By what the tracer says, else by the prefix of the model's name (`anthropic/claude…`), else by its family."""
    prefix = model.partition("/")[0] if model and "/" in model else None
    plain = (model or "").rpartition("/")[2].lower()
    family = next((known for pattern, known in _FAMILIES if pattern.match(plain)), None)
    for said in (provider, prefix):
        known = _named(said)
        if known == "vertex" and family == "anthropic":
            return family
        if known is not None:
            return known
        if said and _words(said)[0] in _OTHERS:
            return _words(said)[0]
    return family


def _named(said: str | None) -> str | None:
    if not said:
        return None
    words = _words(said)
    if "azure" in words[:2]:
        return "azure"
    if "vertex_ai" in words or "vertexai" in words or "vertex" in words:
        return "vertex"
    found = _ALIASES.get(words[0], words[0])
    return found if found in _CHAT or found in ("anthropic", "gemini", "vertex") else None


def _words(said: str) -> list[str]:
    return said.strip().lower().replace("-", "_").split(".") or [""]


def _is_responses(provider: str | None, attributes: Mapping[str, Any], name: str) -> bool:
    told = (provider, name, attributes.get("openai.api.type"), attributes.get("gen_ai.operation.name"))
    return any(isinstance(one, str) and "responses" in one.lower() for one in told)
