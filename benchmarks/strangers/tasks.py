"""Tasks with shifts that chose nothing in the kit: tables, digits, few and many classes, made-up logits."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.ndimage import grey_dilation
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

KNOWN, SIZE = 800, 400
"""Rows that models learn from, as many labelled rows, and rows of a set."""
NONE, CONCEPT = "none", "concept change"
Rows = np.ndarray
Sets = dict[tuple[str, str], tuple[Rows, Rows]]
"""Rows (n, d) and labels (n,) of sets, by family and name."""


class Look(NamedTuple):
    """What is known of rows: probabilities (n, k), labels (n,), a second model's, and features (n, d)."""

    probabilities: Rows
    labels: Rows
    second: Rows | None = None
    features: Rows | None = None


class Case(NamedTuple):
    """A model's look at labelled rows, and at sets by family and name."""

    group: str
    model: str
    labelled: Look
    sets: dict[tuple[str, str], Look]


def look(models: list[Pipeline], rows: Rows, labels: Rows, digits: int = 12) -> Look:
    """What the first of two models gives, with its hidden layer or the scaled columns, and the second."""
    columns, net = models[0][0].transform(rows), models[0][-1]
    if isinstance(net, MLPClassifier):
        columns = np.maximum(columns @ net.coefs_[0] + net.intercepts_[0], 0)
    own, second = (model.predict_proba(rows).round(digits) for model in models)
    return Look(own, labels, second, columns)


def kinds(group: str, seed: int) -> dict[str, ClassifierMixin]:
    """The models of a group."""
    if group == "saturated":
        trees = RandomForestClassifier(10, random_state=seed)
        return {"NB": GaussianNB(), "NB rounded": GaussianNB(), "ten trees": trees}
    if group.endswith("classes"):
        return {"LDA": LinearDiscriminantAnalysis()}
    return {
        "LR": LogisticRegression(max_iter=500),
        "HGB": HistGradientBoostingClassifier(max_iter=40, random_state=seed),
        "RF": RandomForestClassifier(100, random_state=seed),
        "MLP": MLPClassifier((32,), max_iter=100, random_state=seed),
    }


def cases_of(group: str, rows: Rows, labels: Rows, sets: Sets, seed: int) -> Iterator[Case]:
    """A case for each model of a group; the second model is the next one."""
    models = kinds(group, seed)
    fitted = [
        make_pipeline(StandardScaler(), model).fit(rows[:-KNOWN], labels[:-KNOWN])
        for model in models.values()
    ]
    for i, name in enumerate(models):
        pair, digits = [fitted[i], fitted[(i + 1) % len(fitted)]], 3 if "rounded" in name else 12
        looks = {key: look(pair, *each, digits) for key, each in sets.items()}
        yield Case(group, name, look(pair, rows[-KNOWN:], labels[-KNOWN:], digits), looks)


def shifted(rows: Rows, labels: Rows, rng: np.random.Generator) -> Sets:
    """Eleven shifts of random strength, and a set of other rows without a shift."""
    d, spread, mean, k = rows.shape[1], rows.std(axis=0), rows.mean(axis=0), labels.max() + 1
    some = (rng.random(d) < rng.uniform(0.2, 0.8)) | (np.arange(d) == rng.integers(d))
    strength = np.exp(rng.uniform(np.log(0.3), np.log(3)))
    order, sign = np.where(some, rng.permutation(d), np.arange(d)), rng.choice((-1, 1), d)
    x, y, chance = rows[:SIZE], labels[:SIZE], rng.random((SIZE, d))
    sets = {
        "noise": (x + strength * spread * rng.normal(size=x.shape), y),
        "permuted columns": (x[:, order], y),
        "offsets": (x + strength * spread * some * sign, y),
        "scaled columns": (x * np.where(some, np.exp(rng.normal(0, strength, d)), 1), y),
        "missing columns": (np.where(some, mean, x), y),
        "missing cells": (np.where(chance < 0.4, mean, x), y),
        "turned signs": (np.where(some, -x, x), y),
        "outliers": (x + spread * rng.standard_t(1.5, x.shape) * (chance < 0.3), y),
    }
    shares = rng.dirichlet(np.ones(k))[labels] / np.bincount(labels)[labels]
    drawn = rng.choice(len(rows), SIZE, p=shares / shares.sum())
    lowest = np.argsort(rows[:, rng.integers(d)])[:SIZE]
    column = x[:, rng.integers(d)]
    changed = np.where(column > np.quantile(column, 0.7), (y + 1) % k, y)
    sets |= {"label shift": (rows[drawn], labels[drawn]), "subpopulation": (rows[lowest], labels[lowest])}
    sets |= {CONCEPT: (x, changed), NONE: (rows[-SIZE:], labels[-SIZE:])}
    return {(name, name): each for name, each in sets.items()}


