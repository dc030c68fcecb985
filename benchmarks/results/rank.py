"""What chooses the best of several models without labels, and with fifty (docs/results/rank.md).

    UNSEEN_DATA=FOLDER python benchmarks/results/rank.py DIR [--write]

FOLDER is that of estimate.py here; DIR keeps the networks. The page says what is drawn. The mixture was
chosen on families that are not shown, and on validation photographs.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import real
import shifts
from pages import show
from scipy.special import softmax
from scipy.stats import ttest_1samp
from sklearn.base import ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from starter.data.images.imageset import ImageSet
from starter.data.operations import OPERATIONS, new_operations
from starter.data.sets.recipe import Recipe
from starter.data.sources.oodsets import CIFAR10
from starter.data.sources.sources import load_images
from starter.models.classifiers import load_classifier
from starter.models.classifiers.train import Training, train
from starter.observing.temperature import likeliest_temperature
from unseen.estimation.ranking import Ranking

CHOSE = ("none", "blur", "turns", "few classes", "class shares", "short", "topic shares", "scaled logits")
"""Families that chose the mixture, as noise in tables did, or that leave every prediction as it was."""
DISTORTED = ("", "grain", "blur", "color hue", "brightness contrast", "affine", "jpeg", "haze")
PARTS = ((8000, 6, True, 0), (5000, 8, False, 100))
"""Number of images, epochs, whether they are mirrored, and the first seed."""
LABELLED, SIZE, COUNT, NEAR, GROUP, DRAWS, SEEDS, TINY = 1000, 600, 50, 0.05, 5, 20, 2, 1e-9
RULES = ("labelled accuracy", "mixture", "50 random labels", "50 by --ask")
Case = tuple[str, np.ndarray, np.ndarray, list[tuple[str, np.ndarray, np.ndarray]]]
"""A task, models' logits of labelled rows (m, n, k), their labels, and sets: family, logits and labels."""


def many_kinds(task: str, seed: int) -> dict[str, ClassifierMixin]:
    """Models of scikit-learn for a task."""
    sizes = [(width, alpha) for width in (8, 32, 64) for alpha in (1e-4, 1)]
    made = [
        *(LogisticRegression(C=c, max_iter=500) for c in (0.003, 0.03, 0.3, 3, 30)),
        *(KNeighborsClassifier(n) for n in (3, 10, 20, 40)),
        *(MLPClassifier((w,), alpha=alpha, max_iter=99, random_state=seed) for w, alpha in sizes),
        *(ExtraTreesClassifier(50, max_depth=depth, random_state=seed) for depth in (3, 5, 8, None)),
        *(GaussianNB(var_smoothing=share) for share in (0.01, 0.3)),
    ]
    return {str(number): each for number, each in enumerate(made)}


def small_cases(seed: int) -> Iterator[Case]:
    """All models of each task, on the families that test."""
    for task, models in groupby(shifts.small_cases(seed, many_kinds), key=attrgetter("task")):
        cases = [*models]
        sets = [
            (family, np.array([case.sets[family, name].logits for case in cases]), look.labels)
            for (family, name), look in cases[0].sets.items()
            if family not in CHOSE and (family, task) != ("noise", "breast cancer")
        ]
        if task == "wine":
            continue
        yield task, np.array([case.labelled.logits for case in cases]), cases[0].labelled.labels, sets


def photographs() -> Iterator[tuple[str, ImageSet]]:
    """The labelled images, then new corruptions and photographs from elsewhere, by family."""
    whole = real.images("test", 4000)
    whole = whole.take(np.random.default_rng(0).permutation(len(whole)))
    rng = np.random.default_rng(1)
    yield "", whole.take(np.arange(LABELLED))
    for name in new_operations("default+a+b"):
        for severity in (2, 4):
            some = whole.take(LABELLED + rng.permutation(len(whole) - LABELLED)[:SIZE])
            yield name, Recipe(name, int(rng.integers(2**31)), ((name, {"severity": severity}),)).render(some)
    for name in ("pacs_photo", "imagenet_one_each", "imagenette_dog_truck"):
        yield name, load_images(real.data() / "natural.zip" / name, CIFAR10, 500)


