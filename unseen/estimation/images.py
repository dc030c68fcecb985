"""Estimates from a model and images, with meta-train sets made by distorting labelled images."""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from baselines.accuracy.gated import Gated
from baselines.contract.families import blocks
from baselines.contract.intervals import Remoteness
from starter.data.images.files import open_tree
from starter.data.images.imageset import ImageSet, in_order, places
from starter.data.images.reading import Fit, read_images
from starter.data.sets.recipe import draw_recipes
from starter.data.sets.rendering import FromRecipe
from starter.data.sources.splits import Splits
from starter.models.classifiers import Classifier, load_classifier
from starter.models.classifiers.engine import chosen
from starter.models.classifiers.weights import OtherClasses
from starter.models.encoders import ImageEncoder
from starter.observing.cache import Cache
from starter.observing.observation import MetaTrain, Observation, Source
from starter.observing.observe import Observer, observe_all
from starter.observing.referee_fit import fit_referees, load_referees
from submission.arrays import IntArray, Pixels
from submission.errors import UnusableInput, printable, unusable
from unseen.estimation.estimation import Estimation, Photos
from unseen.estimation.fitted import Learnt
from unseen.estimation.from_logits import estimate_seen, with_features
from unseen.estimation.inputs import Asked, check_enough, set_names, windows
from unseen.estimation.stream import natural

GROUP = "wide"
"""Group of the operations that make meta-train sets."""
SET_SIZE = 200
"""Number of images in a meta-train set, where there are as many."""


def read_labelled(path: Path, fit: Fit, named: tuple[str, ...] = ()) -> tuple[ImageSet, tuple[str, ...]]:
    """Returns the images in a folder or zip of ``<class>/<image>``, and the classes.

    The classes are `named`, or without names the folders in their order (`in_order`); an empty folder
    is a class without labelled images.
    """
    with open_tree(path) as tree:
        files = tree.images(1)
        known = tree.folders(1)
        classes = named or in_order({*known, *tree.empty_folders()})
        numbers = dict(zip(known, places(known, classes, path), strict=True))
        labels = np.array([numbers[file.split("/")[0]] for file in files])
        check_enough(labels)
        images, rows = read_images(tree, files, fit)
    return ImageSet(path.stem, images, labels[rows]), classes


def read_unlabelled(path: Path, fit: Fit) -> list[tuple[str, Pixels]]:
    """Returns all images of a folder or zip, at any depth, with their files, in natural order."""
    with open_tree(path) as tree:
        if not (files := sorted(tree.every_image, key=natural)):
            raise unusable(path, "no images in it")
        images, rows = read_images(tree, files, fit)
        return [(printable(files[row]), image) for row, image in zip(rows, images, strict=True)]


def estimate_images(
    model: str, labelled: Path, unlabelled: Sequence[Path], asked: Asked, named: tuple[str, ...] = ()
) -> tuple[Estimation, Photos]:
    """Returns the estimates for folders or zips of images, and the files and images of each set by name."""
    side = asked.image_size
    fit = Fit((side, side) if side else None, asked.resize, asked.skip_unreadable)
    known, classes = read_labelled(labelled, fit, named)
    size = known.images.shape[1:3]
    engine, precision = chosen(asked.engine, "", asked.device)
    encoders = load_referees(asked.referees, asked.device, precision, engine)
    try:
        classifier = load_classifier(
            model, classes, precision=precision, device=asked.device, size=size, engine=engine
        )
    except OtherClasses as error:
        raise UnusableInput(
            f"{error}: the folders of {labelled}, or a file given by --classes, must name the classes of the "
            "model in its order; an empty folder is a class without images"
        ) from error
    fit = replace(fit, size=size)
    names = set_names(unlabelled)
    photos = {name: read_unlabelled(path, fit) for name, path in zip(names, unlabelled, strict=True)}
    sets = [ImageSet(name, np.stack([image for _, image in each]), None) for name, each in photos.items()]
    estimation = estimate_sets(classifier, known, sets, asked, encoders)
    if not (asked.window or asked.by):
        return estimation, photos
    cuts = windows({name: len(each) for name, each in photos.items()}, asked)
    pairs = zip(photos.values(), cuts, strict=True)
    return estimation, {
        name: [each[row] for row in rows] for each, parts in pairs for name, rows in parts.items()
    }


