"""How `unseen.estimate` does on natural sets, and on a table without images (docs/results/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/estimate.py natural [--images 800] [--write]
    UNSEEN_DATA=FOLDER python benchmarks/results/estimate.py images [--images 200] [--network NAME]
        [--sets 24 [0 ...]] [--referee lite0] [--write]
    UNSEEN_DATA=FOLDER python benchmarks/results/estimate.py rotations [--images 300] [--network NAME]
        [--sets 24] [--referee lite0] [--write]
    python benchmarks/results/estimate.py table [--splits 30] [--write]

FOLDER holds what `real.py` here says, and natural.zip. `natural`: two networks trained on CIFAR-10, 2,000
labelled test images each, the rest of them and the natural sets without labels; from logits, with the other
network as the second model, and with features. `images`: one of these networks and the images themselves,
with so many meta-train sets. `rotations`: that without and with turned copies, on the natural validation
sets alone, as they are and under operations. `table`: logistic regression on scikit-learn's breast-cancer
table, whose columns are then disturbed; without and with the columns as features. --write puts the lines into
docs/results.
"""

import argparse
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pages
import real
from cifar10 import VALIDATION
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unseen
from starter.images.imageset import ImageSet
from starter.making.referees import load_referees
from starter.sets.recipe import draw_recipes
from starter.sources.oodsets import CIFAR10
from starter.sources.sources import load_images
from unseen.estimation.images import Asked, estimate_sets

NETWORKS = ("resnet56", "repvgg_a0")
LABELLED = 2000
CHUNK = 500
DISTORTED = 200
SHOWN = ("accuracy", "low", "high", "unseen-best")

Arrays = dict[str, np.ndarray]
Line = dict[str, object]


def natural_sets(images: int) -> Iterator[tuple[str, ImageSet]]:
    """Images of the test split in a random order, then each natural set."""
    clean = real.images("test", LABELLED + images)
    yield "cifar10", clean.take(np.random.default_rng(0).permutation(len(clean)))
    with zipfile.ZipFile(real.data() / "natural.zip") as archive:
        names = sorted({name.split("/")[0] for name in archive.namelist() if "/" in name})
    for name in names:
        yield name, load_images(real.data() / "natural.zip" / name, CIFAR10, images)


def natural(images: int) -> list[Line]:
    """What is estimated from logits, beside the accuracies, is printed; the coverage is returned."""
    sets = dict(natural_sets(images))
    seen = {name: seen_by(name, sets) for name in NETWORKS}
    labels = {key: each.labels for key, each in sets.items()}
    lines = []
    for name, other in (NETWORKS, NETWORKS[::-1]):
        (logits, features), (others, _) = seen[name], seen[other]
        ways = {
            "logits": {},
            f"and those of {other}": {"second": parted(others)},
            "and features": {"features": parted(features)},
        }
        for way, more in ways.items():
            known, new = parted(logits)
            found = unseen.estimate(known, labels["cifar10"][:LABELLED], new, **more)
            print(f"\n{name}: {way}")
            lines.append(told({"network": name, "from": way}, found, accuracies(new, labels)))
    return lines


def of_images(images: int, network: str, counts: Sequence[int], referees: tuple[str, ...]) -> list[Line]:
    """The same from a network and images, for each number of meta-train sets."""
    sets, classifier = dict(natural_sets(images)), real.classifier(network)
    labels = {key: each.labels for key, each in sets.items()}
    known, rest = sets["cifar10"].take(np.arange(LABELLED)), np.arange(LABELLED, LABELLED + images)
    new = [replace(each, name=key) for key, each in {**sets, "cifar10": sets["cifar10"].take(rest)}.items()]
    right = accuracies(parted(seen_by(network, sets)[0])[1], labels)
    lines = []
    for count in counts:
        asked = Asked(count, referees=referees)
        found = estimate_sets(classifier, known, new, asked, load_referees(referees))
        print(f"\n{network}: {count} meta-train sets {' '.join(referees)}")
        line = {"network": network, "meta-train sets": count, "referee": ", ".join(referees) or "none"}
        lines.append(told(line, found, right))
    return lines


def of_rotations(images: int, network: str, count: int, referees: tuple[str, ...]) -> list[Line]:
    """Without and with turned copies: a line for each kind of validation sets."""
    known, classifier = real.images("test", LABELLED), real.classifier(network)
    kinds, sets = zip(*validation_sets(images), strict=True)
    logits = seen_by(network, {each.name: each for each in sets})[0]
    right = {each.name: float((logits[each.name].argmax(1) == each.labels).mean()) for each in sets}
    lines = []
    for turned in (False, True):
        asked, start = Asked(count, referees=referees, rotations=turned), time.process_time()
        found = estimate_sets(classifier, known, sets, asked, load_referees(referees)).table
        spent = time.process_time() - start
        print(found.assign(true=right)[["true", *SHOWN]].mul(100).round(1).to_string(), flush=True)
        line = {
            "network": network,
            "referee": ", ".join(referees) or "none",
            "turned copies": "with" if turned else "without",
        }
        for kind in dict.fromkeys(kinds):
            part = found.assign(true=right)[np.array(kinds) == kind]
            errors = part[["accuracy", "unseen-best"]].sub(part.true, axis=0).mul(100)
            rmse, held = np.sqrt((errors**2).mean()), part.true.between(part.low, part.high)
            lines.append(
                line
                | {
                    "validation sets": kind,
                    "interval holds": f"{held.sum()} of {len(held)}",
                    "RMSE, points": rmse["accuracy"],
                    "mean error, points": errors["accuracy"].mean(),
                    "RMSE of unseen-best alone": rmse["unseen-best"],
                    "processor, s": f"{spent:.0f}",
                }
            )
    return lines


