"""Small tasks with shifts of known families, to try estimates on: digits, tables, texts, photographs.

A task has three models, fitted to training rows, labelled rows, and sets made from rows that no model has
seen. A set's family is what was done to it; photographs have one family for each source of the natural
validation sets, and one of distortions by the operations of meta-train sets.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import real
from scipy.ndimage import gaussian_filter, rotate, shift
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from starter.data.images.imageset import ImageSet
from starter.data.sets.recipe import draw_recipes

NETWORKS = {"resnet56": "resnet56", "resnet56_peer": "resnet56", "repvgg_a0": "repvgg_a0"}
"""Weights files and their architectures."""
SOURCES = {
    "caltech101": ("caltech101",),
    "natural_images": ("natural_images",),
    "cats and dogs": ("catsdogs_kaggle", "catsdogs_small", "catsdogs_breeds"),
    "tiny imagenet": ("tinyin_a", "tinyin_b", "tinyin_c", "tinyin_d"),
}
"""The natural validation sets by collection."""
LABELLED, SET_SIZE = 2000, 500
TINY = 1e-12

Rows = np.ndarray
Shifted = tuple[str, str, Rows, Rows]
"""Family, name, rows and labels of a set."""


@dataclass(frozen=True)
class Look:
    """What a model gives for rows: logits (n, k), features (n, d), and the labels (n,)."""

    logits: Rows
    features: Rows
    labels: Rows

    @property
    def accuracy(self) -> float:
        """Share of rows that are classed rightly."""
        return float((self.logits.argmax(axis=1) == self.labels).mean())


@dataclass(frozen=True)
class Case:
    """A model's look at labelled rows, and at sets by family and name."""

    task: str
    model: str
    labelled: Look
    sets: dict[tuple[str, str], Look]


def look(model: ClassifierMixin, rows: Rows, labels: Rows) -> Look:
    """What a model of scikit-learn gives: log-probabilities, and its last hidden layer or the columns."""
    logits = np.log(np.maximum(model.predict_proba(rows), TINY))
    columns = model[0].transform(rows)
    if isinstance(net := model[-1], MLPClassifier):
        columns = np.maximum(columns @ net.coefs_[0] + net.intercepts_[0], 0)
    return Look(logits, columns, labels)


def few_classes(labels: Rows, rng: np.random.Generator, count: int) -> Rows:
    """Rows of so many of the classes, in random order."""
    return rng.permutation(np.flatnonzero(np.isin(labels, rng.permutation(np.unique(labels))[:count])))