def network_case(folder: Path) -> Case:
    """The networks, which are trained where the folder lacks them."""
    folder.mkdir(parents=True, exist_ok=True)
    sets, logits = [*photographs()], []
    for i, names in enumerate(DISTORTED):
        for count, epochs, flip, first in PARTS:
            path = folder / f"{names or 'plain'}-{first}.safetensors"
            if not path.exists():
                rng, pool = np.random.default_rng(first + i), real.images("train", 24000)
                images = pool.take(np.sort(rng.permutation(len(pool))[: 2 * count]))
                ops = tuple((name, OPERATIONS[name].draw_params(rng, 1.0)) for name in names.split())
                changed = Recipe("distorted", first + i, ops).render(images).images
                mixed = np.where(rng.random((len(images), 1, 1, 1)) < 0.5, changed, images.images)
                np.savez(folder / "part.npz", images=mixed, labels=images.labels)
                source = str(folder / "part.npz")
                train(Training("small", source, epochs, rate=0.1, flip=flip, seed=first + i), path)
            network = load_classifier(f"small={path}", [*map(str, range(10))])
            logits.append([network(images.images)[0].numpy() for _, images in sets])
    (_, known), *others = sets
    seen, *given = [np.array(each) for each in zip(*logits, strict=True)]
    found = [(family, z, x.truth) for (family, x), z in zip(others, given, strict=True)]
    return "photographs", seen, known.truth, found


def mixture(case: Case) -> list[np.ndarray]:
    """Accuracies on each set by the mixture that is likeliest on labelled rows, plus its error on these."""
    _, logits, labels, sets = case
    scales = np.array([likeliest_temperature(each, labels) for each in logits])[:, None, None]
    known, *given = (softmax(each / scales, axis=2) for each in (logits, *(z for _, z, _ in sets)))
    weights = np.full(len(known), 1 / len(known))
    for _ in range(100):  # EM
        shares = weights[:, None] * known[:, np.arange(len(labels)), labels] + TINY
        weights = (shares / shares.sum(axis=0)).mean(axis=1)

    def chances(each: np.ndarray) -> np.ndarray:
        mixed = np.tensordot(weights, each, 1)
        return np.array([mixed[np.arange(len(mixed)), z.argmax(axis=1)].mean() for z in each])

    error = (logits.argmax(axis=2) == labels).mean(axis=1) - chances(known)
    return [chances(each) + error for each in given]


def drawn(case: Case) -> Iterator[dict[str, object]]:
    """The loss of each rule in groups of models, in points, and what labels decide."""
    task, logits, labels, sets = case
    known, classes = (logits.argmax(axis=2) == labels).mean(axis=1), tuple(map(str, range(logits.shape[2])))
    for (family, given, truth), expected in zip(sets, mixture(case), strict=True):
        said = given.argmax(axis=2)
        for draw in range(DRAWS):
            rng = np.random.default_rng(draw)
            best = rng.choice(known)
            group = rng.permutation(np.flatnonzero((known <= best) & (known >= best - NEAR)))[:GROUP]
            ranking = Ranking(tuple(map(str, group)), known[group], said[group], classes)
            if len(group) < 2 or (said[group] == said[group[0]]).all():
                continue
            rows = ranking.ask(COUNT, draw).row.tolist()
            ranking = replace(ranking, answers={row: int(truth[row]) for row in rows})
            right = said[group] == truth
            some = right[:, rng.permutation(len(truth))[:COUNT]].mean(axis=1) + TINY * known[group]
            places = [known[group].argmax(), expected[group].argmax(), some.argmax(), ranking.order[0]]
            accuracy = right.mean(axis=1)
            better = np.array([[pair.low > 0 for pair in pairs] for pairs in ranking.pairs])
            yield {
                **{"task": task, "family": f"{task}, {family}", "pairs": len(group) * (len(group) - 1) / 2},
                **dict(zip(RULES, 100 * (accuracy.max() - accuracy[places]), strict=True)),
                **{"decided": better.sum(), "wrong": better[accuracy[:, None] <= accuracy].sum()},
            }


def line(name: str, rows: pd.DataFrame) -> dict[str, object]:
    """Means over families, and what was decided."""
    families = rows.drop(columns="task").groupby("family")
    means, sums = families[[*RULES]].mean(), families[["pairs", "decided", "wrong"]].sum()
    return {
        **{"models": name, "families": len(means), **means.mean().to_dict()},
        "p of mixture": float(ttest_1samp(means[RULES[1]] - means[RULES[0]], 0).pvalue),
        "pairs decided, %": float(100 * sums.decided.sum() / sums.pairs.sum()),
        "wrongly, %": float(100 * sums.wrong.sum() / sums.decided.sum()),
        "in the worst family": float((100 * sums.wrong / sums.decided.clip(lower=1)).max()),
    }


def main() -> None:
    """Train, draw, print, record."""
    asked = real.parser(__doc__).parse_args()
    cases = [network_case(asked.folder), *(case for seed in range(SEEDS) for case in small_cases(seed))]
    rows = pd.DataFrame([row for case in cases for row in drawn(case)])
    lines = [line(str(task), group) for task, group in rows.groupby("task", sort=False)] + [line("all", rows)]
    show({"rank": lines}, asked.write)


if __name__ == "__main__":
    main()