def estimate_sets(
    classifier: Classifier,
    known: ImageSet,
    sets: Sequence[ImageSet],
    asked: Asked,
    encoders: Mapping[str, ImageEncoder] = {},
) -> Estimation:
    """Estimate how accurate a classifier is on sets, from labelled images on which it was not trained.

    Half of the labelled images are made into meta-train sets by the operations of the group `wide`, and
    `gated` is fitted to these sets and to the other half; the estimate is its. With referees the images are
    split into three parts, and the third trains their probes.
    """
    assert known.labels is not None
    labels = known.labels
    rows = parted(labels, 3 if encoders else 2)
    made: list[FromRecipe] = []
    needs: tuple[str, ...] = ()
    features = () if classifier.logits_alone else ("features",)
    with tempfile.TemporaryDirectory() as folder:
        observer = Observer(classifier, Cache(Path(folder)))
        if asked.train_sets:
            base = known.take(rows[1])
            recipes = draw_recipes(GROUP, asked.train_sets, 0, min(SET_SIZE, len(base)))
            made = [FromRecipe(recipe, base) for recipe in recipes]
            needs = Gated.needs
        if made and encoders:
            observer = _with_referees(observer, encoders, [known.take(part) for part in rows])
            needs = (*needs, "referee")
        bare = [FromRecipe.whole(replace(each, labels=None)) for each in (known, *sets)]
        whole, *others = observe_all(bare, observer, (*needs, *features))
        learnt = None
        if made:
            source = Source(
                observation=whole.take(rows[0]),
                labels=labels[rows[0]],
                train_ref=whole.take(rows[1]),
                head_weight=classifier.head_weight,
                head_bias=classifier.head_bias,
            )
            learnt = _learnt(source, made, list(observe_all(made, observer, needs)))
        if features:
            whole, *others = with_features([whole, *others])
        return estimate_seen(
            whole, labels, seen=others, asked=asked, classes=classifier.classes, learnt=learnt
        )


def _with_referees(
    observer: Observer, encoders: Mapping[str, ImageEncoder], parts: Sequence[ImageSet]
) -> Observer:
    """Returns the observer with referees that have learnt from the third of three parts of the images."""
    reference, base, probed = parts
    splits = Splits(
        classes=observer.classifier.classes,
        train=probed,
        reference=reference,
        meta_base=base,
        val_base=base,
        test_base=base,
    )
    place = observer.classifier.place
    return replace(observer, referees=fit_referees(encoders, splits, 0, observer.cache, place))


def _learnt(source: Source, made: Sequence[FromRecipe], sets: Sequence[Observation]) -> Learnt:
    """Returns `gated` fitted to the source and the observed meta-train sets, and the distance from these."""
    labels = [each.labels() for each in made]
    correct = [each.predicted == truth for each, truth in zip(sets, labels, strict=True)]
    families = [each.recipe.families for each in made]
    meta = MetaTrain(
        source=source,
        sets=sets,
        targets=np.array([each.mean() for each in correct]),
        correct=correct,
        families=families,
        bases=[each.recipe.indices(each.base) for each in made],
        labels=labels,
    )
    return Gated().fit(meta), Remoteness.of(sets, blocks(families))


def parted(labels: IntArray, count: int) -> list[IntArray]:
    """Returns the rows of each of `count` parts, with the same share of every class up to rounding.

    >>> [rows.tolist() for rows in parted(np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]), 2)]
    [[0, 2, 4, 6, 7], [1, 3, 5, 8]]
    """
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    return [np.sort(order[start::count]) for start in range(count)]
