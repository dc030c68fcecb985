"""gated on real CIFAR-10 beside other methods, by kind of set: the tables of docs/results/gated.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/gated.py DIR [--seeds 3] [--classifier repvgg_a0]
        [--shapes] [--write]

FOLDER is as for cifar10.py here, with natural_more.zip. DIR keeps what networks have seen of the sets: an
interrupted run goes on. A seed has 120 `wide` meta-train sets of 500 images. The referee is lite0 at 128
pixels, with one probe of 6,000 clean training images. CHOSEN names the natural sets by which constants were
chosen, beside left-out operations; on the other kinds methods were compared afterwards. With --shapes the
sets are of other sizes or class shares, natural sets distorted, or the classes two.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import real
import torch
from pages import record
from sklearn.base import clone

from baselines import BASELINES, Estimator
from baselines.accuracy.gated import Gated
from starter.data.images.imageset import ImageSet
from starter.data.operations import OPERATIONS, new_operations
from starter.data.sets.recipe import Recipe, draw_recipes
from starter.data.sources.oodsets import CIFAR10
from starter.data.sources.sources import load_source
from starter.data.sources.splits import Splits
from starter.models.classifiers.linear import fit_linear
from starter.models.encoders.choose import lite0
from starter.observing.image_stats import image_stats
from starter.observing.observation import REFEREE, MetaTrain, Observation, Source
from starter.observing.temperature import likeliest_temperature
from submission.arrays import FloatArray, IntArray, Pixels

CHOSEN = (
    *("caltech101", "natural_images", "catsdogs_kaggle", "catsdogs_small", "catsdogs_breeds"),
    *("tinyin_a", "tinyin_b", "tinyin_c", "tinyin_d"),
)
TESTED = ("imagenet_one_each", "imagenette_dog_truck", "pacs_photo")
DRAWN = ("pacs_cartoon", "stylised_shapes")
N, CLEAN = 500, 6000
SMALL, DRAWS = 50, 4
"""Images of the sets of --shapes, and samples that are drawn of a set of 500."""
WIDE: dict[str, Any] = {"ops_per_set": (0, 3), "prior_share": 0.3, "weak_share": 0.5}
ALONE = " without a referee"
STATS = "image_stats"
METHODS: dict[str, Estimator] = {
    "gated": Gated(),
    f"gated{ALONE}": Gated(),
    **{name: BASELINES[name] for name in ("cott", "cott-referee", "agreement", "frap", "cott-em")},
    **{name: BASELINES[name] for name in ("atc", "confscore", "doc", "constant")},
}
Draw = Callable[[IntArray, np.random.Generator], IntArray]
"""Rows of a sample of a set with these labels."""
SHAPED = ("gated", f"gated{ALONE}", "cott", "cott-referee", "agreement")
PAIRS = (0, 8), (1, 9), (2, 6), (3, 5), (4, 7)
PARTS = "natural", "corrupted", "few", "seen"
KINDS = ("photographs", "drawings", "new corruptions", "new, few classes", "seen", "mild natural")
MILD = 0.75
Look = Callable[[Pixels], FloatArray]
Made = tuple[str, frozenset[str], ImageSet]
Observed = tuple[list[Observation], list[IntArray], list[frozenset[str]]]


def wide(splits: Splits, seed: int, count: int, prefix: str) -> Iterator[Made]:
    """Sets of the groups that methods learn from: of meta-base, or others of test-base."""
    base = splits.test_base if prefix else splits.meta_base
    for group in ("default", "a", "b"):
        for recipe in draw_recipes(group, count, seed, N, prefix=f"{prefix}{group}", **WIDE):
            yield recipe.name, recipe.families, recipe.render(base)


def corrupted(whole: ImageSet, seed: int, few: bool = False) -> Iterator[Made]:
    """Images, of all or of two to four classes, under each operation that no meta-train group has."""
    for number, name in enumerate(new_operations("default+a+b")):
        rng, base = np.random.default_rng([6, seed, number]), whole
        params = OPERATIONS[name].draw_params(rng, 1.0)
        if few:
            base = base.take(np.flatnonzero(np.isin(base.truth, rng.permutation(10)[: rng.integers(2, 5)])))
        sample = ("sample", {"n": min(N, len(base))})
        recipe = Recipe(f"{name}-few" if few else name, int(rng.integers(2**31)), (sample, (name, params)))
        yield recipe.name, recipe.families, recipe.render(base)


def distorted(seed: int) -> Iterator[Made]:
    """The photographs, each under an operation that no meta-train group has."""
    for number, name in enumerate((*CHOSEN, *TESTED)):
        rng = np.random.default_rng([7, seed, number])
        operation = str(rng.choice(new_operations("default+a+b")))
        params = OPERATIONS[operation].draw_params(rng, 1.0)
        recipe = Recipe(name, int(rng.integers(2**31)), ((operation, params),))
        yield name, recipe.families, recipe.render(real.natural(name, N, seed))


def made(part: str, splits: Splits, seed: int) -> Iterator[Made]:
    """The sets of one part."""
    if part == "reference":
        yield part, frozenset(), splits.reference
    elif part == "clean":
        rows = np.random.default_rng(1000 + seed).permutation(len(splits.train))[:CLEAN]
        yield part, frozenset(), splits.train.take(rows)
    elif part == "meta":
        yield from wide(splits, seed, 40, "")
    elif part == "seen":
        yield from wide(splits, seed, 4, "t")
    elif part in ("corrupted", "few"):
        yield from corrupted(splits.test_base, seed, part == "few")
    elif part == "distorted":
        yield from distorted(seed)
    else:
        for name in (*CHOSEN, *TESTED, *DRAWN):
            yield name, frozenset(), real.natural(name, N, seed)


@cache
def looks(name: str) -> Look:
    """A network's features or logits of images; of no network, the images' statistics."""
    if name == STATS:
        return lambda images: image_stats(torch.from_numpy(images.transpose(0, 3, 1, 2))).numpy()
    if name == "lite0":
        encode = lite0(engine="openvino").encode_images
        return lambda images: encode(images).astype(np.float16)
    classifier = real.classifier(name)
    return lambda images: classifier(images)[0].numpy()


class Seen:
    """What a classifier and lite0 see of the sets of one seed, kept in a folder.

    It has SEED/PART.json (names, families, sizes), SEED/PART-labels.npy and SEED/LOOKER/PART.npy.
    """

    def __init__(self, folder: Path, arch: str, seed: int) -> None:
        self.folder, self.arch, self.seed = folder / str(seed), arch, seed
        self.classes = np.arange(len(CIFAR10))
        known, clean = self.arrays("lite0", "reference"), self.arrays("lite0", "clean")
        _, labels = self.sets("reference")
        weight, bias = fit_linear(clean.astype(np.float32), self.sets("clean")[1], len(CIFAR10))
        heat = likeliest_temperature(known @ weight.T + bias, labels)
        self.weight, self.bias = weight / heat, bias / heat

    def sets(self, part: str) -> tuple[list[tuple[str, list[str], int]], IntArray]:
        """Name, families and size of each set of a part, and all labels."""
        about, labels = self.folder / f"{part}.json", self.folder / f"{part}-labels.npy"
        if not about.exists():
            sets = list(made(part, self.splits, self.seed))
            self.folder.mkdir(parents=True, exist_ok=True)
            np.save(labels, np.concatenate([images.labels for _, _, images in sets]))
            about.write_text(json.dumps([(name, sorted(of), len(images)) for name, of, images in sets]))
        return json.loads(about.read_text()), np.load(labels)

    def arrays(self, looker: str, part: str) -> FloatArray:
        """What a network sees of all images of a part."""
        path = self.folder / looker / f"{part}.npy"
        if not path.exists():
            rows = [looks(looker)(images.images) for _, _, images in made(part, self.splits, self.seed)]
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, np.concatenate(rows))
            print(f"seed {self.seed}: {looker} has seen {part}", flush=True)
        return np.load(path)

    @cached_property
    def splits(self) -> Splits:
        """CIFAR-10, read once."""
        return load_source(str(real.data() / "cifar10.zip"), self.seed)

    def observed(self, part: str, referee: bool) -> Observed:
        """Observations, labels and families of the sets of a part, of their images of `classes` alone."""
        about, labels = self.sets(part)
        logits, stats = self.arrays(self.arch, part), self.arrays(STATS, part)
        features = self.arrays("lite0", part).astype(np.float32)
        judged = (features @ self.weight.T + self.bias).astype(np.float32)
        ends = np.cumsum([size for _, _, size in about])[:-1]
        views = [{f"{REFEREE}lite0": each} if referee else {} for each in np.split(judged, ends)]
        names, families, _ = zip(*about, strict=True)
        rows = zip(names, np.split(logits, ends), np.split(stats, ends), views, strict=True)
        seen = [Observation(n, self.arch, own, image_stats=s, views=v) for n, own, s, v in rows]
        whole = seen, np.split(labels, ends), [frozenset(of) for of in families]
        return whole if len(self.classes) == len(CIFAR10) else self.narrowed(*whole)

    def narrowed(self, *whole: Any) -> Observed:
        """The images and logits of `classes` of sets that have all of these, in a tenth of the images."""
        found: Observed = [], [], []
        for each, labels, families in zip(*whole, strict=True):
            rows = np.flatnonzero(np.isin(labels, self.classes))
            if 10 * len(rows) < len(each) or not np.isin(self.classes, labels).all():
                continue
            part = each.take(rows)
            views = {name: logits[:, self.classes] for name, logits in part.views.items()}
            found[0].append(replace(part, logits=part.logits[:, self.classes], views=views))
            found[1].append(np.searchsorted(self.classes, labels[rows]))
            found[2].append(families)
        return found

    def meta(self, referee: bool) -> MetaTrain:
        """The meta-train sets with the labelled source."""
        (known,), (labels,), _ = self.observed("reference", referee)
        k = len(self.classes)
        source = Source(known, labels, known, np.zeros((k, 1)), np.zeros(k))
        seen, truth, families = self.observed("meta", referee)
        correct = [each.predicted == classes for each, classes in zip(seen, truth, strict=True)]
        return MetaTrain(
            source, seen, np.array([each.mean() for each in correct]), correct, families, labels=truth
        )


def kind_of(part: str, name: str, accuracy: float) -> list[str]:
    """The kinds by which a set counts."""
    if part == "distorted":
        return ["photographs"]
    if part != "natural":
        return [{"seen": "seen", "few": "new, few classes"}.get(part, "new corruptions")]
    if name in DRAWN:
        return ["drawings"]
    return ["photographs", "mild natural"] if accuracy > MILD else ["photographs"]


def errors(
    seen: Seen,
    methods: Sequence[str] = tuple(METHODS),
    parts: Sequence[str] = PARTS,
    draw: Draw | None = None,
) -> list[dict[str, Any]]:
    """A line for each method and set, or sample of it: kinds, name and error in points."""
    found = []
    for referee in (True, False):
        meta = seen.meta(referee)
        for name in methods:
            if name.endswith(ALONE) == referee or (not referee and name != f"gated{ALONE}"):
                continue
            fitted = clone(METHODS[name]).fit(meta)
            for part in parts:
                sets, truth, _ = seen.observed(part, referee)
                for each, labels in sampled(sets, truth, draw) if draw else zip(sets, truth, strict=True):
                    accuracy = float((each.predicted == labels).mean())
                    error = 100 * float(fitted.predict([each])[0] - accuracy)
                    line = {"method": name, "set": each.set_name, "error": error, "seed": seen.seed}
                    found.append({**line, "kinds": kind_of(part, each.set_name, accuracy)})
    return found


def sampled(
    sets: list[Observation], truth: list[IntArray], draw: Draw
) -> Iterator[tuple[Observation, IntArray]]:
    """Samples of sets, with their labels."""
    rng = np.random.default_rng(0)
    for each, labels in zip(sets, truth, strict=True):
        for _ in range(DRAWS):
            rows = draw(labels, rng)
            yield each.take(rows), labels[rows]


def small(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """A few images."""
    return rng.permutation(len(labels))[:SMALL]


def uneven(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """Images in class shares of a flat Dirichlet distribution, some 170 of 500."""
    shares = rng.dirichlet(np.ones(len(CIFAR10)))
    return np.flatnonzero(rng.random(len(labels)) < shares[labels] / shares.max())


def even(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """As many images of each class, of those with a fortieth of the set or more."""
    counts = np.bincount(labels)
    most = [np.flatnonzero(labels == c) for c in np.flatnonzero(40 * counts >= len(labels))]
    return np.concatenate([rng.permutation(rows)[: min(map(len, most))] for rows in most])


SHAPES: dict[str, tuple[tuple[str, ...], Draw | None]] = {
    f"{SMALL} images": (("natural", "corrupted"), small),
    "Dirichlet shares": (("corrupted",), uneven),
    "equal shares": (("natural",), even),
    "newly corrupted": (("distorted",), None),
}


def shaped(seen: Seen) -> list[dict[str, Any]]:
    """The lines of sets of other sizes and shares, and of two classes."""
    found = []
    for shape, (parts, draw) in SHAPES.items():
        found += [{"shape": shape, **line} for line in errors(seen, SHAPED, parts, draw)]
    for pair in PAIRS:
        seen.classes = np.array(pair)
        lines = errors(seen, SHAPED, ("natural", "corrupted"))
        found += [{"shape": "two classes", **line} for line in lines]
    return found


def shapes(lines: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """RMSE by shape and kind, the mean over seeds."""
    rows = []
    for (shape, kind), mine in lines.groupby(["shape", lines.kinds.str[0]], sort=False):
        row = {"sets": f"{shape}: {kind}", "count": len(mine) // len(SHAPED)}
        rows.append(row | {method: of_seeds(mine[mine.method == method], rmse) for method in SHAPED})
    return {"shapes": rows}


def rmse(errors: pd.Series) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def of_seeds(lines: pd.DataFrame, measure: Callable[[pd.Series], float]) -> float:
    """The mean over seeds of a measure of errors."""
    return float(np.mean([measure(part.error) for _, part in lines.groupby("seed")]))


def tables(lines: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """RMSE by kind, the mean over seeds; of photographs the median error too."""
    by_kind = []
    for method in METHODS:
        row: dict[str, Any] = {"method": method}
        for kind in KINDS:
            mine = lines[(lines.method == method) & lines.kinds.map(lambda kinds, kind=kind: kind in kinds)]
            row[kind] = of_seeds(mine, rmse)
            if kind == "photographs":
                row["median"] = of_seeds(mine, lambda errors: float(errors.abs().median()))
        by_kind.append(row)
    return {"rmse": by_kind}


def main() -> None:
    """Look, fit, predict, print."""
    parser = real.parser(__doc__)
    parser.add_argument("--classifier", default="resnet56")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--shapes", action="store_true", help="small sets, other shares, two classes")
    given = parser.parse_args()
    real.require("natural.zip", "natural_more.zip", f"weights/{given.classifier}.safetensors", referee=True)
    measure, summary = (shaped, shapes) if given.shapes else (errors, tables)
    seen = (Seen(given.folder, given.classifier, seed) for seed in range(given.seeds))
    lines = [line for each in seen for line in measure(each)]
    for table, rows in summary(pd.DataFrame(lines)).items():
        print(f"\n{table}\n{pd.DataFrame(rows).round(1).to_string(index=False)}")
        if given.write:
            record(f"gated-{table}-{given.classifier.partition('_')[0]}", rows, decimals=1)


if __name__ == "__main__":
    main()
