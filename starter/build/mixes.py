"""Planning mixes: which OOD sets each part draws from, how large mixes are, and drawing them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from starter.sets.mix import LEAST, Mix, family
from submission.errors import UnusableInput
from submission.random import OOD_FAMILIES

SHARES = (0.2, 0.8)
"""The IND share of a mix is drawn uniformly from here where it is hidden."""
LEAST_FAMILIES = 5
HIDDEN = "hidden"
ANY = "any"


@dataclass(frozen=True)
class Sizes:
    """How large mixes are.

    Attributes:
        low, high: a mix's images, drawn uniformly; with the ratio `ANY` those of either kind (appendix C of
            Gscore).
        ratio: `HIDDEN` (the IND share is uniform in `SHARES`), "A:B" (IND to OOD), or `ANY`.

    Raises:
        UnusableInput: a value cannot be used; the option that gave it is named.
    """

    low: int
    high: int
    ratio: str = HIDDEN

    def __post_init__(self) -> None:
        least = 1 if self.ratio == ANY else 2
        if not least * LEAST <= self.low <= self.high:
            raise UnusableInput(
                f"--sizes (or --set-size) must be LOW HIGH with {least * LEAST} <= LOW <= HIGH, since a mix "
                f"has {LEAST} images of each kind at least; got {self.low} {self.high}"
            )
        if self.ratio not in (HIDDEN, ANY):
            self._share()

    def _share(self) -> float:
        ind, colon, ood = self.ratio.partition(":")
        try:
            a, b = float(ind), float(ood)
        except ValueError:
            a = b = 0.0
        if not colon or not (0 < a < np.inf and 0 < b < np.inf):
            raise UnusableInput(f"--ratio must be {HIDDEN}, {ANY} or IND:OOD as in 1:1, got {self.ratio!r}")
        return a / (a + b)

    def draw(self, ind_pool: int, ood_pool: int, rng: np.random.Generator) -> tuple[int, int]:
        """How many IND and OOD images a mix of these pools has, each at least `LEAST`.

        A pool that is too small narrows the range that is drawn from, so that a mix's size tells nothing.

        Raises:
            UnusableInput: no mix of these pools has such a size; the message says what is too small.
        """
        if self.ratio == ANY:
            ind, ood = (self._count(pool, rng) for pool in (ind_pool, ood_pool))
            return ind, ood
        n = int(rng.integers(self.low, self.high, endpoint=True))
        low, high = SHARES if self.ratio == HIDDEN else (self._share(),) * 2
        least = max(low, LEAST / n, 1 - ood_pool / n)
        most = min(high, 1 - LEAST / n, ind_pool / n)
        if self.ratio != HIDDEN:
            least = most = float(np.clip(low, LEAST / n, 1 - LEAST / n))
        ind = int(np.clip(round(n * rng.uniform(least, most)), LEAST, n - LEAST)) if least <= most else 0
        if least > most or ind > ind_pool or n - ind > ood_pool:
            raise UnusableInput(
                f"mixes of {n} images cannot be drawn from {ind_pool} IND and {ood_pool} OOD images"
            )
        return ind, n - ind

    def _count(self, pool: int, rng: np.random.Generator) -> int:
        if pool < self.low:
            raise UnusableInput(f"--sizes {self.low} {self.high}: a pool has {pool} images only")
        return int(rng.integers(self.low, min(self.high, pool), endpoint=True))


def draw_mixes(
    count: int,
    sizes: Sizes,
    ind_pool: int,
    ood_pools: Mapping[str, int],
    rng: np.random.Generator,
    prefix: str,
) -> list[Mix]:
    """`count` mixes named ``<prefix>_0001`` and on, the OOD sets in random order, each as often as any other.

    Args:
        count: how many mixes.
        sizes: of the mixes.
        ind_pool: how many IND images there are to draw from.
        ood_pools: the same for each OOD set.
        rng: what everything is drawn from.
        prefix: of the names.

    Raises:
        UnusableInput: an OOD set is too small for such mixes; it is named.
    """
    names: list[str] = []
    while len(names) < count:
        names += [sorted(ood_pools)[i] for i in rng.permutation(len(ood_pools))]
    mixes = []
    for number, ood_set in enumerate(names[:count], start=1):
        try:
            ind, ood = sizes.draw(ind_pool, ood_pools[ood_set], rng)
        except UnusableInput as error:
            raise UnusableInput(
                f"OOD set {ood_set!r}: {error}; leave it out with --exclude, or ask for smaller mixes"
            ) from error
        mixes.append(Mix(f"{prefix}_{number:04d}", int(rng.integers(2**63)), ood_set, ind, ood))
    return mixes


def split_families(names: Sequence[str], seed: int) -> dict[str, list[str]]:
    """OOD sets by part, no family in two: a tenth of the families "val", three "test", the others "train".

    The largest family is in "train". The seed is public: which images a hidden mix holds is not.

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
    """OOD sets by part: as `split_families`, or, where the test has sets of its own, these to "test".

    Args:
        names: sets that participants may see.
        seed: as in `split_families`.
        tested: sets for the test alone; the test's share of `names` then joins "train".

    Raises:
        UnusableInput: as `split_families`; `tested` is of one family, or of a family that `names` shows.
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
