"""The images of an OOD competition's public folder, and observations of mixes of two pools."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starter.competition.sets import REFERENCES, PublicSets, Task
from starter.images.imageset import ImageSet
from starter.observing.observation import Moments, Observation
from starter.sets.mix import FromPools, Mix, picked
from starter.sets.rendering import FromRecipe, Rendering
from submission import UnusableInput

MIXES_FILE = "train/mixes.jsonl"


@dataclass(frozen=True)
class MixSets(PublicSets):
    """The images of an OOD competition's public folder; the meta-train mixes are drawn from two pools."""

    @cached_property
    def ind_pool(self) -> ImageSet:
        """The IND images of the meta-train mixes, without their labels."""
        return replace(self.base, name="ind", labels=None)

    def ood_pool(self, name: str) -> ImageSet:
        """Returns the images of one OOD set."""
        return self._ood_pools[name]

    @cached_property
    def _ood_pools(self) -> dict[str, ImageSet]:
        names = dict.fromkeys(mix.ood_set for mix in self.mixes)
        return {name: self._read(f"ood/{name}.npz", labelled=False) for name in names}

    @cached_property
    def mixes(self) -> tuple[Mix, ...]:
        """The meta-train mixes."""
        mixes = tuple(map(Mix.from_json, self.competition.text(MIXES_FILE).splitlines()))
        if tuple(mix.name for mix in mixes) != self.competition.sets("train"):
            path = self.competition.public / MIXES_FILE
            raise UnusableInput(f"{path} names other sets than competition.json")
        return mixes

    @cached_property
    def train(self) -> tuple[FromPools, ...]:  # type: ignore[override]
        """The meta-train mixes with their pools."""
        return tuple(FromPools(mix, self.ind_pool, self.ood_pool(mix.ood_set)) for mix in self.mixes)

    def observed(self, part: str) -> list[tuple[str, str]]:
        """Returns the sets as `PublicSets.observed`, but for meta-train mixes their IND and OOD pools."""
        if part != "train":
            return super().observed(part)
        return [
            ("ind", "base"),
            *(("ood", name) for name in dict.fromkeys(mix.ood_set for mix in self.mixes)),
        ]

    def tasks(self, parts: Sequence[str], source: bool) -> list[Task]:
        """See `PublicSets`; detectors are fitted on the references, and score the labelled one too."""
        found = [pair for part in parts for pair in self.observed(part)]
        return [("observe", REFERENCES), ("score", [*found, *REFERENCES[:1]] if source else found)]

    def find(self, part: str, name: str) -> Rendering:
        """See `PublicSets`."""
        if part == "ind":
            return FromRecipe.whole(self.ind_pool)
        if part == "ood":
            return FromRecipe.whole(self._read(f"ood/{name}.npz", labelled=False))
        return super().find(part, name)


def merged(
    name: str, ind: Observation, ood: Observation, rows: NDArray[np.int64], is_ood: NDArray[np.bool_]
) -> Observation:
    """Returns the observation `name`: image i is row `rows[i]` of `ood` where `is_ood[i]`, else of `ind`."""

    def both(field: str) -> NDArray[Any] | None:
        first, second = getattr(ind, field), getattr(ood, field)
        return None if first is None or second is None else picked(first, second, rows, is_ood)

    return Observation(
        name,
        ind.classifier,
        picked(ind.logits, ood.logits, rows, is_ood),
        features=both("features"),
        image_stats=both("image_stats"),
        rotation=both("rotation"),
        views={view: picked(ind.views[view], ood.views[view], rows, is_ood) for view in ind.views},
        referee_features=both("referee_features"),
    )


def moments_of(observed: Observation) -> Moments:
    """Returns the moments of an observation's features."""
    assert observed.features is not None
    features = observed.features.astype(np.float64)
    mean = features.mean(axis=0)
    centred = features - mean
    return Moments(mean, centred.T @ centred / max(len(features) - 1, 1), len(features))
