"""Parameters of which some are slow."""

from collections.abc import Iterable

import pytest


def some_slow(names: Iterable[str], *slow: str) -> list[object]:
    """The names, those of `slow` marked."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in slow else name for name in names]
