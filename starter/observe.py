"""Observing: one pass of a classifier over a set gives all that the chosen methods ask for, kept in a cache.

It is a map over (set, classifier) with no shared state: `observe` is the one function from a rendering, a
classifier and needs to cache entries, and `observe_all` the one place that calls it for many.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from starter.cache import Arrays, Cache, cache_key
from starter.classifiers import Classifier
from starter.image_stats import image_stats
from starter.imageset import ImageSet
from starter.observation import NEEDS, Moments, Observation
from starter.rendering import FromRecipe, Rendering
from starter.rotation import ROTATIONS, RotationHead, fit_rotation_head, turned

VERSION = 1
"""Part of every cache key: raise it when this module, image_stats or the rendering changes what they give."""


@dataclass(frozen=True)
class Observer:
    """A classifier with the cache that its observations go to, and the rotation head where one is needed."""

    classifier: Classifier
    cache: Cache
    head: RotationHead | None = None

    def with_rotation_head(self, train_ref: ImageSet) -> "Observer":
        """This observer with a rotation head fitted on `train_ref` (from the cache when it is there)."""
        key = cache_key(VERSION, self.classifier.digest, self.classifier.device, train_ref.digest)
        found = self.cache.load("rotation_head", key)
        if found is None:
            chunks = list(FromRecipe.whole(train_ref).chunks())
            features = [
                torch.cat([self.classifier(turned(chunk, turn))[1].cpu() for chunk in chunks])
                for turn in ROTATIONS
            ]
            head = fit_rotation_head(torch.stack(features).numpy())
            found = {"weight": head.weight, "bias": head.bias}
            self.cache.store("rotation_head", key, found)
        return replace(self, head=RotationHead(found["weight"], found["bias"]))

    def key(self, part: str, rendering: Rendering) -> str:
        """The cache key of one part of an observation; image statistics do not depend on the classifier."""
        common = (VERSION, part, rendering.digest)
        if part == "image_stats":
            return cache_key(*common)
        head = self.head.digest if part == "rotation" and self.head else None
        return cache_key(*common, self.classifier.digest, self.classifier.device, head)


def compute(
    rendering: Rendering, classifier: Classifier, parts: Iterable[str], head: RotationHead | None
) -> dict[str, Arrays]:
    """One pass over the set: the arrays of each part asked for (of "logits" and `NEEDS`)."""
    wanted = frozenset(parts)
    logits, features, stats, rotation = [], [], [], []
    for images in rendering.chunks():
        chunk_logits, chunk_features = classifier(images)
        logits.append(chunk_logits.cpu())
        if wanted & {"moments", "features"}:
            features.append(chunk_features.cpu())
        if "image_stats" in wanted:
            stats.append(image_stats(images))
        if "rotation" in wanted:
            if head is None:
                raise ValueError(
                    "observing `rotation` needs a rotation head: use Observer.with_rotation_head"
                )
            turns = [chunk_features, *(classifier(turned(images, turn))[1] for turn in ROTATIONS[1:])]
            rotation.append(head.told_apart(torch.stack(turns)).float().mean(dim=0).cpu())
    found: dict[str, Arrays] = {"logits": {"logits": torch.cat(logits).numpy()}}
    if features:
        rows = torch.cat(features).numpy()
        found["features"] = {"features": rows.astype(np.float16)}
        if "moments" in wanted:
            found["moments"] = _moments(rows)
    if stats:
        found["image_stats"] = {"image_stats": torch.cat(stats).numpy()}
    if rotation:
        found["rotation"] = {"rotation": torch.cat(rotation).numpy()}
    return {part: arrays for part, arrays in found.items() if part in wanted}


def observe(rendering: Rendering, observer: Observer, needs: Iterable[str] = ()) -> bool:
    """Put every missing part of the observation into the cache. Whether anything had to be computed.

    Raises:
        ValueError: an unknown need, or "rotation" without a rotation head.
    """
    parts = _parts(needs)
    missing = [
        part for part in parts if not observer.cache.path(part, observer.key(part, rendering)).exists()
    ]
    if missing:
        found = compute(rendering, observer.classifier, missing, observer.head)
        for part in missing:
            observer.cache.store(part, observer.key(part, rendering), found[part])
    return bool(missing)


def read(rendering: Rendering, observer: Observer, needs: Iterable[str] = ()) -> Observation:
    """The observation from the cache; what is missing or damaged there is computed first."""
    needs = tuple(needs)
    parts = _parts(needs)
    found: Arrays = {}
    for part in parts:
        key = observer.key(part, rendering)
        arrays = observer.cache.load(part, key)
        if arrays is None:
            observer.cache.path(part, key).unlink(missing_ok=True)
            observe(rendering, observer, needs)
            arrays = observer.cache.load(part, key)
            assert arrays is not None, f"the cache lost {part} of {rendering.name} at once"
        found.update(arrays)
    moments = None
    if "moments" in parts:
        moments = Moments(
            found["mean"].astype(np.float64), _square(found["covariance"]), len(found["logits"])
        )
    return Observation(
        rendering.name,
        observer.classifier.name,
        found["logits"],
        moments=moments,
        features=found.get("features"),
        image_stats=found.get("image_stats"),
        rotation=found.get("rotation"),
        render=rendering.images,
    )


def observe_all(
    renderings: Sequence[Rendering], observer: Observer, needs: Iterable[str], progress: bool = True
) -> "Observed":
    """Observe every set (resuming where the cache ends), with a bar in images per second."""
    needs = tuple(needs)
    total = sum(map(len, renderings))
    with tqdm(
        total=total, unit="img", desc=f"observe {observer.classifier.name}", disable=not progress
    ) as bar:
        for rendering in renderings:
            observe(rendering, observer, needs)
            bar.update(len(rendering))
    return Observed(tuple(renderings), observer, needs)


@dataclass(frozen=True)
class Observed(Sequence[Observation]):
    """Observations read from the cache one by one, when they are asked for."""

    renderings: tuple[Rendering, ...]
    observer: Observer
    needs: tuple[str, ...]

    @overload
    def __getitem__(self, index: int) -> Observation: ...
    @overload
    def __getitem__(self, index: slice) -> "Observed": ...
    def __getitem__(self, index: int | slice) -> "Observation | Observed":
        if isinstance(index, slice):
            return replace(self, renderings=self.renderings[index])
        return read(self.renderings[index], self.observer, self.needs)

    def __len__(self) -> int:
        return len(self.renderings)


def _parts(needs: Iterable[str]) -> tuple[str, ...]:
    wanted = frozenset(needs)
    unknown = sorted(wanted - set(NEEDS))
    if unknown:
        raise ValueError(f"unknown need {unknown[0]!r}: an observation holds {', '.join(NEEDS)}")
    return ("logits", *(need for need in NEEDS if need in wanted))


def _moments(features: NDArray[np.float32]) -> Arrays:
    """Mean and the covariance's lower triangle (it is symmetric), float32 on disk, summed in float64."""
    rows = features.astype(np.float64)
    mean = rows.mean(axis=0)
    centred = rows - mean
    covariance = centred.T @ centred / max(len(rows) - 1, 1)
    return {"mean": mean, "covariance": covariance[np.tril_indices(len(mean))].astype(np.float32)}


def _square(triangle: NDArray[np.generic]) -> NDArray[np.float64]:
    d = int((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
    square = np.zeros((d, d))
    square[np.tril_indices(d)] = triangle
    return square + np.tril(square, -1).T
