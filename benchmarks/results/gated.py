"""gated on real CIFAR-10 beside other methods, by kind of set: the tables of docs/results/gated.md.

    UNSEEN_DATA=FOLDER python benchmarks/results/gated.py DIR [--seeds 3] [--classifier repvgg_a0]
        [--precision bfloat16] [--write]

FOLDER is as for cifar10.py here, with natural_more.zip. DIR keeps what networks have seen of the sets: an
interrupted run goes on. For each seed there are 120 `wide` meta-train sets of 500 images: 40 each of the
groups default, a and b, of none to three operations, three in ten with other class priors. The referee is
lite0 at 128 pixels, with one probe of 6,000 clean training images. CHOSEN names the natural sets by which
constants were chosen, beside left-out operations; on the other kinds methods were compared afterwards.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import real
from pages import record
from sklearn.base import clone

from baselines import BASELINES, Estimator
from oracle import Gated
from starter.encoders.choose import lite0
from starter.images.imageset import ImageSet
from starter.observing.observation import REFEREE, MetaTrain, Observation, Source
from starter.observing.referee import fit_linear
from starter.observing.temperature import likeliest_temperature
from starter.operations import OPERATIONS, new_operations
from starter.sets.recipe import Recipe, draw_recipes
from starter.sources.oodsets import CIFAR10
from starter.sources.sources import load_images, load_source
from starter.sources.splits import Splits
from submission.arrays import FloatArray, IntArray, Pixels

CHOSEN = (
    *("caltech101", "natural_images", "catsdogs_kaggle", "catsdogs_small", "catsdogs_breeds"),
    *("tinyin_a", "tinyin_b", "tinyin_c", "tinyin_d"),
)
TESTED = ("imagenet_one_each", "imagenette_dog_truck", "pacs_photo")
DRAWN = ("pacs_cartoon", "stylised_shapes")
MORE = ("tinyin_b", "tinyin_c", "catsdogs_breeds")
"""The sets in natural_more.zip."""
N, CLEAN = 500, 6000
WIDE: dict[str, Any] = {"ops_per_set": (0, 3), "prior_share": 0.3, "weak_share": 0.5}
ALONE = " without a referee"
METHODS: dict[str, Estimator] = {
    "gated": Gated(),
    f"gated{ALONE}": Gated(),
    **{name: BASELINES[name] for name in ("cott", "cott-referee", "agreement", "fused", "frap", "cott-em")},
    **{name: BASELINES[name] for name in ("atc", "confscore", "doc", "constant")},
}
KINDS = ("photographs", "drawings", "new corruptions", "new, few classes", "seen", "mild natural")
MILD = 0.75
Look = Callable[[Pixels], FloatArray]
Made = tuple[str, frozenset[str], ImageSet]
Observed = tuple[list[Observation], list[IntArray], list[frozenset[str]]]


def natural(name: str, seed: int) -> Made:
    """Up to 500 images of a natural set."""
    file = "natural_more.zip" if name in MORE else "natural.zip"
    return name, frozenset(), load_images(real.data() / file / name, CIFAR10, N, seed=seed)


def wide(splits: Splits, seed: int, count: int, prefix: str) -> Iterator[Made]:
    """Sets of the groups that methods learn from: of meta-base, or others of test-base."""
    base = splits.test_base if prefix else splits.meta_base
    for group in ("default", "a", "b"):
        for recipe in draw_recipes(group, count, seed, N, prefix=f"{prefix}{group}", **WIDE):
            yield recipe.name, recipe.families, recipe.render(base)


def corrupted(splits: Splits, seed: int, few: bool) -> Iterator[Made]:
    """Test images, of all or of two to four classes, under each operation that no meta-train group has."""
    for number, name in enumerate(new_operations("default+a+b")):
        rng, base = np.random.default_rng([6, seed, number]), splits.test_base
        params = OPERATIONS[name].draw_params(rng, 1.0)
        if few:
            base = base.take(np.flatnonzero(np.isin(base.labels, rng.permutation(10)[: rng.integers(2, 5)])))
        sample = ("sample", {"n": min(N, len(base))})
        recipe = Recipe(f"{name}-few" if few else name, int(rng.integers(2**31)), (sample, (name, params)))
        yield recipe.name, recipe.families, recipe.render(base)


def made(part: str, splits: Splits, seed: int) -> Iterator[Made]:
    """The sets of one part."""
    if part == "reference":
        yield part, frozenset(), splits.reference
    elif part == "clean":
        rows = np.random.default_rng(1000 + seed).permutation(len(splits.train))[:CLEAN]
        yield part, frozenset(), splits.train.take(rows)
    elif part in ("meta", "seen"):
        yield from wide(splits, seed, *((40, "") if part == "meta" else (4, "t")))
    elif part in ("corrupted", "few"):
        yield from corrupted(splits, seed, part == "few")
    else:
        yield from (natural(name, seed) for name in (*CHOSEN, *TESTED, *DRAWN))


def looks(name: str, precision: str) -> Look:
    """A network's features or logits of images."""
    if name == "lite0":
        encode = lite0(engine="openvino").encode_images
        return lambda images: encode(images).astype(np.float16)
    classifier = real.classifier(name, precision)
    return lambda images: classifier(images)[0].numpy()


