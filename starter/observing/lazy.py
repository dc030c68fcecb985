"""A sequence with members computed on access, so a thousand sets need the memory of one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, overload

Made = TypeVar("Made", covariant=True)


@dataclass(frozen=True)
class Lazy(Sequence[Made], Generic[Made]):
    """A sequence of the results of `make` on each of `sources`, computed again on each access.

    Attributes:
        sources: Arguments of `make`, one per member.
        make: Function that computes a member.

    >>> squares = Lazy((1, 2, 3), lambda n: n * n)
    >>> squares[-1], list(squares[:2])
    (9, [1, 4])
    """

    sources: Sequence[Any]
    make: Callable[[Any], Made]

    @overload
    def __getitem__(self, index: int) -> Made: ...
    @overload
    def __getitem__(self, index: slice) -> "Lazy[Made]": ...
    def __getitem__(self, index: int | slice) -> "Made | Lazy[Made]":
        if isinstance(index, slice):
            return replace(self, sources=self.sources[index])
        return self.make(self.sources[index])

    def __len__(self) -> int:
        return len(self.sources)
