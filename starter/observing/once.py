"""What the labelled source alone tells: computed once, for all methods that ask."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from starter.observing.observation import Source

Told = TypeVar("Told")


def once(learn: Callable[[Source], Told]) -> Callable[[Source], Told]:
    """Returns the same function, which computes its value once for a source and all that `only` makes of it.

    So it may read logits and labels, which every method sees, and nothing else. Values are kept in
    `Source.told`. Of two threads that ask at once both may compute; they find the same.
    """

    @wraps(learn)
    def told(source: Source) -> Told:
        name = f"{learn.__module__}.{learn.__qualname__}"
        if name not in source.told:
            source.told[name] = learn(source)
        value: Told = source.told[name]
        return value

    return told
