"""Splits: the division of a source's labelled images by purpose."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from starter.images.imageset import ImageSet
from submission.errors import UnusableInput
from submission.random import SPLITS

# Where reference, meta_base and val_base end, in tenths of each class's test images; test_base is the rest.
_ENDS = (2, 6, 7)
LEAST = 10  # images of each class, so that every part gets one


@dataclass(frozen=True)
class Splits:
    """The labelled images of one source, each in exactly one part (but see `as_in_datacv`).

    Attributes:
        classes: Names of the k classes, in label order.
        train: Training images of the classifier; no calibration uses them.
        reference: Images for thresholds, temperatures and other calibration with labels.
        meta_base: Images for meta-train sets.
        val_base: Images for validation sets, which are labelled for participants.
        test_base: Images for hidden test sets, without images of `val_base`.
    """

    classes: tuple[str, ...]
    train: ImageSet
    reference: ImageSet
    meta_base: ImageSet
    val_base: ImageSet
    test_base: ImageSet

    def as_in_datacv(self) -> "Splits":
        """Returns the DataCV challenge's own division: all test images in meta-base, val-base and test-base.

        Test sets then have the same images as meta-train sets, so such a competition is practice.
        """
        parts = (self.meta_base, self.reference, self.val_base, self.test_base)
        images = np.concatenate([part.images for part in parts])
        labels = np.concatenate([part.labels for part in parts if part.labels is not None])
        meta, val, test = (ImageSet(f"{part}_base", images, labels) for part in ("meta", "val", "test"))
        return replace(self, meta_base=meta, val_base=val, test_base=test)

    @property
    def tested(self) -> int:
        """Number of test images of the source: those of all parts except `train`, each counted once."""
        if self.meta_base.images is self.test_base.images:  # as in DataCV
            return len(self.test_base)
        return sum(map(len, (self.reference, self.meta_base, self.val_base, self.test_base)))

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width in pixels, of every part."""
        height, width = self.train.images.shape[1:3]
        return height, width


def split(classes: tuple[str, ...], train: ImageSet, test: ImageSet, seed: int) -> Splits:
    """Divide the labelled `test` images: reference 20 %, meta-base 40 %, val-base 10 %, test-base 30 %.

    Shuffled and stratified by `seed`: of CIFAR-10's 10,000 test images 2,000 / 4,000 / 1,000 / 3,000, equally
    many of each class. The parts are disjoint and none is ordered by class.
    """
    rng = SPLITS(seed)
    names = tuple(field.name for field in fields(Splits)[2:])
    chosen: dict[str, list[NDArray[np.int64]]] = {name: [] for name in names}
    for label, class_name in enumerate(classes):
        members = rng.permutation(np.flatnonzero(test.labels == label))
        if len(members) < LEAST:
            reason = f"{len(members)} test images of class {class_name!r}; {LEAST} of each are needed"
            raise UnusableInput(f"{test.name}: {reason} (half of a class, where there is no test split)")
        ends = [round(len(members) * end / 10) for end in _ENDS]
        for name, part in zip(names, np.split(members, ends), strict=True):
            chosen[name].append(part)
    parts = (test.take(rng.permutation(np.concatenate(chosen[name])), name) for name in names)
    return Splits(classes, train, *parts)


def hold_out(images: ImageSet, seed: int) -> tuple[ImageSet, ImageSet]:
    """Returns labelled images in two halves (train, test), stratified by `seed`; odd images go to train."""
    assert images.labels is not None
    rng = SPLITS(seed)
    halves: tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]] = ([], [])
    for label in np.unique(images.labels):
        members = rng.permutation(np.flatnonzero(images.labels == label))
        for half, part in zip(halves, np.split(members, [(len(members) + 1) // 2]), strict=True):
            half.append(part)
    train, test = (images.take(rng.permutation(np.concatenate(half))) for half in halves)
    return train, test
