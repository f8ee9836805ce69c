"""What of HTTP may go live in a replay."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ...cassette import Cassette
from ...errors import OptionError
from .budget import Budget
from .models import ModelHosts
from .pending import Pending

HttpMode = Literal["none", "new_episodes", "all"]
ModelMode = Literal["recorded", "auto", "live"]


@dataclass(frozen=True, slots=True)
class WebOptions:
    """How requests of the agent are answered."""

    http: HttpMode = "none"
    """What but model calls goes live: nothing, what no recording answers, or everything."""
    model: ModelMode = "recorded"
    """Which model calls go live: none, those that no recording answers, or all."""
    hosts: ModelHosts = field(default_factory=ModelHosts)
    budget: Budget = field(default_factory=Budget)
    """Shared by all replays of a run."""
    pending: Path | None = None
    """Where answers are kept as they arrive."""
    reuse: bool = False
    """Answers of an earlier live run may be taken, which `--statebase-accept` then keeps."""

    @property
    def is_live(self) -> bool:
        """Whether anything may go live."""
        return self.http != "none" or self.model != "recorded"

    def pending_for(self, cassette: Cassette, fork: str, agent: str) -> Pending | None:
        """Where the live answers of one replay are kept; None where none come or are looked for."""
        if self.pending is None or not (self.is_live or self.reuse):
            return None
        name = str(cassette.path or cassette.record_path or cassette.session_id)
        return Pending(self.pending, name, fork, agent)


def web_options(
    *,
    http: str = "none",
    model: str = "recorded",
    model_hosts: Iterable[str] = (),
    max_model_calls: int | None = None,
    keep: str | os.PathLike[str] | None = None,
) -> WebOptions:
    """Options from what people write. Raises OptionError for what means nothing."""
    if http not in ("none", "new_episodes", "all"):
        raise OptionError(f"{http!r} is no mode of HTTP", remedy="Modes are none, new_episodes and all.")
    if model not in ("recorded", "auto", "live"):
        raise OptionError(f"{model!r} is no mode of models", remedy="Modes are recorded, auto and live.")
    return WebOptions(
        http,  # type: ignore[arg-type]
        model,  # type: ignore[arg-type]
        ModelHosts.parse(model_hosts),
        Budget(max_model_calls),
        None if keep is None else Path(keep),
    )
