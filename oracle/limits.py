"""What a parameter of an oracle may be: checked when it is fitted, so that a message names it."""

import reprlib

import numpy as np

from submission.errors import UnusableInput

UNDERTRAINED = ("", "drawn again", "one answer")
"""A network learnt; gave all training images one answer and was drawn again; did so however often it was."""
TOKENS = ("indicators", "one")
"""What ORA-B attends over: a token for each indicator, or one for all."""


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raises UnusableInput where `value` is not a whole number in low..high."""
    if not isinstance(value, int | np.integer) or not low <= value <= high:
        raise UnusableInput(f"{name} must be a whole number in {low:,}..{high:,}, got {reprlib.repr(value)}")


def check_real(name: str, value: float, fits: bool, needed: str) -> None:
    """Raises UnusableInput where a number does not fit what is `needed`."""
    if not fits:
        raise UnusableInput(f"{name} must be {needed}, got {value}")
