"""The plan of mixes: the OOD sets of each part, the sizes of mixes, and their draw."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from starter.sets.mix import LEAST, Mix, family
from submission.errors import UnusableInput
from submission.random import OOD_FAMILIES

SHARES = (0.2, 0.8)
"""Range of a hidden IND share, which is drawn uniformly."""
LEAST_FAMILIES = 5
FULL = round(LEAST / SHARES[0])
"""Smallest mix for which at least `LEAST` images of either kind leave the range of shares unrestricted."""
HIDDEN = "hidden"
ANY = "any"
_MARGIN = 3.0
"""Margin for the number of IND images in all mixes, in its standard deviations."""
_DRAWS = 1000
_STEPS = 1000


@dataclass(frozen=True)
class Sizes:
    """The sizes of mixes.

    Attributes:
        low, high: Smallest and largest number of a mix's images, drawn uniformly; with the ratio `ANY`, of
            its IND and of its OOD images (appendix C of Gscore).
        ratio: `HIDDEN` (the IND share is uniform in `SHARES`), "A:B" (IND to OOD), or `ANY`.

    Raises:
        UnusableInput: a value cannot be used; the message names its option.
    """

    low: int
    high: int
    ratio: str = HIDDEN

    def __post_init__(self) -> None:
        if not self.least <= self.low <= self.high:
            named = "" if self.ratio in (HIDDEN, ANY) else f" of {self.ratio}"
            raise UnusableInput(
                f"--sizes (or --set-size) must be LOW HIGH with {self.least} <= LOW <= HIGH, since a mix"
                f"{named} has {LEAST} images of each kind at least; got {self.low} {self.high}"
            )

    @property
    def least(self) -> int:
        """Smallest size for which every mix has `LEAST` images of either kind in its ratio."""
        if self.ratio in (HIDDEN, ANY):
            return LEAST if self.ratio == ANY else 2 * LEAST
        share = self._share()
        return math.ceil(round(LEAST / min(share, 1 - share), 6))

    @property
    def counted(self) -> str:
        """What a size is the number of."""
        return "images of each kind" if self.ratio == ANY else "images"

    def _share(self) -> float:
        ind, colon, ood = self.ratio.partition(":")
        try:
            a, b = float(ind), float(ood)
        except ValueError:
            a = b = 0.0
        if not colon or not (0 < a < np.inf and 0 < b < np.inf):
            raise UnusableInput(f"--ratio must be {HIDDEN}, {ANY} or IND:OOD as in 1:1, got {self.ratio!r}")
        return a / (a + b)

    @property
    def most(self) -> tuple[int, int]:
        """Largest numbers of IND and of OOD images in a mix."""
        if self.ratio == ANY:
            return self.high, self.high
        low, high = self._range(self.high)
        return round(self.high * high), self.high - round(self.high * low)

    def needed(self, count: int) -> int:
        """Returns the number of IND images for `count` mixes without common images.

        It is enough in 999 of 1,000 draws.
        """
        sizes = np.unique(np.linspace(self.low, self.high, _STEPS).round())
        low, high = np.array([[1, 1] if self.ratio == ANY else self._range(int(n)) for n in sizes]).T
        mean = np.mean(sizes * (low + high) / 2)
        square = np.mean(sizes**2 * ((low + high) ** 2 / 4 + (high - low) ** 2 / 12))
        spread = np.sqrt(max(count * (square - mean**2), 0))
        return min(count * self.most[0], int(np.ceil(count * mean + _MARGIN * spread)))

    def draw(self, rng: np.random.Generator) -> tuple[int, int]:
        """Returns the numbers of IND and OOD images of a mix, each >= `LEAST`, independent of the pools."""
        if self.ratio == ANY:
            return self._count(rng), self._count(rng)
        n = self._count(rng)
        ind = int(np.clip(round(n * rng.uniform(*self._range(n))), LEAST, n - LEAST))
        return ind, n - ind

    def _range(self, n: int) -> tuple[float, float]:
        """Returns the smallest and the largest IND share of a mix of `n` images."""
        low, high = SHARES if self.ratio == HIDDEN else (self._share(),) * 2
        return max(min(low, 1 - LEAST / n), LEAST / n), min(max(high, LEAST / n), 1 - LEAST / n)

    def _count(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.low, self.high, endpoint=True))


def draw_mixes(
    count: int, sizes: Sizes, ood_pools: Mapping[str, int], rng: np.random.Generator, prefix: str
) -> list[Mix]:
    """Returns `count` mixes named ``<prefix>_0001`` and so on, with all OOD sets equally often, shuffled.

    Two mixes may share images, which is allowed for mixes with public labels.

    Args:
        count: Number of mixes.
        sizes: Sizes of the mixes.
        ood_pools: Number of images of each OOD set, by name.
        rng: Random generator of all draws.
        prefix: Prefix of the names.
    """
    names: list[str] = []
    while len(names) < count:
        names += [sorted(ood_pools)[i] for i in rng.permutation(len(ood_pools))]
    return [_mix(prefix, number, name, sizes, rng) for number, name in enumerate(names[:count], start=1)]


def draw_apart(
    count: int,
    sizes: Sizes,
    ind_pool: int,
    ood_pools: Mapping[str, int],
    rng: np.random.Generator,
    prefix: str,
) -> list[Mix]:
    """Returns `count` mixes for which images can be drawn without sharing any; see `draw_mixes`.

    An OOD set is used while it has at least as many images as the largest mix needs.

    Args:
        count: Number of mixes.
        sizes: Sizes of the mixes.
        ind_pool: Number of IND images.
        ood_pools: Number of images of each OOD set, by name.
        rng: Random generator of all draws.
        prefix: Prefix of the names.

    Raises:
        ValueError: there are too few images; see `room.fit`.
    """
    _, most = sizes.most
    names: list[str] = []
    room = {name: pool // most for name, pool in sorted(ood_pools.items())}
    while len(names) < count and any(room.values()):
        turn = [name for name in room if room[name]]
        names += [turn[i] for i in rng.permutation(len(turn))]
        room = {name: left - (name in turn) for name, left in room.items()}
    for _ in range(_DRAWS if len(names) >= count else 0):
        mixes = [_mix(prefix, i, name, sizes, rng) for i, name in enumerate(names[:count], start=1)]
        if sum(mix.ind for mix in mixes) <= ind_pool:
            return mixes
    raise ValueError(f"{count} mixes cannot be drawn from {ind_pool} IND and {dict(ood_pools)} OOD images")


def _mix(prefix: str, number: int, ood_set: str, sizes: Sizes, rng: np.random.Generator) -> Mix:
    ind, ood = sizes.draw(rng)
    return Mix(f"{prefix}_{number:04d}", int(rng.integers(2**63)), ood_set, ind, ood)


def split_families(names: Sequence[str], seed: int) -> dict[str, list[str]]:
    """Returns OOD sets by part, with each family in one part.

    A tenth of the families is "val", three tenths are "test", the others "train", with the largest family.
    The seed is public; the images of hidden mixes are not drawn from it.

    Raises:
        UnusableInput: there are too few families.
    """
    members: dict[str, list[str]] = {}
    for name in sorted(names):
        members.setdefault(family(name), []).append(name)
    if len(members) < LEAST_FAMILIES:
        raise UnusableInput(
            f"OOD sets of {len(members)} families ({', '.join(members)}), {LEAST_FAMILIES} are needed; a "
            "family is a set's name up to the first underscore"
        )
    largest = max(members, key=lambda name: len(members[name]))
    others = [name for name in members if name != largest]
    order = [others[i] for i in OOD_FAMILIES(seed).permutation(len(others))]
    val, test = max(1, round(0.1 * len(members))), max(2, round(0.3 * len(members)))
    chosen = {"train": [largest, *order[val + test :]], "val": order[:val], "test": order[val : val + test]}
    return {part: sorted(name for each in chosen[part] for name in members[each]) for part in chosen}


def part_sets(names: Sequence[str], seed: int, tested: Sequence[str] = ()) -> dict[str, list[str]]:
    """Returns OOD sets by part, split by families or with given sets for the test.

    Args:
        names: Sets that participants may see.
        seed: Seed of the split, see `split_families`.
        tested: Sets for the test only; the test's share of `names` then joins "train".

    Raises:
        UnusableInput: see `split_families`; or `tested` has a single family, or a family of `names`.
    """
    parts = split_families(names, seed)
    if not tested:
        return parts
    shown = {family(name): name for name in names}
    for name in tested:
        if family(name) in shown:
            raise UnusableInput(
                f"--test-from: set {name!r} is of the family {family(name)!r}, as {shown[family(name)]!r} of "
                "--ood: rename one of them, or leave one out"
            )
    if len({family(name) for name in tested}) < 2:
        raise UnusableInput(
            f"--test-from has one family of OOD sets ({family(tested[0])}), two are needed: one for the "
            "public score, one for the private"
        )
    return {"train": sorted(parts["train"] + parts["test"]), "val": parts["val"], "test": sorted(tested)}