def validation_sets(images: int) -> Iterator[tuple[str, ImageSet]]:
    """The natural validation sets with their kind: as they are, under operations learnt from, and others."""
    for number, name in enumerate(VALIDATION):
        whole = load_images(real.data() / "natural.zip" / name, CIFAR10, images)
        yield "as they are", replace(whole, name=name)
        for group, kind in (("wide", "under operations"), ("natural-like", "under natural-like changes")):
            for recipe in draw_recipes(group, 3, number + 1, DISTORTED, prefix=group, prior_share=0.0):
                yield kind, replace(recipe.render(whole), name=f"{name}-{recipe.name}")


def seen_by(name: str, sets: Mapping[str, ImageSet]) -> tuple[Arrays, Arrays]:
    """A network's logits and features of each set."""
    network = real.classifier(name)
    found: tuple[Arrays, Arrays] = ({}, {})
    for key, each in sets.items():
        parts = [network(each.images[i : i + CHUNK]) for i in range(0, len(each.images), CHUNK)]
        for kept, values in zip(found, zip(*parts, strict=True), strict=True):
            kept[key] = np.concatenate([part.numpy() for part in values])
    return found


def parted(values: Arrays) -> tuple[np.ndarray, Arrays]:
    """Those of the labelled images, and those of the sets."""
    new = {key: each[LABELLED:] if key == "cifar10" else each for key, each in values.items()}
    return values["cifar10"][:LABELLED], new


def accuracies(logits: Arrays, labels: Arrays) -> dict[str, float]:
    """The true accuracy on each set."""
    truth = parted(labels)[1]
    return {key: float((each.argmax(1) == truth[key]).mean()) for key, each in logits.items()}


def told(line: Line, found: unseen.Estimation, right: Mapping[str, float]) -> Line:
    """A line a set is printed; coverage, width and RMSE over the sets are returned."""
    table = found.table.assign(true=right)
    held = (table.low <= table.true) & (table.true <= table.high)
    shown = table[["true", "accuracy", "low", "high", *found.centres]] * 100
    print(shown.round(1).assign(held=held, fallen=table.fallen, outside=table.outside.round(1)).to_string())
    if own := [name for name in table if name.startswith("unseen-best ")]:
        print((table[own] * 100).round(1).to_string())
    error = table.accuracy - table.true
    return line | {
        "interval holds": f"{held.sum()} of {len(held)}",
        "mean width, points": 100 * float((table.high - table.low).mean()),
        "RMSE, points": 100 * float(np.sqrt((error**2).mean())),
        "mean error, points": 100 * float(error.mean()),
    }


def disturbed(rows: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """The rows as they are, with noise, and with columns lost; in units of the columns' own deviations."""
    spread = rows.std(axis=0)
    yield "as it is", rows
    for noise in (0.5, 1.0, 2.0):
        yield f"noise {noise}", rows + noise * spread * rng.normal(size=rows.shape)
    lost = rng.permutation(rows.shape[1])[: rows.shape[1] // 2]
    kept = rows.copy()
    kept[:, lost] = rows[:, lost].mean(axis=0)
    yield "half the columns lost", kept


def table(splits: int) -> list[Line]:
    """Coverage, width and RMSE of each disturbance over random splits."""
    data = load_breast_cancer()
    found: dict[tuple[str, str], list[tuple[bool, float, float]]] = {}
    for split in range(splits):
        rng = np.random.default_rng(split)
        train, labelled, today = np.split(rng.permutation(len(data.data)), [150, 360])
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
            data.data[train], data.target[train]
        )
        sets = dict(disturbed(data.data[today], rng))
        known = model.predict_proba(data.data[labelled]), data.target[labelled]
        new = {name: model.predict_proba(rows) for name, rows in sets.items()}
        scaled = model[0].transform
        columns = scaled(data.data[labelled]), {name: scaled(rows) for name, rows in sets.items()}
        for way, features in (("probabilities", None), ("and columns", columns)):
            for each in unseen.estimate(*known, new, features=features, probabilities=True).sets:
                true = float((model.predict(sets[each.name]) == data.target[today]).mean())
                held = each.low <= true <= each.high
                told = (held, each.high - each.low, each.accuracy - true)
                found.setdefault((each.name, way), []).append(told)
    return [coverage(*names, told) for names, told in found.items()]


def coverage(name: str, way: str, told: Sequence[tuple[bool, float, float]]) -> Line:
    """A line on many splits."""
    held, width, error = map(np.array, zip(*told, strict=True))
    return {
        "what was done to the columns": name,
        "from": way,
        "coverage": float(held.mean()),
        "mean width, points": 100 * float(width.mean()),
        "RMSE, points": 100 * float(np.sqrt((error**2).mean())),
    }


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("task", choices=["natural", "images", "rotations", "table"])
    parser.add_argument("--images", type=int)
    parser.add_argument("--network", choices=NETWORKS, default=NETWORKS[0])
    parser.add_argument("--sets", type=int, nargs="+", default=[24])
    parser.add_argument("--referee", action="append", default=[])
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.task == "natural":
        lines = natural(asked.images or 800)
    elif asked.task == "images":
        lines = of_images(asked.images or 200, asked.network, asked.sets, tuple(asked.referee))
    elif asked.task == "rotations":
        lines = of_rotations(asked.images or 300, asked.network, asked.sets[0], tuple(asked.referee))
    else:
        lines = table(asked.splits)
    print()
    for line in lines:
        print("  ".join(f"{each:.2f}" if isinstance(each, float) else f"{each!s}" for each in line.values()))
    if asked.write:
        pages.record(f"estimate-{asked.task}", lines, decimals=1 if asked.task != "table" else 2)


if __name__ == "__main__":
    main()
