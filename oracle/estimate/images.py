"""An estimate from a model and images: labelled ones are disturbed in many ways, to learn from."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oracle.estimate.estimate import estimate_seen
from oracle.estimate.estimation import Estimation
from oracle.unseen_best import UnseenBest
from starter.classifiers import load_classifier
from starter.images.files import open_tree
from starter.images.imageset import ImageSet
from starter.images.reading import Fit, read_images
from starter.observing.cache import Cache
from starter.observing.lazy import Lazy
from starter.observing.observation import MetaTrain, Observation, Source
from starter.observing.observe import Observer, observe_all
from starter.sets.recipe import draw_recipes
from starter.sets.rendering import FromRecipe
from submission.errors import UnusableInput, unusable

GROUP = "wide"
METHOD = "unseen-best"


@dataclass(frozen=True)
class Asked:
    """How an estimate from images is made.

    Attributes:
        train_sets: meta-train sets made of half of the labelled images; 0 for an estimate from logits alone.
        set_size: images in one.
        device: where the model runs.
        margin, level, window: as in `oracle.estimate.estimate`.
    """

    train_sets: int = 24
    set_size: int = 200
    device: str = "cpu"
    margin: float = 0.05
    level: float = 0.9
    window: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.train_sets <= 1000 or 0 < self.train_sets < LEAST_SETS:
            raise UnusableInput(f"--train-sets must be 0, or {LEAST_SETS} to 1,000, got {self.train_sets}")


LEAST_SETS = 6


def read_labelled(path: Path) -> tuple[ImageSet, tuple[str, ...]]:
    """Returns the images in a folder or zip of ``<class>/<image>``, and the classes, sorted by name.

    Raises:
        UnusableInput: it cannot be read, or holds no class folders with images.
    """
    with open_tree(path) as tree:
        files = tree.images(1)
        classes = tuple(sorted({file.split("/")[0] for file in files}))
        if len(classes) < 2:
            raise unusable(path, "one class folder alone: labelled images are expected of several classes")
        read = read_images(tree, files)
    labels = np.array([classes.index(files[row].split("/")[0]) for row in read.rows])
    return ImageSet(path.stem, read.images, labels), classes


def read_unlabelled(path: Path, size: tuple[int, int]) -> ImageSet:
    """Returns all images of a folder or zip, at any depth, in the size of the labelled ones.

    Raises:
        UnusableInput: it cannot be read or holds no images.
    """
    with open_tree(path) as tree:
        if not (files := tree.every_image()):
            raise unusable(path, "no images in it")
        return ImageSet(path.stem, read_images(tree, files, Fit(size)).images, None)


def estimate_images(
    model: str, labelled: Path, unlabelled: Sequence[Path], asked: Asked
) -> tuple[Estimation, dict[str, NDArray[np.uint8]]]:
    """Estimate how accurate a model is on unlabelled images, from labelled ones that it has not learnt from.

    One half of the labelled images is disturbed in many ways, the group `wide`; from the sets that this
    makes, whose accuracies are known, and from the other half `unseen-best` learns. Its estimate counts
    beside those from logits. Nothing is kept.

    Args:
        model: NAME=WEIGHTS as in `starter.classifiers.load_classifier`; its classes are the folders, sorted.
        labelled: a folder or zip of ``<class>/<image>``.
        unlabelled: folders or zips of images.
        asked: how it is made.

    Returns:
        the estimation, and each set's images (n, h, w, 3).

    Raises:
        UnusableInput: model or images cannot be read, or do not fit each other.
    """
    known, classes = read_labelled(labelled)
    assert known.labels is not None
    size = known.images.shape[1:3]
    sets = {path.stem: read_unlabelled(path, size) for path in unlabelled}
    if len(sets) < len(unlabelled):
        raise UnusableInput("two unlabelled sets have one name: rename one")
    classifier = load_classifier(model, classes, device=asked.device, size=size)
    with tempfile.TemporaryDirectory() as folder:
        method = UnseenBest() if asked.train_sets else None
        observer = Observer(classifier, Cache(Path(folder)))
        if method and "rotation" in method.needs:
            observer = observer.with_rotation_head(replace(known, labels=None))
        bare = [FromRecipe.whole(replace(each, labels=None)) for each in (known, *sets.values())]
        seen, *others = observe_all(bare, observer, method.needs if method else ())
        if method:
            method.fit(_meta_train(known, seen, observer, method.needs, asked))
        found = estimate_seen(
            seen,
            known.labels,
            {each.set_name: each for each in others},
            {METHOD: method} if method else {},
            asked.margin,
            asked.level,
            asked.window,
        )
    return found, {name: each.images for name, each in sets.items()}


def _meta_train(
    known: ImageSet, seen: Observation, observer: Observer, needs: tuple[str, ...], asked: Asked
) -> MetaTrain:
    """Returns half of the labelled images as the source, and sets made of the other."""
    assert known.labels is not None
    order = np.random.default_rng(0).permutation(len(known))
    reference, base = np.sort(order[::2]), np.sort(order[1::2])
    images = known.take(base)
    recipes = draw_recipes(GROUP, asked.train_sets, 0, min(asked.set_size, len(base)))
    renderings = [FromRecipe(recipe, images) for recipe in recipes]
    observed: Lazy[Observation] = observe_all(renderings, observer, needs)
    sets = list(observed)
    correct = [each.predicted == made.labels() for each, made in zip(sets, renderings, strict=True)]
    classifier = observer.classifier
    labels = known.labels[reference]
    return MetaTrain(
        Source(seen.take(reference), labels, seen.take(base), classifier.head_weight, classifier.head_bias),
        sets,
        np.array([each.mean() for each in correct]),
        correct,
        [made.recipe.families for made in renderings],
        bases=[made.recipe.indices(images) for made in renderings],
        labels=[made.labels() for made in renderings],
    )
