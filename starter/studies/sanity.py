"""The random-network check: on an untrained network, a detector should separate nothing (AUROC 0.5).

An untrained network has no in-distribution. If a detector separates images there, it uses image statistics
only (ImageNet-OOD: Yang, Zhang & Russakovsky, ICLR 2024, section 4.2; failure detection: appendix F).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit
from starter.data.sets.recipe import Recipe
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.oodsets import load_ood_sets
from starter.data.sources.sources import load_source
from starter.data.sources.splits import Splits
from starter.models.classifiers import Classifier, new_network
from starter.observing.detectors import DETECTORS, Detector, by_name
from starter.observing.detectors.metrics import auroc
from starter.observing.observation import Observation, Source
from starter.studies.study import Study
from submission.arrays import BoolArray, FloatArray
from submission.errors import UnusableInput
from submission.progress import progress
from submission.random import SANITY

SEVERITY = 5
SHIFTS = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"),
}
"""Covariate shifts of IND images by kind; "ood" is the third kind of set."""
OFFLINE = tuple(name for name, detector in DETECTORS.items() if not detector.online)
"""Names of the detectors that score without the network."""
GOALS = ["new_class", "failure"]


def sanity_sets(
    source: str = "glyphs", ood: Path | None = None, images: int = 500, seed: int = 0
) -> tuple[Splits, list[tuple[str, FromRecipe]]]:
    """Returns at most so many images of a source's parts, and other sets by kind: corrupted, OOD."""
    whole = load_source(source, seed)

    def some(part: ImageSet, name: str, limit: int = images) -> ImageSet:
        return part.take(np.sort(SANITY(seed, name).permutation(len(part))[:limit]), name)

    splits = replace(
        whole,
        reference=some(whole.reference, "reference"),
        train=some(whole.train, "train_ref", 2 * images),
        test_base=some(whole.test_base, "ind"),
    )
    others = [
        (kind, FromRecipe(Recipe(name, seed, ((name, {"severity": SEVERITY}),)), splits.test_base))
        for kind, corruptions in SHIFTS.items()
        for name in corruptions
    ]
    if ood:
        oods = load_ood_sets(str(ood), (), Fit(whole.image_size), limit=images, seed=seed, stream=SANITY)
        others += [("ood", FromRecipe.whole(some(each, name))) for name, each in oods.items()]
    return splits, others


def sanity(
    splits: Splits,
    others: Sequence[tuple[str, FromRecipe]],
    names: Sequence[str] = (),
    *,
    arch: str = "small",
    count: int = 5,
    seed: int = 0,
    device: str = "cpu",
) -> Study:
    """Returns the AUROC of detectors on `count` random networks: ID images of `splits` and other sets.

    New-class detection tells ID images from a set's; failure detection the correctly classified ones of both,
    whatever their shift, from the rest, to which all OOD images belong.
    """
    detectors = by_name(names or OFFLINE)
    ind = FromRecipe.whole(splits.test_base)
    rows = []
    for number in range(count):
        classifier = random_classifier(arch, splits.classes, seed + number, splits.reference, device)
        fitted = _fitted(detectors, splits, classifier)
        seen = _seen(ind, classifier)
        known = {name: _scores(detector, seen) for name, detector in fitted.items()}
        ind_right = _right(seen, ind)
        for kind, rendering in progress(others, f"random network {number + 1}", unit="sets"):
            seen = _seen(rendering, classifier)
            right = np.concatenate([ind_right, _right(seen, rendering)])
            for name, detector in fitted.items():
                own = _scores(detector, seen)
                both = np.concatenate([known[name], own])
                areas = _area(known[name], own), _area(both[right], both[~right])
                rows.append((name, kind, rendering.name, number, *areas))
    table = pd.DataFrame(rows, columns=["detector", "kind", "set", "initialisation", *GOALS])
    return Study({"sanity": table}, {}, sanity_text(table), Path("sanity"))


def _right(seen: Observation, rendering: FromRecipe) -> BoolArray:
    """Returns which images are classified correctly; those without a class of the network's never are."""
    if rendering.base.labels is None:
        return np.zeros(len(seen), bool)
    return seen.predicted == rendering.labels()


def _area(first: FloatArray, second: FloatArray) -> float:
    """Returns the AUROC of scores, nan if one is not finite or there are none of a kind."""
    told = len(first) and len(second) and np.isfinite(first).all() and np.isfinite(second).all()
    return auroc(first, second) if told else math.nan


def _fitted(detectors: Mapping[str, Detector], splits: Splits, classifier: Classifier) -> dict[str, Detector]:
    """Returns the detectors by name, fitted to the network's ID images."""
    reference, train = (FromRecipe.whole(part) for part in (splits.reference, splits.train))
    head = classifier.head_weight, classifier.head_bias
    labels = splits.reference.truth
    source = Source(_seen(reference, classifier), labels, _seen(train, classifier), *head, classifier)
    return {name: detector.fit(source) for name, detector in detectors.items()}


def random_classifier(
    arch: str, classes: tuple[str, ...], seed: int, images: ImageSet, device: str = "cpu"
) -> Classifier:
    """Returns an untrained classifier (He et al. 2015) whose logits of `images` have standard deviation 1."""
    # In deep networks they would reach thousands, the softmax of every image would be 1, and MSP would pass.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = new_network(arch, len(classes))
        if network.head is None:
            raise UnusableInput(
                f"--arch {arch} gives logits alone: a network with a last linear layer is needed"
            )
        for module in network.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
    classifier = Classifier(
        f"random {arch} {seed}", arch, network=network, classes=classes, mean=(0.5,) * 3, std=(0.25,) * 3
    )
    network.head.weight.data /= float(_seen(FromRecipe.whole(images), classifier).logits.std()) or 1.0
    return replace(classifier, network=network, device=device)


def sanity_text(found: pd.DataFrame) -> str:
    """Returns mean AUROC per detector, goal and kind below a heading, with its deviation over networks."""
    each = found.groupby(["detector", "kind", "initialisation"], sort=False)[GOALS].mean()
    parts = each.groupby(level=["detector", "kind"], sort=False)
    cells, of = parts.mean().map("{:.2f}".format), "of one random network"
    if (count := found.initialisation.nunique()) > 1:
        cells += " ± " + parts.std(ddof=0).map("{:.2f}".format)
        of = f"mean and standard deviation over {count} random networks"
    detectors, kinds = (list(dict.fromkeys(found[column])) for column in ("detector", "kind"))
    table = cells.unstack().loc[detectors, list(product(GOALS, kinds))]
    return f"AUROC, {of}; 0.5 is chance level\n\n{table.to_string()}"


def _seen(rendering: FromRecipe, classifier: Classifier) -> Observation:
    """Returns the observation for detectors; features are float32: random networks' may exceed float16."""
    parts = [classifier(images) for images in rendering.chunks()]
    logits, features = (torch.cat(each).cpu().numpy() for each in zip(*parts, strict=True))
    return Observation(rendering.name, classifier.name, logits, features=features, render=rendering.render)


def _scores(detector: Detector, observation: Observation) -> FloatArray:
    """Returns the scores, or nan if they are not finite."""
    try:
        return detector.score(observation)
    except UnusableInput:
        return np.full(len(observation), np.nan)
