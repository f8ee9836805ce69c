from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests import litter


@pytest.fixture(scope="module", autouse=True)
def old_objects_at_rest() -> Iterator[None]:
    """These tests collect garbage often; what other tests have left in the process is not looked through each time."""
    litter.collect()
    gc.freeze()
    yield
    gc.unfreeze()
