"""How `unseen.estimate` does on natural sets, and on a table without images (docs/results/estimate.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/estimate.py natural [--images 800] [--write]
    UNSEEN_DATA=FOLDER python benchmarks/results/estimate.py images [--images 100] [--sets 0 24 48]
        [--referee lite0] [--write]
    python benchmarks/results/estimate.py table [--splits 30] [--write]

FOLDER holds what `real.py` here says, and natural.zip. `natural`: two networks trained on CIFAR-10, 2,000
labelled test images each, the rest of them and the natural sets without labels; from logits, with the other
network as the second model, and with features. `images`: ResNet-56 and the images themselves, with so many
meta-train sets. `table`: logistic regression on scikit-learn's breast-cancer table, whose columns are then
disturbed; without and with the columns as features. --write puts the lines into docs/results.
"""

import argparse
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pages
import real
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unseen
from starter.images.imageset import ImageSet
from starter.making.referees import load_referees
from starter.sources.oodsets import CIFAR10
from starter.sources.sources import load_images
from unseen.estimation.images import Asked, estimate_sets

NETWORKS = ("resnet56", "repvgg_a0")
LABELLED = 2000
CHUNK = 500

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
            lines.append(told({"network": name, "from": way}, found, accuracies(new, labels)))
    return lines


def of_images(images: int, counts: Sequence[int], referees: tuple[str, ...]) -> list[Line]:
    """The same from ResNet-56 and images, for each number of meta-train sets."""
    sets, network = dict(natural_sets(images)), NETWORKS[0]
    labels = {key: each.labels for key, each in sets.items()}
    known, rest = sets["cifar10"].take(np.arange(LABELLED)), np.arange(LABELLED, LABELLED + images)
    new = [replace(each, name=key) for key, each in {**sets, "cifar10": sets["cifar10"].take(rest)}.items()]
    right = accuracies(parted(seen_by(network, sets)[0])[1], labels)
    lines = []
    for count in counts:
        asked = Asked(count, referees=referees)
        found = estimate_sets(real.classifier(network), known, new, asked, load_referees(referees))
        line = {"network": network, "meta-train sets": count, "referee": ", ".join(referees) or "none"}
        lines.append(told(line, found, right))
    return lines


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
    print(line, (100 * table[["true", "accuracy", "low", "high", *found.centres]]).round(1).to_string())
    held, error = table.true.between(table.low, table.high), table.accuracy - table.true
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
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for split in range(splits):
        rng = np.random.default_rng(split)
        train, labelled, today = np.split(rng.permutation(len(data.data)), [150, 360])
        model = make_pipeline(StandardScaler(), LogisticRegression())
        model.fit(data.data[train], data.target[train])
        sets = dict(disturbed(data.data[today], rng))
        known = model.predict_proba(data.data[labelled]), data.target[labelled]
        new = {name: model.predict_proba(rows) for name, rows in sets.items()}
        scaled = model[0].transform
        columns = scaled(data.data[labelled]), {name: scaled(rows) for name, rows in sets.items()}
        for way, features in (("probabilities", None), ("and columns", columns)):
            for each in unseen.estimate(*known, new, features=features, probabilities=True).sets:
                true = float((model.predict(sets[each.name]) == data.target[today]).mean())
                numbers = each.low <= true <= each.high, each.high - each.low, (each.accuracy - true) ** 2
                found.setdefault((each.name, way), []).append(numbers)
    lines = []
    for (name, way), numbers in found.items():
        held, width, squared = np.mean(numbers, axis=0).tolist()
        line = {"what was done to the columns": name, "from": way, "coverage": held}
        lines.append(line | {"mean width, points": 100 * width, "RMSE, points": 100 * squared**0.5})
    return lines


def main() -> None:
    """Measure, print, and record where that is asked for."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("task", choices=["natural", "images", "table"])
    parser.add_argument("--images", type=int, default=800)
    parser.add_argument("--sets", type=int, nargs="+", default=[24])
    parser.add_argument("--referee", action="append", default=[])
    parser.add_argument("--splits", type=int, default=30)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    lines = {
        "natural": lambda: natural(asked.images),
        "images": lambda: of_images(asked.images, asked.sets, tuple(asked.referee)),
        "table": lambda: table(asked.splits),
    }[asked.task]()
    print(*lines, sep="\n")
    if asked.write:
        pages.record(f"estimate-{asked.task}", lines, decimals=1 if asked.task != "table" else 2)


if __name__ == "__main__":
    main()
