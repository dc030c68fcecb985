"""Observations: one pass of a classifier over a set gives the data that the chosen methods need.

A `Witness` looks at sets and keeps what it sees in a cache: an `Observer` with a classifier, or a referee.
"""

import os
from abc import ABC, abstractmethod
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, chain, groupby
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from starter.data.images.imageset import ImageSet
from starter.data.operations.default import luma
from starter.data.sets.rendering import FromRecipe, Rendering
from starter.models.classifiers import Classifier
from starter.models.classifiers.linear import Linear
from starter.observing.cache import Arrays, Cache, Layout, fits
from starter.observing.image_stats import image_stats
from starter.observing.observation import (
    IMAGE_STATS,
    NEEDS,
    OWN_FIELDS,
    PEER,
    REFEREE,
    ROTATED,
    Lazy,
    Moments,
    Observation,
)
from submission.arrays import FloatArray
from submission.errors import UnusableInput
from submission.files import digest_of
from submission.progress import progress

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
ROTATIONS = (0, 1, 2, 3)
"""Numbers of quarter turns, counter-clockwise, that the rotation head tells apart."""

AHEAD = min(max(2, (os.cpu_count() or 1) // 2), 4)
"""Groups of sets that are rendered while a GPU is busy with others."""
WRITERS = 8
"""Sets that are written at a time while a GPU is busy: more than a group has of most sizes."""
TOGETHER = 4000
"""Number of images within which sets begin that a GPU sees as one group."""

Rows = dict[str, torch.Tensor]
"""Arrays with a row for each image, on the classifier's device."""


def aside(work: Callable[[Any], Any], items: Iterable[Any], most: int) -> Iterator[Any]:
    """Yields what `work` returns for each item, in order, while threads work on up to `most` others.

    Items are taken by the caller's thread, which also works if `most` is 0. An error of `work` comes in
    place of its result. What the threads were given they do, whatever stops the caller.
    """
    if not most:
        yield from map(work, items)
        return
    waiting = deque[Future[Any]]()
    with ThreadPoolExecutor(most) as threads:
        for item in items:
            waiting.append(threads.submit(work, item))
            if len(waiting) > most:
                yield waiting.popleft().result()
        yield from (each.result() for each in waiting)


class Witness(ABC):
    """Who looks at unlabelled sets, and keeps each part of what it sees as one entry of a cache."""

    name: str
    cache: Cache
    ahead = 0

    @abstractmethod
    def key(self, part: str, rendering: Rendering) -> str:
        """Returns the cache key of one part."""

    @abstractmethod
    def layout(self, part: str, n: int) -> Layout:
        """Returns the type and shape of each array of one part, for n images."""

    def compute(self, rendering: Rendering, parts: Iterable[str]) -> dict[str, Arrays]:
        """Returns the arrays of each of the parts, from one pass over the set."""
        ((_, arrays),) = self.passes([rendering], parts)
        return arrays()

    def passes(self, renderings: Sequence[Rendering], parts: Iterable[str]) -> Iterator[Any]:
        """Yields each set and a function that returns what `compute` does: a witness has one of both."""
        return ((rendering, partial(self.compute, rendering, parts)) for rendering in renderings)

    def has(self, part: str, rendering: Rendering) -> bool:
        """Returns True if the cache has an entry for this part."""
        return self.cache.has(part, self.key(part, rendering))

    def load(self, part: str, rendering: Rendering) -> Arrays | None:
        """Returns the arrays of the part from the cache; None if the entry is missing or damaged."""
        return self.cache.load(part, self.key(part, rendering), self.layout(part, len(rendering)))

    def see(self, renderings: Sequence[Rendering], parts: Sequence[str]) -> Iterator[Any]:
        """Yields each set with the arrays of each of the parts after putting them into the cache."""

        def keep(passed: tuple[Rendering, Any]) -> tuple[Rendering, dict[str, Arrays]]:
            rendering, found = passed[0], passed[1]()
            for part in parts:
                if not fits(found[part], self.layout(part, len(rendering))):
                    raise UnusableInput(
                        f"{self.name} gives no finite {part} of {len(rendering)} images for set "
                        f"{rendering.name!r}: check its weights, and how many images the set has"
                    )
                self.cache.store(part, self.key(part, rendering), found[part])
            return rendering, {part: found[part] for part in parts}

        return aside(keep, self.passes(renderings, parts), WRITERS if self.ahead else 0)

    def read(self, rendering: Rendering, parts: Sequence[str]) -> dict[str, Arrays]:
        """Returns the arrays of each of the parts from the cache; missing ones are computed first."""
        found = {part: arrays for part in parts if (arrays := self.load(part, rendering))}
        missing = [part for part in parts if part not in found]
        for _, seen in self.see([rendering], missing) if missing else ():
            found |= seen
        return found


@dataclass(frozen=True)
class Observer(Witness):
    """A classifier with the cache for its observations, and the witnesses that some needs require."""

    classifier: Classifier
    cache: Cache
    head: Linear | None = None
    peers: tuple["Observer", ...] = ()
    referees: tuple[Witness, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]
        """The classifier's name."""
        return self.classifier.name

    def witnesses(self, needs: Iterable[str]) -> list[tuple[Witness, tuple[str, ...]]]:
        """Returns the witnesses that these needs require, itself first, each with its parts."""
        wanted = frozenset(needs)
        if unknown := sorted(wanted - set(NEEDS)):
            raise ValueError(f"unknown need {unknown[0]!r}: an observation holds {', '.join(NEEDS)}")
        own = ("logits", *(need for need in NEEDS if need in wanted & PARTS.keys()))
        found: list[tuple[Witness, tuple[str, ...]]] = [(self, own)]
        found += [(peer, ("logits",)) for peer in self.peers if "peers" in wanted]
        for number, referee in enumerate(self.referees):  # the first one alone keeps features
            kept = ("referee", "referee_features")[: 2 if number == 0 else 1]
            found.append((referee, tuple(part for part in kept if part in wanted)))
        return [(witness, parts) for witness, parts in found if parts]

    def with_rotation_head(self, train_ref: ImageSet) -> "Observer":
        """Returns this observer with a rotation head fitted on `train_ref`, or read from the cache."""
        key = digest_of(VERSION, self.classifier.digest, self.classifier.place, train_ref.digest)
        shape = (len(ROTATIONS), self.classifier.head_weight.shape[1])
        layout: Layout = {"weight": (np.float32, shape), "bias": (np.float32, shape[:1])}
        found = self.cache.load("rotation_head", key, layout)
        if found is None:
            chunks = [*FromRecipe.whole(train_ref).chunks()]
            turns = [(chunk, turn) for turn in ROTATIONS for chunk in chunks]
            seen = progress(turns, f"rotation head of {self.name}", unit="chunks")
            rows = torch.cat([self.classifier(turned(*each))[1].cpu() for each in seen])
            features = rows.view(len(ROTATIONS), len(train_ref), -1).numpy()
            found = dict(zip(layout, fit_rotation_head(features), strict=True))
            self.cache.store("rotation_head", key, found)
        return replace(self, head=(found["weight"], found["bias"]))

    def key(self, part: str, rendering: Rendering) -> str:
        """Returns the cache key of one part; image statistics do not depend on the classifier."""
        common = (VERSION, part, rendering.digest)
        if part == "image_stats":
            return digest_of(*common)
        head = digest_of(*(each.tolist() for each in self.head)) if part == "rotation" and self.head else None
        return digest_of(*common, self.classifier.digest, self.classifier.place, head)

    @property
    def ahead(self) -> int:  # type: ignore[override]
        """How much is rendered and written beside a GPU; the cores of a CPU are busy with passes."""
        return AHEAD if self.classifier.device.startswith("cuda") else 0

    def passes(self, renderings: Sequence[Rendering], parts: Iterable[str]) -> Iterator[Any]:
        """See `Witness`; a GPU looks at several sets together while threads render the next."""
        wanted, together = frozenset(parts), TOGETHER if self.ahead else 1
        assert self.head or "rotation" not in wanted, "`rotation` needs Observer.with_rotation_head"
        starts = accumulate(map(len, renderings), initial=0)
        groups = ([*group] for _, group in groupby(renderings, lambda _: next(starts) // together))
        for group, ends, batches in aside(partial(self._rendered, wanted), groups, self.ahead):
            try:
                seen = [self._see(images, rows, wanted) for images, rows in batches]
            except UnusableInput as error:
                raise UnusableInput(f"set {' or '.join(each.name for each in group)}: {error}") from error
            rows = {name: torch.cat([each[name] for each in seen]) for name in seen[0]}
            of_sets = (values.tensor_split(ends) for values in rows.values())
            for rendering, *own in zip(group, *of_sets, strict=True):
                yield rendering, partial(self._arrays, dict(zip(rows, own, strict=True)), wanted)

    def _rendered(self, wanted: frozenset[str], group: list[Rendering]) -> tuple[Any, ...]:
        """Returns sets, where each but the last ends, and batches of their images with their statistics."""
        sets: Iterable[Any] = (rendering.chunks() for rendering in group)
        ends = list[int]()  # one set on a CPU, where a chunk is rendered when it is used
        if self.ahead:
            sets = [torch.cat([*chunks]) for chunks in sets]
            images, ends = torch.cat(sets), [*accumulate(map(len, sets[:-1]))]
            sets = [(images.pin_memory() if torch.cuda.is_available() else images).split(TOGETHER)]
        stats = "image_stats" in wanted
        batches = ((chunk, {"image_stats": image_stats(chunk)} if stats else {}) for chunk in chain(*sets))
        return group, ends, [*batches] if self.ahead else batches

    def _see(self, images: torch.Tensor, rows: Rows, wanted: frozenset[str]) -> Rows:
        """Returns the rows with those that the wanted parts are made of; no other pass is run."""
        images = images.to(self.classifier.device, non_blocking=True)
        if wanted & {"logits", "moments", "features", "rotation"}:
            rows["logits"], rows["features"] = self.classifier(images)
        if wanted & {"rotation", "rotations"}:
            turns = [self.classifier(turned(images, turn)) for turn in ROTATIONS[1:]]
            rows |= {name: logits for name, (logits, _) in zip(ROTATED, turns, strict=True)}
            if self.head and "rotation" in wanted:
                features = torch.stack([rows["features"], *(features for _, features in turns)])
                weight, bias = (torch.from_numpy(part).to(features) for part in self.head)
                right = (features @ weight.T + bias).argmax(dim=-1) == features.new_tensor(ROTATIONS)[:, None]
                rows["rotation"] = right.float().mean(dim=0)
        if "grey" in wanted:
            rows["grey"] = self.classifier(luma(images.float()).byte().expand_as(images))[0]
        return rows

    def _arrays(self, rows: Rows, wanted: frozenset[str]) -> dict[str, Arrays]:
        """Returns the arrays of each part of a set; a GPU sums moments in float64 itself."""
        if "moments" in wanted:
            features = rows["features"]
            moments = Moments.of(features if self.ahead else features.cpu().numpy())
            covariance = torch.as_tensor(moments.covariance)
            lower = torch.tril_indices(*covariance.shape, device=covariance.device)
            rows |= {"mean": torch.as_tensor(moments.mean), "covariance": covariance[lower.unbind()].float()}
        if "features" in wanted:
            rows["features"] = rows["features"].clip(-HALF, HALF).half()
        return {part: {name: rows[name].cpu().numpy() for name in PARTS[part]} for part in wanted}

    def layout(self, part: str, n: int) -> Layout:
        """Returns the type and shape of each array of one part of an observation of n images."""
        k, d = self.classifier.head_weight.shape
        if part == "moments":
            return {"mean": (np.float64, (d,)), "covariance": (np.float32, (d * (d + 1) // 2,))}
        shapes = {"features": (n, d), "image_stats": (n, len(IMAGE_STATS)), "rotation": (n,)}
        kind = np.float16 if part == "features" else np.float32
        return {name: (kind, shapes.get(part, (n, k))) for name in PARTS[part]}


def missing(
    renderings: Iterable[Rendering], observer: Observer, needs: Iterable[str]
) -> list[tuple[Witness, tuple[str, ...], list[Rendering]]]:
    """Returns the witnesses with missing cache entries, these parts, and the sets that lack them."""
    found = []
    for witness, parts in observer.witnesses(needs):
        lacking = defaultdict[tuple[str, ...], list[Rendering]](list)
        for rendering in {each.digest: each for each in renderings}.values():
            lacking[tuple(part for part in parts if not witness.has(part, rendering))].append(rendering)
        found += [(witness, parts, sets) for parts, sets in lacking.items() if parts]
    return found


def read(rendering: Rendering, observer: Observer, needs: Iterable[str] = ()) -> Observation:
    """Returns the observation from the cache; missing or damaged entries are computed first."""
    needs, views = tuple(needs), {}
    found: dict[str, Any] = {}
    for witness, parts in observer.witnesses(needs):
        seen = witness.read(rendering, parts)
        if witness is observer:
            found = {name: array for part in parts for name, array in seen[part].items()}
            views = {name: found[name] for name in (*ROTATED, "grey") if name in found}
        elif isinstance(witness, Observer):
            views[f"{PEER}{witness.name}"] = seen["logits"]["logits"]
        else:
            if "referee" in parts:
                views[f"{REFEREE}{witness.name}"] = seen["referee"]["logits"]
            if "referee_features" in parts:
                found["referee_features"] = seen["referee_features"]["features"]
    if "moments" in needs:
        mean = found["mean"]
        covariance = np.zeros((len(mean), len(mean)))
        covariance[np.tril_indices(len(mean))] = found["covariance"]
        found["moments"] = Moments(mean, covariance + np.tril(covariance, -1).T, len(rendering))
    return Observation(
        rendering.name,
        observer.name,
        found["logits"],
        **{name: found.get(name) for name in OWN_FIELDS},
        views=views,
        render=rendering.render,
    )


def observe_all(
    renderings: Sequence[Rendering], observer: Observer, needs: Iterable[str], total: Any = None
) -> Lazy[Observation]:
    """Observe sets that are not in the cache, counted in `total` or a bar; returns all, read when used."""
    needs, images = tuple(needs), sum(map(len, renderings))
    work = missing(renderings, observer, needs)
    with progress(None, "observe", images, "images") if total is None else nullcontext(total) as bar:
        bar.total += sum(len(rendering) for _, _, sets in work for rendering in sets) - images
        for witness, parts, sets in work:
            bar.set_description_str(f"observe {witness.name}", refresh=False)
            for rendering, _ in witness.see(sets, parts):
                bar.update(len(rendering))
    return Lazy(tuple(renderings), lambda rendering: read(rendering, observer, needs))


def turned(images: torch.Tensor, quarter_turns: int) -> torch.Tensor:
    """Returns images, uint8 (n, 3, h, w), rotated counter-clockwise by quarter turns."""
    return torch.rot90(images, quarter_turns, dims=(2, 3)).contiguous()


def fit_rotation_head(features: FloatArray) -> Linear:
    """Returns a logistic regression of the rotation on features (4, n, d) (Deng et al., ICML 2021)."""
    rows = features.reshape(-1, features.shape[2]).astype(np.float64)
    labels = np.repeat(ROTATIONS, features.shape[1])
    scaler = StandardScaler().fit(rows)
    model = LogisticRegression(C=0.1, max_iter=300, tol=1e-3).fit(scaler.transform(rows), labels)
    weight = model.coef_ / scaler.scale_
    bias = model.intercept_ - weight @ scaler.mean_
    return weight.astype(np.float32), bias.astype(np.float32)
