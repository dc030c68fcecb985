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
from tqdm import tqdm

from starter.classifiers import Classifier, new_network
from starter.detectors import DETECTORS, Detector, by_name
from starter.detectors.metrics import auroc
from starter.images.imageset import ImageSet
from starter.images.reading import Fit
from starter.observing.observation import Observation, Source
from starter.sets.recipe import Recipe
from starter.sets.rendering import FromRecipe, Rendering
from starter.sources.oodsets import load_ood_sets
from starter.sources.sources import load_source
from starter.sources.splits import Splits
from submission.errors import UnusableInput
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
class Images:
    """The images for random networks.

    Attributes:
        reference: Labelled IND images, for detectors that need labels.
        train_ref: IND images on which detectors are fitted.
        ind: IND images, against which the sets are compared.
        sets: Pairs (kind, set): the IND images under each corruption of SHIFTS at severity 5, and OOD sets.
    """

    reference: ImageSet
    train_ref: ImageSet
    ind: Rendering
    sets: tuple[tuple[str, Rendering], ...]

    @classmethod
    def of(cls, splits: Splits, ood: Mapping[str, ImageSet], images: int, seed: int = 0) -> "Images":
        """Returns at most `images` images of each part of the source and of each OOD set, drawn by `seed`."""

        def some(part: ImageSet, name: str, limit: int) -> ImageSet:
            rows = SANITY(seed, name).permutation(len(part))[:limit]
            return part.take(np.sort(rows), name)

        ind = replace(some(splits.test_base, "ind", images), labels=None)
        corrupted: list[tuple[str, Rendering]] = [
            (kind, FromRecipe(Recipe(name, seed, ((name, {"severity": SEVERITY}),)), ind))
            for kind, names in SHIFTS.items()
            for name in names
        ]
        others = [("ood", FromRecipe.whole(some(each, name, images))) for name, each in ood.items()]
        train_ref = replace(some(splits.train, "train_ref", 2 * images), labels=None)
        reference = some(splits.reference, "reference", images)
        return cls(reference, train_ref, FromRecipe.whole(ind), (*corrupted, *others))


def run_sanity(
    names: Sequence[str] = (),
    arch: str = "small",
    source: str = "glyphs",
    ood: Path | None = None,
    images: int = 500,
    initialisations: int = 5,
    seed: int = 0,
    data_root: Path | None = None,
    device: str = "cpu",
) -> pd.DataFrame:
    """Returns the table of `sanity` for named detectors, or all of `OFFLINE`, on the images of a source.

    Arguments are those of `unseen detectors sanity`.
    """
    detectors, splits = by_name(names or OFFLINE), load_source(source, data_root, seed)
    others = load_ood_sets(str(ood), (), Fit(splits.image_size), (), images, seed, SANITY) if ood else {}
    shown = Images.of(splits, others, images, seed)
    return sanity(arch, splits.classes, shown, detectors, initialisations, seed, device)


def random_classifier(
    arch: str, classes: tuple[str, ...], seed: int, images: ImageSet, device: str = "cpu"
) -> Classifier:
    """Returns an untrained classifier: weights by He et al. 2015 (normal), biases 0.

    The head is scaled so that the logits of `images` have standard deviation 1. In deep networks they would
    reach thousands, the softmax of every image would be 1, and MSP would pass without separating anything.
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
    name, scaling = f"random {arch} {seed}", ((0.5,) * 3, (0.25,) * 3)
    spread = _seen(FromRecipe.whole(images), Classifier(name, arch, network, classes, *scaling)).logits.std()
    network.head.weight.data /= float(spread) or 1.0
    return Classifier(name, arch, network, classes, *scaling, device=device)


def sanity(
    arch: str,
    classes: tuple[str, ...],
    images: Images,
    detectors: Mapping[str, Detector],
    initialisations: int = 5,
    seed: int = 0,
    device: str = "cpu",
    progress: bool = True,
) -> pd.DataFrame:
    """Returns AUROC of IND images against each set, for each detector on each of several random networks.

    The columns are `detector`, `kind`, `set`, `initialisation` and `auroc`, which is nan if a detector has no
    finite scores.
    """
    rows = []
    total = initialisations * (len(images.sets) + 1)
    with tqdm(total=total, desc="random networks", unit="set", disable=None if progress else True) as bar:
        for number in range(initialisations):
            classifier = random_classifier(arch, classes, seed + number, images.reference, device)
            source = _source(classifier, images)
            fitted = {name: detector.fit(source) for name, detector in detectors.items()}
            known = {
                name: _scores(detector, _seen(images.ind, classifier)) for name, detector in fitted.items()
            }
            bar.update()
            for kind, rendering in images.sets:
                seen = _seen(rendering, classifier)
                for name, detector in fitted.items():
                    ind, ood = known[name], _scores(detector, seen)
                    area = np.nan if ind is None or ood is None else auroc(ind, ood)
                    rows.append((name, kind, rendering.name, number, area))
                bar.update()
    return pd.DataFrame(rows, columns=["detector", "kind", "set", "initialisation", "auroc"])


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


def _source(classifier: Classifier, images: Images) -> Source:
    reference, train_ref = (
        _seen(FromRecipe.whole(each), classifier) for each in (images.reference, images.train_ref)
    )
    assert images.reference.labels is not None
    head = classifier.head_weight, classifier.head_bias
    return Source(reference, images.reference.labels, train_ref, *head, classifier)


def _seen(rendering: Rendering, classifier: Classifier) -> Observation:
    """Returns the observation of a set for detectors, with features in float32.

    Features of random networks may be too large for float16.
    """
    parts = [classifier(images) for images in rendering.chunks()]
    logits, features = (torch.cat(each).cpu().numpy() for each in zip(*parts, strict=True))
    return Observation(rendering.name, classifier.name, logits, features=features, render=rendering.render)


def _scores(detector: Detector, observation: Observation) -> np.ndarray | None:
    try:
        return detector.score(observation)
    except UnusableInput:
        return None
