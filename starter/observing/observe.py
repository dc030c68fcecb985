"""Observations: one pass of a classifier over a set gives the data that the chosen methods need.

They are kept in a cache. `observe` writes the cache entries of one set and one classifier, and depends on no
other state; `observe_all` calls it for many sets. All functions are in one module, since they share the rule
which parts a need requires.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from starter.classifiers import Classifier
from starter.images.imageset import ImageSet
from starter.observing.cache import Arrays, Cache, Layout, fits
from starter.observing.image_stats import image_stats
from starter.observing.lazy import Lazy
from starter.observing.observation import (
    IMAGE_STATS,
    NEEDS,
    PEER,
    REFEREE,
    REFEREE_NEEDS,
    ROTATED,
    Moments,
    Observation,
    mean_and_covariance,
)
from starter.observing.referee import Referee
from starter.observing.rotation import ROTATIONS, RotationHead, fit_rotation_head, turned
from starter.operations.default import luma
from starter.sets.rendering import FromRecipe, Rendering
from submission.errors import UnusableInput
from submission.files import digest_of

VERSION = 3
"""Part of every cache key: raise it when the values from this module, image_stats or the rendering change."""
PARTS = {
    "logits": ("logits",),
    "moments": ("mean", "covariance"),
    "features": ("features",),
    "image_stats": ("image_stats",),
    "rotation": ("rotation",),
    "rotations": ROTATED,
    "grey": ("grey",),
}
"""Parts of an observation, each one cache entry, and the names of the arrays in them."""
HALF = 65504
"""The largest number of float16."""


@dataclass(frozen=True)
class Observer:
    """A classifier with the cache for its observations, and the networks that some needs require.

    Attributes:
        classifier: Classifier whose observations these are.
        cache: Cache that keeps the observations.
        head: Rotation head, for the need "rotation"; None without one.
        peers: Observers of the competition's other classifiers, for "peers".
        referees: Referees of the competition, for "referee" and "referee_features".
    """

    classifier: Classifier
    cache: Cache
    head: RotationHead | None = None
    peers: tuple["Observer", ...] = ()
    referees: tuple[Referee, ...] = ()

    def with_rotation_head(self, train_ref: ImageSet) -> "Observer":
        """Returns this observer with a rotation head fitted on `train_ref`, or read from the cache."""
        key = digest_of(VERSION, self.classifier.digest, self.classifier.place, train_ref.digest)
        shape = (len(ROTATIONS), self.classifier.head_weight.shape[1])
        layout: Layout = {"weight": (np.float32, shape), "bias": (np.float32, shape[:1])}
        found = self.cache.load("rotation_head", key, layout)
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
        """Returns the cache key of one part of an observation.

        Image statistics do not depend on the classifier.
        """
        common = (VERSION, part, rendering.digest)
        if part == "image_stats":
            return digest_of(*common)
        head = self.head.digest if part == "rotation" and self.head else None
        return digest_of(*common, self.classifier.digest, self.classifier.place, head)

    def has(self, part: str, rendering: Rendering) -> bool:
        """Returns True if the cache has an entry for this part."""
        return bool(self.cache.path(part, self.key(part, rendering)).exists())

    def load(self, part: str, rendering: Rendering) -> Arrays | None:
        """Returns the arrays of the part from the cache; None if the entry is missing or damaged."""
        return self.cache.load(part, self.key(part, rendering), self.layout(part, len(rendering)))

    def compute(self, rendering: Rendering, parts: Iterable[str]) -> dict[str, Arrays]:
        """Returns the arrays of each of the parts, from one pass over the set."""
        return compute(rendering, self.classifier, parts, self.head)

    def layout(self, part: str, n: int) -> Layout:
        """Returns the type and shape of each array of one part of an observation of n images."""
        k, d = self.classifier.head_weight.shape
        if part == "moments":
            return {"mean": (np.float64, (d,)), "covariance": (np.float32, (d * (d + 1) // 2,))}
        shapes = {"features": (n, d), "image_stats": (n, len(IMAGE_STATS)), "rotation": (n,)}
        kind = np.float16 if part == "features" else np.float32
        return {name: (kind, shapes.get(part, (n, k))) for name in PARTS[part]}


def compute(
    rendering: Rendering, classifier: Classifier, parts: Iterable[str], head: RotationHead | None = None
) -> dict[str, Arrays]:
    """Returns the arrays of each of the parts, from one pass of the classifier over the set.

    Raises:
        ValueError: "rotation" is asked for without a rotation head.
    """
    wanted = frozenset(parts)
    if "rotation" in wanted and head is None:
        raise ValueError("observing `rotation` needs a rotation head: use Observer.with_rotation_head")
    chunks = [_see(images, classifier, wanted, head) for images in rendering.chunks()]
    rows = {name: torch.cat([chunk[name] for chunk in chunks]).numpy() for name in chunks[0]}
    found = {part: {name: rows[name] for name in PARTS[part]} for part in wanted - {"moments"}}
    if "moments" in wanted:
        found["moments"] = _moments(rows["features"])
    if "features" in wanted:
        found["features"] = {"features": np.clip(rows["features"], -HALF, HALF).astype(np.float16)}
    return found


def _see(
    images: torch.Tensor, classifier: Classifier, wanted: frozenset[str], head: RotationHead | None
) -> dict[str, torch.Tensor]:
    """Returns the arrays that the wanted parts are made of, for one chunk of images.

    Only forward passes that some wanted part needs are run.
    """
    rows = {}
    if wanted & {"logits", "moments", "features", "rotation"}:
        rows["logits"], rows["features"] = classifier(images)
    if "image_stats" in wanted:
        rows["image_stats"] = image_stats(images)
    if wanted & {"rotation", "rotations"}:
        turns = [classifier(turned(images, turn)) for turn in ROTATIONS[1:]]
        rows |= {name: logits for name, (logits, _) in zip(ROTATED, turns, strict=True)}
        if head and "rotation" in wanted:
            features = torch.stack([rows["features"], *(features for _, features in turns)])
            rows["rotation"] = head.told_apart(features).float().mean(dim=0)
    if "grey" in wanted:
        rows["grey"] = classifier(luma(images.float()).byte().expand_as(images))[0]
    return {name: values.cpu() for name, values in rows.items()}


def observe(rendering: Rendering, observer: Observer, needs: Iterable[str] = ()) -> bool:
    """Put every missing part of the observation into the cache.

    Returns:
        True if some part had to be computed.

    Raises:
        ValueError: A need is unknown, or "rotation" is needed without a rotation head, "peers" without peers,
            or "referee" without referees.
        UnusableInput: Some values are not finite, the set has another number of images than it declares, or a
            referee cannot encode it.
    """
    wanted = missing(rendering, observer, needs)
    for looking, parts in wanted:
        found = looking.compute(rendering, parts)
        for part in parts:
            if not fits(found[part], looking.layout(part, len(rendering))):
                who = f"referee {looking.name}" if isinstance(looking, Referee) else looking.classifier
                raise UnusableInput(
                    f"{who} gives no finite {part} of {len(rendering)} images for set "
                    f"{rendering.name!r}: check its weights, and how many images the set has"
                )
            looking.cache.store(part, looking.key(part, rendering), found[part])
    return bool(wanted)


def missing(
    rendering: Rendering, observer: Observer, needs: Iterable[str]
) -> list[tuple[Observer | Referee, tuple[str, ...]]]:
    """Returns the observer, peers and referees with missing cache entries for the set, and these parts."""
    needs = tuple(needs)
    asked: list[tuple[Observer | Referee, tuple[str, ...]]] = [(observer, _parts(observer, needs))]
    if "peers" in needs:
        asked += [(peer, ("logits",)) for peer in observer.peers]
    asked += _refereed(observer, needs)
    lacking = [
        (each, tuple(part for part in parts if not each.has(part, rendering))) for each, parts in asked
    ]
    return [(each, parts) for each, parts in lacking if parts]


def read(rendering: Rendering, observer: Observer, needs: Iterable[str] = ()) -> Observation:
    """Returns the observation from the cache; missing or damaged entries are computed first."""
    needs = tuple(needs)
    parts = _parts(observer, needs)
    found: Arrays = {}
    for part in parts:
        found |= _load(rendering, observer, observer, part, needs)
    views = {name: found[name] for name in (*ROTATED, "grey") if name in found}
    if "peers" in needs:
        views |= {
            f"{PEER}{peer.classifier.name}": _load(rendering, peer, peer, "logits", ())["logits"]
            for peer in observer.peers
        }
    judged = {
        (referee.name, part): _load(rendering, observer, referee, part, needs)
        for referee, wanted in _refereed(observer, needs)
        for part in wanted
    }
    views |= {
        f"{REFEREE}{name}": seen["logits"] for (name, part), seen in judged.items() if part == "referee"
    }
    features = (seen["features"] for seen in judged.values() if "features" in seen)
    moments = None
    if "moments" in parts:
        moments = Moments(found["mean"], _square(found["covariance"]), len(rendering))
    return Observation(
        rendering.name,
        observer.classifier.name,
        found["logits"],
        moments=moments,
        features=found.get("features"),
        image_stats=found.get("image_stats"),
        rotation=found.get("rotation"),
        views=views,
        referee_features=next(features, None),
        render=rendering.render,
    )


def _load(
    rendering: Rendering, observer: Observer, looking: Observer | Referee, part: str, needs: tuple[str, ...]
) -> Arrays:
    """Returns one part of the observation of the set by `looking`.

    If its entry is missing or damaged, all missing entries are computed first.
    """
    arrays = looking.load(part, rendering)
    if arrays is None:
        looking.cache.path(part, looking.key(part, rendering)).unlink(missing_ok=True)
        observe(rendering, observer, needs)
        arrays = looking.load(part, rendering)
        assert arrays is not None, f"the cache lost {part} of {rendering.name} at once"
    return arrays


def observe_all(
    renderings: Sequence[Rendering], observer: Observer, needs: Iterable[str], progress: bool = True
) -> Lazy[Observation]:
    """Observe every set that is not in the cache yet; a progress bar counts the images of these sets.

    Returns:
        The observations, each read from the cache when it is used.
    """
    needs = tuple(needs)
    left = [rendering for rendering in renderings if missing(rendering, observer, needs)]
    with tqdm(
        total=sum(map(len, left)),
        unit="img",
        desc=f"observe {observer.classifier.name}",
        disable=None if progress and left else True,
    ) as bar:
        for rendering in left:
            observe(rendering, observer, needs)
            bar.update(len(rendering))
    return Lazy(tuple(renderings), lambda rendering: read(rendering, observer, needs))


def logits_alone(renderings: Sequence[Rendering], observer: Observer) -> Lazy[Observation]:
    """Returns the observations of observed sets with their logits alone, each read when it is used."""
    return Lazy(tuple(renderings), lambda rendering: read(rendering, observer))


def _parts(observer: Observer, needs: Iterable[str]) -> tuple[str, ...]:
    """Returns the parts that these needs require of the observer itself."""
    wanted = frozenset(needs)
    unknown = sorted(wanted - set(NEEDS))
    if unknown:
        raise ValueError(f"unknown need {unknown[0]!r}: an observation holds {', '.join(NEEDS)}")
    if "peers" in wanted and not observer.peers:
        raise ValueError("observing `peers` needs another classifier")
    if wanted & REFEREE_NEEDS and not observer.referees:
        raise ValueError("observing `referee` needs a referee")
    return ("logits", *(need for need in NEEDS if need in wanted & PARTS.keys()))


def _refereed(observer: Observer, needs: tuple[str, ...]) -> list[tuple[Referee, tuple[str, ...]]]:
    """Returns the referees that these needs require, each with its parts."""
    asked = [(each, each.parts(needs, number == 0)) for number, each in enumerate(observer.referees)]
    return [(each, parts) for each, parts in asked if parts]


def _moments(features: NDArray[np.float32]) -> Arrays:
    """Returns the mean, (d,), and the lower triangle of the covariance, float32 (d (d + 1) / 2,).

    Both are summed in float64.
    """
    mean, covariance = mean_and_covariance(features)
    return {"mean": mean, "covariance": covariance[np.tril_indices(len(mean))].astype(np.float32)}


def _square(triangle: NDArray[np.generic]) -> NDArray[np.float64]:
    d = int((np.sqrt(8 * len(triangle) + 1) - 1) / 2)
    square = np.zeros((d, d))
    square[np.tril_indices(d)] = triangle
    return square + np.tril(square, -1).T
