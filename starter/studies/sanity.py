"""The random-network check: on an untrained network, a detector should separate nothing (AUROC 0.5).

An untrained network has no in-distribution. If a detector separates images there, it uses image statistics
only (ImageNet-OOD: Yang, Zhang & Russakovsky, ICLR 2024, section 4.2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from starter.models.classifiers import Classifier, new_network
from starter.observing.detectors import DETECTORS, Detector, by_name
from starter.observing.detectors.metrics import auroc
from starter.observing.observation import Observation, Source
from starter.studies.study import Study
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


@dataclass(frozen=True)
class RandomNetworks:
    """The untrained networks of a check.

    Attributes:
        arch: Architecture: small, resnet56, ..., or module:function.
        count: Number of networks.
        seed: Seed of the first; each other one has the next.
        device: Device that they run on.
    """

    arch: str = "small"
    count: int = 5
    seed: int = 0
    device: str = "cpu"


@dataclass(frozen=True)
class SanitySets:
    """The images of a check.

    Attributes:
        classes: Names of the ID classes.
        reference: Labelled ID images, from which detectors learn.
        train: ID training images, from which detectors learn.
        ind: ID images, from which the others are told.
        others: Kind and images of each other set: a corruption of `ind`, or an OOD set.
    """

    classes: tuple[str, ...]
    reference: FromRecipe
    train: FromRecipe
    ind: FromRecipe
    others: Sequence[tuple[str, FromRecipe]]

    @classmethod
    def of(
        cls, source: str = "glyphs", ood: Path | None = None, images: int = 500, seed: int = 0
    ) -> "SanitySets":
        """Returns sets of at most so many images of a source, and of a folder or zip of OOD sets."""
        splits = load_source(source, seed)
        fit = Fit(splits.image_size)
        oods = load_ood_sets(str(ood), (), fit, (), images, seed, SANITY) if ood else {}

        def some(part: ImageSet, name: str, limit: int = images) -> FromRecipe:
            chosen = part.take(np.sort(SANITY(seed, name).permutation(len(part))[:limit]), name)
            return FromRecipe.whole(chosen)

        ind = some(replace(splits.test_base, labels=None), "ind")
        corrupted = [
            (kind, FromRecipe(Recipe(name, seed, ((name, {"severity": SEVERITY}),)), ind.base))
            for kind, corruptions in SHIFTS.items()
            for name in corruptions
        ]
        return cls(
            splits.classes,
            some(splits.reference, "reference"),
            some(splits.train, "train_ref", 2 * images),
            ind,
            [*corrupted, *(("ood", some(each, name)) for name, each in oods.items())],
        )


def sanity(sets: SanitySets, networks: RandomNetworks, names: Sequence[str] = ()) -> Study:
    """Returns the AUROC of detectors on random networks, for each set.

    A random network knows no classes, so a true detector of new classes has an AUROC of 0.5 on it.

    Args:
        sets: Images of the check.
        networks: Networks of the check.
        names: Names of detectors; () for all that do without the network.
    """
    detectors = by_name(names or OFFLINE)
    rows = []
    for number in range(networks.count):
        seed = networks.seed + number
        classifier = random_classifier(
            networks.arch, sets.classes, seed, sets.reference.base, networks.device
        )
        fitted = _fitted(detectors, sets, classifier)
        seen = _seen(sets.ind, classifier)
        known = {name: _scores(detector, seen) for name, detector in fitted.items()}
        for kind, rendering in progress(sets.others, f"random network {number + 1}", unit="sets"):
            seen = _seen(rendering, classifier)
            for name, detector in fitted.items():
                area = _area(known[name], _scores(detector, seen))
                rows.append((name, kind, rendering.name, number, area))
    table = pd.DataFrame(rows, columns=["detector", "kind", "set", "initialisation", "auroc"])
    return Study({"sanity": table}, {}, sanity_text(table), Path("sanity"))


def _fitted(
    detectors: Mapping[str, Detector], sets: SanitySets, classifier: Classifier
) -> dict[str, Detector]:
    """Returns the detectors by name, fitted to the network's ID images."""
    source = Source(
        observation=_seen(sets.reference, classifier),
        labels=sets.reference.labels(),
        train_ref=_seen(sets.train, classifier),
        head_weight=classifier.head_weight,
        head_bias=classifier.head_bias,
        classifier=classifier,
    )
    return {name: detector.fit(source) for name, detector in detectors.items()}


def _area(ind: np.ndarray | None, ood: np.ndarray | None) -> float:
    """Returns the AUROC; nan if a detector could not score one of the two."""
    return np.nan if ind is None or ood is None else auroc(ind, ood)


def random_classifier(
    arch: str, classes: tuple[str, ...], seed: int, images: ImageSet, device: str = "cpu"
) -> Classifier:
    """Returns an untrained classifier (He et al. 2015) whose logits of `images` have standard deviation 1.

    In deep networks they would reach thousands, the softmax of every image would be 1, and MSP would pass.
    """
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
    classifier = Classifier(f"random {arch} {seed}", arch, network, classes, (0.5,) * 3, (0.25,) * 3)
    network.head.weight.data /= float(_seen(FromRecipe.whole(images), classifier).logits.std()) or 1.0
    return replace(classifier, network=network, device=device)


def sanity_text(found: pd.DataFrame) -> str:
    """Returns mean AUROC per detector and kind below a heading, with its standard deviation over networks."""
    each = found.groupby(["detector", "kind", "initialisation"], sort=False)["auroc"].mean()
    parts = each.groupby(level=["detector", "kind"], sort=False)
    cells, of = parts.mean().map("{:.2f}".format), "of one random network"
    if (count := found.initialisation.nunique()) > 1:
        cells += " ± " + parts.std(ddof=0).map("{:.2f}".format)
        of = f"mean and standard deviation over {count} random networks"
    detectors, kinds = (list(dict.fromkeys(found[column])) for column in ("detector", "kind"))
    return f"AUROC, {of}; 0.5 is chance level\n\n{cells.unstack().loc[detectors, kinds].to_string()}"


def _seen(rendering: FromRecipe, classifier: Classifier) -> Observation:
    """Returns the observation for detectors; features are float32: random networks' may exceed float16."""
    parts = [classifier(images) for images in rendering.chunks()]
    logits, features = (torch.cat(each).cpu().numpy() for each in zip(*parts, strict=True))
    return Observation(rendering.name, classifier.name, logits, features=features, render=rendering.render)


def _scores(detector: Detector, observation: Observation) -> np.ndarray | None:
    try:
        return detector.score(observation)
    except UnusableInput:
        return None
