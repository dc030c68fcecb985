"""Estimates from a model and images, with meta-train sets made by distorting labelled images.

Reading, splitting and observing are in one module, since all of them follow the settings in `Asked`.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from baselines.contract.families import blocks
from baselines.contract.intervals import Remoteness
from oracle.unseen_best import UnseenBest
from starter.classifiers import Classifier, load_classifier
from starter.classifiers.engine import chosen
from starter.classifiers.weights import OtherClasses
from starter.encoders import ImageEncoder
from starter.images.files import open_tree
from starter.images.imageset import ImageSet
from starter.images.reading import LARGEST_SIDE, RESIZES, Fit, read_images
from starter.making.referees import SAME, FittedReferee, fit_referees, load_referees
from starter.observing.cache import Cache
from starter.observing.observation import REFEREE, MetaTrain, Observation, Source
from starter.observing.observe import Observer, observe_all
from starter.observing.referee import Referee
from starter.sets.recipe import draw_recipes
from starter.sets.rendering import FromRecipe
from starter.sources.splits import Splits
from submission.arrays import IntArray
from submission.errors import UnusableInput, printable, unusable
from unseen.estimation.estimation import Estimation
from unseen.estimation.fitted import Learnt
from unseen.estimation.from_logits import estimate_seen, with_features
from unseen.estimation.inputs import FEWEST, check_rules, set_names, windows
from unseen.estimation.page import Pictures

GROUP = "wide"
"""Group of the operations that make meta-train sets."""
LEAST_SETS = 6
"""Smallest number of meta-train sets, if there are any."""


@dataclass(frozen=True)
class Asked:
    """Settings of an estimate from images.

    Attributes:
        train_sets: Number of meta-train sets made of labelled images, 6 to 1,000, or 0 for an estimate from
            logits alone.
        set_size: Number of images in a meta-train set.
        referees: Independent encoders, named as for `unseen build --referee`.
        fit: Rule by which images are resized to one size.
        device: Device that the model runs on, named as in PyTorch.
        engine: Engine that runs the model, "openvino" or "torch"; "" for the default.
        classes: Names of the model's classes in its order; () for the names of the labelled folders, sorted.
        rotations: True if `unseen-best` also reads the model's logits of turned copies of each image.
        margin: Fall in accuracy above which a set counts as fallen, a fraction.
        level: Level of the intervals.
        window: Number of images in each part that the sets are cut into; None for whole sets.
    """

    train_sets: int = 24
    set_size: int = 200
    referees: tuple[str, ...] = ()
    fit: Fit = field(default_factory=Fit)
    device: str = "cpu"
    margin: float = 0.05
    level: float = 0.9
    window: int | None = None
    engine: str = ""
    classes: tuple[str, ...] = ()
    rotations: bool = False

    def __post_init__(self) -> None:
        check_rules(self.margin, self.level, self.window)
        if not 0 <= self.train_sets <= 1000 or 0 < self.train_sets < LEAST_SETS:
            raise UnusableInput(f"--train-sets must be 0, or {LEAST_SETS} to 1,000, got {self.train_sets}")
        if (self.referees or self.rotations) and not self.train_sets:
            option = "--referee" if self.referees else "--rotations"
            raise UnusableInput(f"{option} is read by unseen-best alone: it needs --train-sets")


def fit_of(image_size: int, resize: str, skip: float = 0.01) -> Fit:
    """Returns the rule for resizing images to squares of `image_size` pixels, or the commonest size for 0.

    A share `skip` of them may be unreadable.
    """
    if not 0 <= image_size <= LARGEST_SIDE:
        raise UnusableInput(f"--image-size must be 1 to {LARGEST_SIDE}, got {image_size}")
    if resize not in RESIZES:
        raise UnusableInput(f"--resize must be {', '.join(RESIZES)}, got {resize!r}")
    if not 0 <= skip < 1:
        raise UnusableInput(f"--skip-unreadable must be a share in [0, 1), got {skip:g}")
    return Fit((image_size, image_size) if image_size else None, resize, skip)


def read_labelled(path: Path, fit: Fit, named: tuple[str, ...] = ()) -> tuple[ImageSet, tuple[str, ...]]:
    """Returns the images in a folder or zip of ``<class>/<image>``, and the classes.

    The classes are `named`, or without names the folders, sorted; an empty folder is a class without labelled
    images.
    """
    with open_tree(path) as tree:
        files = tree.images(1)
        known = {file.split("/")[0] for file in files}
        if named and (others := sorted(known - {*named})):
            raise unusable(
                path / others[0], f"no class of this name is in --classes, which begins with {named[0]!r}"
            )
        if len(known) < 2:
            raise unusable(path, "one class folder alone: labelled images are expected of several classes")
        if len(files) < FEWEST:
            raise unusable(
                path, f"{len(files)} images are too few: {FEWEST} or more are expected, better 1,000"
            )
        classes = named or tuple(sorted({*known, *tree.empty_folders()}))
        images, rows = read_images(tree, files, fit)
    labels = np.array([classes.index(files[row].split("/")[0]) for row in rows])
    return ImageSet(path.stem, images, labels), classes


def read_unlabelled(path: Path, fit: Fit) -> Pictures:
    """Returns all images of a folder or zip, at any depth, in the order of their paths."""
    with open_tree(path) as tree:
        if not (files := tree.every_image()):
            raise unusable(path, "no images in it")
        images, rows = read_images(tree, files, fit)
        return Pictures(images, [printable(files[row]) for row in rows])


def cut(pictures: Mapping[str, Pictures], window: int) -> dict[str, Pictures]:
    """Returns the images of each window of `window` images, under the name of its estimate."""
    return {
        f"{name} {rows[0]}": Pictures(each.images[rows[0] :][: len(rows)], each.files[rows[0] :][: len(rows)])
        for name, each in pictures.items()
        for rows in windows(len(each.images), window)
    }


def estimate_images(
    model: str, labelled: Path, unlabelled: Sequence[Path], asked: Asked
) -> tuple[Estimation, dict[str, Pictures]]:
    """Estimate how accurate a model is on folders of unlabelled images, from a folder of labelled ones.

    Args:
        model: Model as NAME=WEIGHTS, see `starter.classifiers.load_classifier`; its classes are those that
            `asked` names, or the names of the folders, sorted.
        labelled: Folder or zip of ``<class>/<image>``, with images on which the model was not trained.
        unlabelled: Folders or zips of images, one for each set.
        asked: Settings of the estimate.

    Returns:
        The estimates, and the images of each set by name.
    """
    encoders = load_referees(asked.referees, asked.device)
    known, classes = read_labelled(labelled, asked.fit, asked.classes)
    size = known.images.shape[1:3]
    engine, precision = chosen(asked.engine, "", asked.device)
    try:
        classifier = load_classifier(model, classes, precision, asked.device, size, engine)
    except OtherClasses as error:
        raise UnusableInput(
            f"{error}: {labelled} has {len(classes)} class folders, the model needs one for each of its "
            "classes; add an empty folder for each class without images, or name them all in a file with "
            "--classes"
            if not asked.classes
            else f"{error}: --classes must name the model's classes in its order"
        ) from error
    names = set_names(unlabelled)
    fit = replace(asked.fit, size=size)
    pictures = {name: read_unlabelled(path, fit) for name, path in zip(names, unlabelled, strict=True)}
    sets = [ImageSet(name, each.images, None) for name, each in pictures.items()]
    found = estimate_sets(classifier, known, sets, asked, encoders)
    return found, pictures if asked.window is None else cut(pictures, asked.window)


def estimate_sets(
    classifier: Classifier,
    known: ImageSet,
    sets: Sequence[ImageSet],
    asked: Asked,
    encoders: Mapping[str, ImageEncoder] = MappingProxyType({}),
) -> Estimation:
    """Estimate how accurate a classifier is on sets, from labelled images on which it was not trained.

    Half of the labelled images are made into meta-train sets by the operations of the group `wide`, and
    `unseen-best` is fitted to these sets and to the other half. Its estimate counts as those from logits do.
    With referees the images are split into three parts, and the third trains their probes. Observations are
    kept in a temporary folder, which is removed.

    Args:
        classifier: Model whose accuracy is estimated.
        known: Labelled images.
        sets: Unlabelled sets; labels that they have are not read.
        asked: Settings of the estimate.
        encoders: Encoders of the referees, by the names that `asked` gives.
    """
    assert known.labels is not None
    made = _Made.of(known, classifier.classes, encoders, asked) if asked.train_sets else None
    with tempfile.TemporaryDirectory() as folder:
        cache = Cache(Path(folder))
        referees = made.referees_for(cache, asked.device) if made else ()
        wanted = {"referee": bool(referees), "rotations": asked.rotations}
        needs = (*UnseenBest.needs, *(need for need, given in wanted.items() if given)) if made else ()
        observer = Observer(classifier, cache, referees=referees)
        if "rotation" in needs:
            observer = observer.with_rotation_head(replace(known, labels=None))
        bare = [FromRecipe.whole(replace(each, labels=None)) for each in (known, *sets)]
        features = () if classifier.logits_alone else ("features",)
        seen = list(observe_all(bare, observer, (*needs, *features)))
        learnt = made.learnt(seen[0], known.labels, observer, needs) if made else None
        source, *others = with_features(seen) if features else seen
        return estimate_seen(
            source,
            known.labels,
            {each.set_name: each for each in others},
            learnt,
            asked.margin,
            asked.level,
            asked.window,
            classifier.classes,
        )


@dataclass(frozen=True)
class _Made:
    """Meta-train sets and referees made of labelled images.

    Attributes:
        reference: Rows of the labelled images that serve as the source, undistorted.
        base: Rows of the labelled images that the meta-train sets are made of.
        renderings: Meta-train sets.
        referees: Referees with their probes, trained on the other labelled images.
    """

    reference: IntArray
    base: IntArray
    renderings: Sequence[FromRecipe]
    referees: Sequence[FittedReferee]

    @classmethod
    def of(
        cls,
        known: ImageSet,
        classes: tuple[str, ...],
        encoders: Mapping[str, ImageEncoder],
        asked: Asked,
    ) -> "_Made":
        """Split the labelled images, draw recipes, and fit the referees' probes."""
        assert known.labels is not None
        rows = parted(known.labels, 3 if encoders else 2)
        reference, base, lesson = (known.take(each) for each in (rows[0], rows[1], rows[-1]))
        recipes = draw_recipes(GROUP, asked.train_sets, 0, min(asked.set_size, len(base)))
        splits = Splits(classes, lesson, reference, base, base, base)
        fitted = fit_referees(encoders, splits, recipes, 0)
        return cls(rows[0], rows[1], [FromRecipe(recipe, base) for recipe in recipes], fitted)

    def referees_for(self, cache: Cache, device: str) -> tuple[Referee, ...]:
        """Returns the referees with their encoders and `cache`, ready to observe."""
        return tuple(
            Referee(each.name, each.probes, cache, partial(_given, each.encoder), None, device)
            for each in self.referees
        )

    def learnt(
        self, seen: Observation, labels: IntArray, observer: Observer, needs: tuple[str, ...]
    ) -> Learnt:
        """Returns `unseen-best` fitted to the reference and the meta-train sets."""
        sets = list(observe_all(self.renderings, observer, needs))
        truths = [made.labels() for made in self.renderings]
        correct = [each.predicted == truth for each, truth in zip(sets, truths, strict=True)]
        _check_referees(self.referees, sets)
        classifier, families = observer.classifier, [made.recipe.families for made in self.renderings]
        head = classifier.head_weight, classifier.head_bias
        meta = MetaTrain(
            Source(seen.take(self.reference), labels[self.reference], seen.take(self.base), *head),
            sets,
            np.array([each.mean() for each in correct]),
            correct,
            families,
            bases=[made.recipe.indices(made.base) for made in self.renderings],
            labels=truths,
        )
        return Learnt(UnseenBest().fit(meta), Remoteness.of(sets, blocks(families)))


def parted(labels: IntArray, count: int) -> list[IntArray]:
    """Returns the rows of each of `count` parts, with the same share of every class up to rounding.

    >>> [rows.tolist() for rows in parted(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 2)]
    [[0, 2, 4, 5], [1, 3, 6, 7]]
    """
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    return [np.sort(order[start::count]) for start in range(count)]


def _given(encoder: ImageEncoder) -> ImageEncoder:
    return encoder


def _check_referees(referees: Sequence[FittedReferee], sets: Sequence[Observation]) -> None:
    """Raise UnusableInput for a referee that predicts as the model does: it adds no evidence."""
    predicted = np.concatenate([each.predicted for each in sets])
    for referee in referees:
        judged = np.concatenate([each.views[f"{REFEREE}{referee.name}"].argmax(axis=1) for each in sets])
        if (judged == predicted).mean() >= SAME:
            raise UnusableInput(
                f"--referee {referee.probes.spec} says of each image what the model says: name an encoder "
                "that learnt from other images"
            )