class Seen:
    """What a classifier and lite0 see of the sets of one seed, kept in a folder.

    Args:
        folder: Where arrays are kept: SEED/PART.json (names, families, sizes), labels, and LOOKER/PART.npy.
        arch, precision: The classifier's.
        seed: Seed of splits and sets.
    """

    def __init__(self, folder: Path, arch: str, precision: str, seed: int) -> None:
        self.folder, self.arch, self.precision, self.seed = folder / str(seed), arch, precision, seed
        self.splits: list[Splits] = []
        self.looks: dict[str, Look] = {}
        known, clean = self.arrays("lite0", "reference"), self.arrays("lite0", "clean")
        _, labels = self.sets("reference")
        weight, bias = fit_linear(clean.astype(np.float32), self.sets("clean")[1], len(CIFAR10))
        heat = likeliest_temperature(known @ weight.T + bias, labels)
        self.weight, self.bias = weight / heat, bias / heat

    def sets(self, part: str) -> tuple[list[tuple[str, list[str], int]], IntArray]:
        """Name, families and size of each set of a part, and all labels."""
        about, labels = self.folder / f"{part}.json", self.folder / f"{part}-labels.npy"
        if not about.exists():
            sets = list(made(part, self.source(), self.seed))
            self.folder.mkdir(parents=True, exist_ok=True)
            np.save(labels, np.concatenate([images.labels for _, _, images in sets]))
            about.write_text(json.dumps([(name, sorted(of), len(images)) for name, of, images in sets]))
        return json.loads(about.read_text()), np.load(labels)

    def arrays(self, looker: str, part: str) -> FloatArray:
        """What a network sees of all images of a part."""
        path = self.folder / looker / f"{part}.npy"
        if not path.exists():
            self.looks[looker] = self.looks.get(looker) or looks(looker, self.precision)
            look, sets = self.looks[looker], made(part, self.source(), self.seed)
            rows = [look(images.images) for _, _, images in sets]
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, np.concatenate(rows))
            print(f"seed {self.seed}: {looker} has seen {part}", flush=True)
        return np.load(path)

    def source(self) -> Splits:
        """CIFAR-10, read once."""
        self.splits = self.splits or [load_source(str(real.data() / "cifar10.zip"), self.seed)]
        return self.splits[0]

    def observed(self, part: str, referee: bool) -> Observed:
        """Observations, labels and families of the sets of a part."""
        about, labels = self.sets(part)
        logits, features = self.arrays(self.arch, part), self.arrays("lite0", part).astype(np.float32)
        judged = (features @ self.weight.T + self.bias).astype(np.float32)
        ends = np.cumsum([size for _, _, size in about])[:-1]
        views = [{f"{REFEREE}lite0": each} if referee else {} for each in np.split(judged, ends)]
        rows = zip(about, np.split(logits, ends), views, strict=True)
        seen = [Observation(name, self.arch, own, views=view) for (name, _, _), own, view in rows]
        return seen, np.split(labels, ends), [frozenset(of) for _, of, _ in about]

    def meta(self, referee: bool) -> MetaTrain:
        """The meta-train sets with the labelled source."""
        (known,), (labels,), _ = self.observed("reference", referee)
        source = Source(known, labels, known, np.zeros((len(CIFAR10), 1)), np.zeros(len(CIFAR10)))
        seen, truth, families = self.observed("meta", referee)
        correct = [each.predicted == classes for each, classes in zip(seen, truth, strict=True)]
        return MetaTrain(
            source, seen, np.array([each.mean() for each in correct]), correct, families, labels=truth
        )