def other_shares(labels: Rows, rng: np.random.Generator, size: int) -> Rows:
    """Rows whose class shares are a draw from a flat Dirichlet law."""
    shares = rng.dirichlet(np.ones(len(np.unique(labels))))[labels]
    weights = shares / np.bincount(labels)[labels]
    return rng.choice(len(labels), min(size, len(labels) // 2), p=weights / weights.sum())


def digits(rng: np.random.Generator, rows: Rows, labels: Rows) -> Iterator[Shifted]:
    """Images of 8 x 8 pixels from 0 to 16, three strengths of each shift."""
    images = rows.reshape(-1, 8, 8)
    scene = float(images.mean())
    made: dict[str, tuple[Callable[[float], Rows], tuple[float, ...]]] = {
        "blur": (lambda s: gaussian_filter(images, (0, s, s)), (0.5, 0.8, 1.2)),
        "noise": (lambda s: np.clip(images + rng.normal(0, s, images.shape), 0, 16), (2, 4, 7)),
        "low contrast": (lambda s: scene + s * (images - scene), (0.6, 0.35, 0.2)),
        "turns": (lambda s: rotate(images, s, (1, 2), reshape=False, order=1), (12, 25, 45)),
        "moves": (lambda s: shift(images, (0, 0, s), order=1), (0.5, 1, 2)),
    }
    yield "none", "none", rows, labels
    for family, (change, strengths) in made.items():
        for strength in strengths:
            yield family, f"{family} {strength:g}", change(strength).reshape(len(rows), -1), labels
    for count in (2, 4, 6):
        some = few_classes(labels, rng, count)
        yield "few classes", f"{count} classes", rows[some], labels[some]


def table(rng: np.random.Generator, rows: Rows, labels: Rows) -> Iterator[Shifted]:
    """Columns of numbers: noise, lost columns, rows chosen by a column, other class shares."""
    spread = rows.std(axis=0)
    yield "none", "none", rows, labels
    for strength in (0.5, 1.0, 2.0):
        yield "noise", f"noise {strength:g}", rows + strength * spread * rng.normal(size=rows.shape), labels
    for share in (0.3, 0.6):
        lost = rng.random(rows.shape[1]) < share
        yield "lost columns", f"{share:g} lost", np.where(lost, rows.mean(axis=0), rows), labels
    for part in (0.5, 0.25):
        column = rows[:, rng.integers(rows.shape[1])]
        chosen = np.argsort(column)[-int(part * len(rows)) :]
        yield "chosen rows", f"{part:g} chosen", rows[chosen], labels[chosen]
    for number in (1, 2, 3):
        some = other_shares(labels, rng, 200)
        yield "class shares", f"shares {number}", rows[some], labels[some]


def texts(rng: np.random.Generator, size: int, words: Rows, length: int = 30) -> tuple[Rows, Rows]:
    """Counts of words (size, v) of documents, and their topics, whose word shares are `words` (k, v)."""
    topics = rng.integers(len(words), size=size)
    return np.array([rng.multinomial(length, words[topic]) for topic in topics], dtype=np.float64), topics


def written(rng: np.random.Generator, words: Rows) -> Iterator[Shifted]:
    """New documents: short ones, with words of another topic, or of none, of few topics, of other shares."""
    yield "none", "none", *texts(rng, SET_SIZE, words)
    for length in (15, 8, 4):
        yield "short", f"{length} words", *texts(rng, SET_SIZE, words, length)
    other, flat = words[rng.permutation(len(words))], np.full_like(words, 1 / words.shape[1])
    for share in (0.2, 0.35, 0.5):
        yield "drift", f"drift {share:g}", *texts(rng, SET_SIZE, (1 - share) * words + share * other)
        yield "unknown words", f"{share:g} unknown", *texts(rng, SET_SIZE, (1 - share) * words + share * flat)
    rows, topics = texts(rng, SET_SIZE * 4, words)
    for count in (1, 2, 4):
        some = few_classes(topics, rng, count)[:SET_SIZE]
        yield "few topics", f"{count} topics", rows[some], topics[some]
    for number in (1, 2):
        some = other_shares(topics, rng, SET_SIZE)
        yield "topic shares", f"shares {number}", rows[some], topics[some]


def small_cases(seed: int) -> Iterator[Case]:
    """The cases of digits, two tables and texts; features are a hidden layer, or the columns as scaled."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(400, 0.3), size=8)
    texted = texts(rng, 1500, 0.5 * words + 0.5 * words.mean(axis=0))
    words = 0.5 * words + 0.5 * words.mean(axis=0)
    tasks = {
        "digits": (*load_digits(return_X_y=True), digits),
        "breast cancer": (*load_breast_cancer(return_X_y=True), table),
        "wine": (*load_wine(return_X_y=True), table),
        "texts": (*texted, lambda rng, rows, labels: written(rng, words)),
    }
    for task, (rows, labels, shifted) in tasks.items():
        order = rng.permutation(len(rows))
        train, known, rest = np.split(order, [int(0.3 * len(rows)), int(0.6 * len(rows))])
        scaler = StandardScaler if shifted is table else MaxAbsScaler
        third = MultinomialNB() if task == "texts" else ExtraTreesClassifier(200, random_state=seed)
        kinds = {
            "linear": LogisticRegression(max_iter=2000),
            "network": MLPClassifier((64,), max_iter=300, random_state=seed),
            "bayes" if task == "texts" else "trees": third,
        }
        sets = list(shifted(rng, rows[rest], labels[rest]))
        for name, kind in kinds.items():
            model = make_pipeline(scaler(), kind).fit(rows[train], labels[train])
            looked = {(family, what): look(model, x, y) for family, what, x, y in sets}
            if task == "digits":
                plain = looked["none", "none"]
                for factor in (0.4, 0.7, 1.5, 3.0):
                    scaled = Look(factor * plain.logits, plain.features, plain.labels)
                    looked["scaled logits", f"logits x {factor:g}"] = scaled
            yield Case(task, name, look(model, rows[known], labels[known]), looked)


def photographs() -> dict[tuple[str, str], ImageSet]:
    """CIFAR-10's test images in a random order, the labelled ones first, and the natural validation sets."""
    clean = real.images("test", LABELLED + SET_SIZE)
    sets = {("none", "none"): clean.take(np.random.default_rng(0).permutation(len(clean)))}
    for source, names in SOURCES.items():
        for name in names:
            sets[source, name] = real.natural(name, SET_SIZE)
    clean = sets["none", "none"].take(np.arange(LABELLED, LABELLED + SET_SIZE))
    for recipe in draw_recipes("wide", 12, 0, SET_SIZE // 2):
        sets["distorted", recipe.name] = recipe.render(clean)
    return sets


def natural_cases(folder: Path) -> Iterator[Case]:
    """Three networks of CIFAR-10 look at photographs of other collections; `folder` keeps what they see."""
    sets = photographs()
    for name, arch in NETWORKS.items():
        path, looks = folder / f"{name}.npz", list[Look]()
        if not path.exists():
            network = real.classifier(arch, file=name)
            seen = [part.numpy() for each in sets.values() for part in network(each.images)]
            folder.mkdir(parents=True, exist_ok=True)
            np.savez(path, *seen)
        with np.load(path) as arrays:
            parts = [arrays[key] for key in arrays.files]
        for images, logits, features in zip(sets.values(), parts[::2], parts[1::2], strict=True):
            looks.append(Look(logits, features, images.labels))
        whole, *others = looks
        known, rest = (
            Look(whole.logits[part], whole.features[part], whole.labels[part])
            for part in (slice(LABELLED), slice(LABELLED, None))
        )
        yield Case("photographs", name, known, dict(zip(sets, [rest, *others], strict=True)))
