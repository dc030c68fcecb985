"""Where the images of a planned set come from, as ``private/build.json`` records it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

FIELDS = {
    "base": (),
    "turn": ("turn", "turns", "seed"),
    "natural": ("family",),
    "path": ("path",),
}
"""The fields of each kind."""


@dataclass(frozen=True)
class Origin:
    """Where a set's images come from. Fields that its kind does not have keep their defaults.

    Attributes:
        kind: "base", all images of the set's part; "turn", its share of them in rounds of so many sets, such
            that no image recurs before all have been drawn; "natural", digits that nobody distorted; "path",
            the images at a path.
        turn: Number of the set among those that take turns, from 0.
        turns: Number of sets in a round.
        seed: Seed of the order of each round.
        family: Family of natural shift.
        path: The path, as it was given or found.
    """

    kind: Literal["base", "turn", "natural", "path"]
    turn: int = 0
    turns: int = 1
    seed: int = 0
    family: str = ""
    path: str = ""

    @property
    def round(self) -> int:
        """The number of the round in which the set has its turn, from 0."""
        return self.turn // self.turns

    def to_json(self) -> dict[str, str | int]:
        """Returns plain JSON values: the kind and its fields.

        >>> Origin("natural", family="ink").to_json()
        {'kind': 'natural', 'family': 'ink'}
        """
        return {"kind": self.kind, **{name: getattr(self, name) for name in FIELDS[self.kind]}}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Origin":
        """Returns the origin that `to_json` wrote.

        >>> Origin.from_json({"kind": "turn", "turn": 3, "turns": 8, "seed": 117}).round
        0
        """
        return cls(record["kind"], **{name: record[name] for name in FIELDS[record["kind"]]})
