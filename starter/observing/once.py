"""Cache for values that depend on the labelled source alone, so that all methods share one computation."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from starter.observing.observation import Source

Told = TypeVar("Told")


def once(learn: Callable[[Source], Told]) -> Callable[[Source], Told]:
    """Returns the function with a cache: its value is computed once per source, copies by `only` included.

    Therefore the function may read only logits and labels, which every method sees. Values are stored in
    `Source.told`. Two threads that call it at the same time may both compute the value, with the same result.
    """

    @wraps(learn)
    def told(source: Source) -> Told:
        name = f"{learn.__module__}.{learn.__qualname__}"
        if name not in source.told:
            source.told[name] = learn(source)
        value: Told = source.told[name]
        return value

    return told
