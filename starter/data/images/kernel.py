"""Numba's compiler for inner loops, which keeps what it has compiled where it can."""

from collections.abc import Callable
from typing import Any

from numba import njit


def kernel(function: Callable[..., Any]) -> Any:
    """Returns the function, compiled on first use and kept beside its file or in the user's cache folder."""
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither folder can be written
        return njit(nogil=True)(function)
