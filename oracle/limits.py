"""Checks of an oracle's parameters, made when it is fitted; a message names the parameter."""

import reprlib

import numpy as np

from submission.errors import UnusableInput

UNDERTRAINED = ("", "drawn again", "one answer")
"""A network learnt; gave all training images one answer and was drawn again; did so however often it was."""
TOKENS = ("indicators", "one")
"""The tokens of ORA-B's attention: one for each indicator, or one for all."""


def check_whole(name: str, value: object, low: int, high: int) -> None:
    """Raise UnusableInput if `value` is not a whole number in low..high."""
    if not isinstance(value, int | np.integer) or not low <= value <= high:
        raise UnusableInput(f"{name} must be a whole number in {low:,}..{high:,}, got {reprlib.repr(value)}")


def check_real(name: str, value: float, fits: bool, needed: str) -> None:
    """Raise UnusableInput, which says what is `needed`, if `fits` is False."""
    if not fits:
        raise UnusableInput(f"{name} must be {needed}, got {value}")