def table(group: str, number: int) -> Iterator[Case]:
    """A synthetic task: two to six classes, 8 to 30 columns, easy to hard; saturated ones repeat columns."""
    rng = np.random.default_rng(number)
    columns = int(rng.integers(8, 31))
    shape = {"n_features": columns, "n_informative": int(rng.integers(5, columns)), "n_redundant": 0}
    shape |= {"n_classes": int(rng.integers(2, 7)), "n_clusters_per_class": int(rng.integers(1, 3))}
    hardness = {"class_sep": float(rng.uniform(0.8, 2.5)), "flip_y": float(rng.uniform(0, 0.1))}
    rows, labels = make_classification(2 * KNOWN + 4 * SIZE, **shape, **hardness, random_state=number)
    rows = np.tile(rows, 4) if group == "saturated" else rows
    sets = shifted(rows[2 * KNOWN :], labels[2 * KNOWN :], rng)
    return cases_of(group, rows[: 2 * KNOWN], labels[: 2 * KNOWN], sets, number)


def digits(group: str, seed: int) -> Iterator[Case]:
    """Images of 8 x 8 pixels from 0 to 16 under four changes that the kit's own digits do not have."""
    rows, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(rows))
    known, new = order[:-SIZE], order[-SIZE:]
    images, chance = rows[new].reshape(-1, 8, 8), rng.random((SIZE, 8, 8))
    high, left = rng.integers(0, 5, (2, SIZE, 1, 1))
    y, x = np.ogrid[:8, :8]
    hidden = (y >= high) & (y < high + 4) & (x >= left) & (x < left + 4)
    made = {(NONE, NONE): images, ("occlusion", "4 x 4"): np.where(hidden, 0, images)}
    made["mirror", "all"] = images[:, :, ::-1]
    made["mirror", "half of them"] = np.where(chance[:, :1, :1] < 0.5, made["mirror", "all"], images)
    for share, shape in ((0.1, (1, 1, 2)), (0.3, (1, 3, 3))):
        made["salt and pepper", f"{share:g}"] = np.where(chance < share, 16 * (chance < share / 2), images)
        made["dilation", f"{shape}"] = grey_dilation(images, shape)
    sets = {key: (each.reshape(SIZE, -1), labels[new]) for key, each in made.items()}
    return cases_of(group, rows[known], labels[known], sets, seed)


def clouds(group: str, number: int) -> Iterator[Case]:
    """Normal clouds in 20 columns, one a class, of 2, 5, 40 or 300 classes."""
    classes, rng = (2, 5, 40, 300)[number], np.random.default_rng(number)
    labels = rng.integers(classes, size=10 * classes + 2 * KNOWN + 4 * SIZE)
    centres = rng.normal(0, 1 if classes > 2 else 0.6, (classes, 20))
    rows = centres[labels] + rng.normal(0, 0.7, (len(labels), 20))
    sets = shifted(rows[-4 * SIZE :], labels[-4 * SIZE :], rng)
    some = {(key, key): sets[key, key] for key in (NONE, "noise", "offsets", "label shift")}
    return cases_of(f"{classes} classes", rows[: -4 * SIZE], labels[: -4 * SIZE], some, number)


def made_up(group: str, seed: int) -> Iterator[Case]:
    """The logits of docs/how-to/estimate.md, with normal noise of standard deviations .5 to 4 added."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(10, size=KNOWN + SIZE)
    logits = 2 * (rng.normal(size=(len(labels), 10)) + 2.5 * np.eye(10)[labels])
    known, sets = Look(softmax(logits[:KNOWN], axis=1), labels[:KNOWN]), dict[tuple[str, str], Look]()
    for sd in (0, 0.5, 1, 1.5, 2, 3, 4):
        new = logits[KNOWN:] + sd * rng.normal(size=(SIZE, 10))
        sets["noise" if sd else NONE, f"sd {sd:g}"] = Look(softmax(new, axis=1), labels[KNOWN:])
    yield Case(group, "made up", known, sets)
