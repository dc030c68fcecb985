"""Errors on natural sets by the meta-train sets that methods learn from (docs/results/accuracy.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/natural.py DIR [--sets 40] [--size 200] [--write]

FOLDER is as for cifar10.py here; DIR keeps observations, so that an interrupted run goes on. Methods are
judged on cifar10.py's four natural VALIDATION sets alone, and on subsets of them: three of two or three
classes each, and two halves. A table's RMSE weighs the four sources alike; the bias is the mean error of the
whole sets. First come methods that learn nothing from sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import real
from cifar10 import PEERS, VALIDATION
from numpy.typing import NDArray
from pages import record
from sklearn.base import clone

from baselines import BASELINES, Estimator
from oracle import ORACLES
from starter.contest.accuracy.plan import hard_to_easy
from starter.data.sets.recipe import draw_recipes
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.oodsets import CIFAR10
from starter.data.sources.splits import Splits, split
from starter.observing.cache import Cache
from starter.observing.observation import MetaTrain, Moments, Observation, Source
from starter.observing.observe import Observer, observe_all

NEEDS = ("moments", "features", "image_stats")
DIRECT = (
    *("atc", "atc-ne-ts", "doc-ts", "cbpe", "cot", "cott", "cott-em", "cott-bbse", "mlls", "bbse"),
    *("gde", "aline", "suitability"),
)
LEARNING = ("constant", "confscore", "atc+lr", "nuclear", "fd", "dispersion", "ora-l")
METHODS: dict[str, Estimator] = {**BASELINES, **ORACLES}
GROUPS = (
    *(("default",), ("wide",), ("wide", "natural-like"), ("natural-like",)),
    ("default", "natural-like"),
)


@dataclass(frozen=True)
class Judged:
    """A labelled set as a method sees it, and whether the classifier is right about each image, (n,)."""

    source: str
    seen: Observation
    right: NDArray[np.bool_]


def meta_train(
    groups: Sequence[str], sets: int, size: int, splits: Splits, source: Source, observer: Observer
) -> MetaTrain:
    """The meta-train sets of these groups; sub-populations are clusters in the classifier's features."""
    base = FromRecipe.whole(replace(splits.meta_base, labels=None))
    (whole,) = observe_all([base], observer, NEEDS)
    clusters = hard_to_easy(whole.features, whole.probabilities.max(axis=1), 0)
    recipes = []
    for group in groups:
        recipes += draw_recipes(group, sets, 0, size, prefix=group, clusters=clusters)
    renderings = [FromRecipe(recipe, splits.meta_base) for recipe in recipes]
    seen, labels = observe_all(renderings, observer, NEEDS), [each.labels() for each in renderings]
    right = [each.predicted == known for each, known in zip(seen, labels, strict=True)]
    accuracies = np.array([each.mean() for each in right])
    return MetaTrain(source, seen, accuracies, right, [each.families for each in recipes], labels=labels)


def natural_sets(observer: Observer) -> list[Judged]:
    """The natural validation sets, each whole, then subsets of it."""
    found: list[Judged] = []
    for name in VALIDATION:
        images = real.natural(name, 1000)
        bare = FromRecipe.whole(replace(images, labels=None))
        seen = observe_all([bare], observer, (*NEEDS, "peers"))[0]
        whole = Judged(name, seen, seen.predicted == images.labels)
        found += [whole, *(part_of(whole, rows) for rows in subsets(images.labels))]
    return found


def subsets(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Rows of three subsets of two to four classes, where there are more than two, and of two halves."""
    rng, classes = np.random.default_rng(0), np.unique(labels)
    halves = [np.sort(half) for half in np.array_split(rng.permutation(len(labels)), 2)]
    if len(classes) <= 2:
        return halves
    chosen = [rng.choice(classes, rng.integers(2, min(len(classes), 4)), replace=False) for _ in range(3)]
    return [np.flatnonzero(np.isin(labels, few)) for few in chosen] + halves


def part_of(whole: Judged, rows: NDArray[np.int64]) -> Judged:
    """Some of the images, with moments of their own."""
    seen = whole.seen.take(rows)
    return Judged(whole.source, replace(seen, moments=Moments.of(seen.features)), whole.right[rows])


def errors(method: Estimator, meta: MetaTrain, sets: Sequence[Judged]) -> tuple[float, float]:
    """RMSE in points, sources weighing alike, and the mean error of the sources' whole sets."""
    predicted = clone(method).fit(meta).predict([each.seen for each in sets])
    off = 100 * (predicted - np.array([each.right.mean() for each in sets]))
    names = np.array([each.source for each in sets])
    squares = [np.mean(off[names == name] ** 2) for name in VALIDATION]
    whole = [off[names == name][0] for name in VALIDATION]
    return float(np.sqrt(np.mean(squares))), float(np.mean(whole))


def main() -> None:
    """Observe, fit, print."""
    parser = real.parser(__doc__)
    parser.add_argument("--sets", type=int, default=40, help="of each group")
    parser.add_argument("--size", type=int, default=200, help="images in a meta-train set")
    asked = parser.parse_args()
    real.require("natural.zip", "weights/resnet56.safetensors")
    cache = Cache(asked.folder)
    peers = tuple(Observer(real.classifier(name), cache) for name in PEERS)
    observer = Observer(real.classifier(), cache, peers=peers)
    splits = split(CIFAR10, real.images("train", 2000), real.images("test"), 0)
    seen = real.observed(observer, splits.reference, splits.train, needs=(*NEEDS, "peers"))
    source, natural = seen[0], natural_sets(observer)
    learnt = []
    for groups in GROUPS:
        meta = meta_train(groups, asked.sets, asked.size, splits, source, observer)
        if groups == ("wide",):
            found = {name: errors(METHODS[name], meta, natural) for name in DIRECT}
            direct = [{"method": name, "RMSE": rmse, "bias": bias} for name, (rmse, bias) in found.items()]
        found = {name: errors(METHODS[name], meta, natural)[0] for name in LEARNING}
        learnt.append({"meta-train sets": " and ".join(groups), "number": len(meta.sets), **found})
    print(*direct, *learnt, sep="\n")
    if asked.write:
        record("natural-direct", direct)
        record("natural-like", learnt)


if __name__ == "__main__":
    main()
