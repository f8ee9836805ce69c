"""Model calls that a trace tells → the HTTP exchanges that a provider's client would have made of them."""

from __future__ import annotations

from .making import Made, exchange_of, model_calls

__all__ = ["Made", "exchange_of", "model_calls"]