def kind_of(part: str, name: str, accuracy: float) -> list[str]:
    """The kinds by which a set counts."""
    if part != "natural":
        return [{"corrupted": "new corruptions", "few": "new, few classes"}.get(part, part)]
    if name in DRAWN:
        return ["drawings"]
    return ["photographs", "mild natural"] if accuracy > MILD else ["photographs"]


def errors(given: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    """A line for each method and set: kinds, name and error in points."""
    seen, found = Seen(given.folder, given.classifier, given.precision, seed), []
    for referee in (True, False):
        meta = seen.meta(referee)
        for name, method in METHODS.items():
            if name.endswith(ALONE) == referee or (not referee and name != f"gated{ALONE}"):
                continue
            fitted = clone(method).fit(meta)
            for part in ("natural", "corrupted", "few", "seen"):
                sets, truth, _ = seen.observed(part, referee)
                for each, labels, value in zip(sets, truth, fitted.predict(sets), strict=True):
                    accuracy = float((each.predicted == labels).mean())
                    line = {"method": name, "set": each.set_name, "error": 100 * float(value - accuracy)}
                    found.append({**line, "kinds": kind_of(part, each.set_name, accuracy), "seed": seed})
    return found


def tables(lines: Sequence[dict[str, Any]], seeds: int) -> dict[str, list[dict[str, Any]]]:
    """RMSE by kind, the mean over seeds; of photographs the median error too; and errors on natural sets."""
    rmse, by_set = [], []
    for method in METHODS:
        mine = [line for line in lines if line["method"] == method]
        row: dict[str, Any] = {"method": method}
        for kind in KINDS:
            each = [[x["error"] for x in mine if kind in x["kinds"] and x["seed"] == s] for s in range(seeds)]
            row[kind] = float(np.mean([np.sqrt(np.mean(np.square(of))) for of in each]))
            if kind == "photographs":
                row["median"] = float(np.mean([np.median(np.abs(of)) for of in each]))
        rmse.append(row)
    for name in (*CHOSEN, *TESTED, *DRAWN):
        row = {"set": name}
        for method in ("gated", f"gated{ALONE}", "cott", "cott-referee", "agreement"):
            row[method] = float(
                np.mean([x["error"] for x in lines if (x["method"], x["set"]) == (method, name)])
            )
        by_set.append(row)
    return {"rmse": rmse, "natural": by_set}


def main() -> None:
    """Look, fit, predict, print."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--classifier", default="resnet56")
    parser.add_argument("--precision", default="", help="of the classifier")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="record the tables for docs/results")
    given = parser.parse_args()
    lines = [x for seed in range(given.seeds) for x in errors(given, seed)]
    for table, rows in tables(lines, given.seeds).items():
        print(f"\n{table}")
        for row in rows:
            print({key: round(value, 1) if isinstance(value, float) else value for key, value in row.items()})
        if given.write:
            record(f"gated-{table}-{given.classifier.partition('_')[0]}", rows, decimals=1)


if __name__ == "__main__":
    main()
