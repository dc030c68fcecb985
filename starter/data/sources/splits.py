"""Splits: the division of a source's labelled images by purpose."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from starter.data.images.imageset import ImageSet
from submission.errors import UnusableInput
from submission.random import SPLITS

# Where reference, meta_base and val_base end, in tenths of each class's test images; test_base is the rest.
_ENDS = (2, 6, 7)
LEAST = 10  # images of each class, so that every part gets one


@dataclass(frozen=True)
class Splits:
    """The labelled images of one source, each in exactly one part (but see `as_in_datacv`).

    `train` is the classifier's; `reference` is for thresholds and other calibration with labels; `meta_base`
    for meta-train sets, `val_base` for labelled validation sets, `test_base` for hidden test sets.
    """

    classes: tuple[str, ...]
    train: ImageSet
    reference: ImageSet
    meta_base: ImageSet
    val_base: ImageSet
    test_base: ImageSet

    def as_in_datacv(self) -> "Splits":
        """Returns DataCV's division, for practice: every part but `train` has all test images."""
        whole = ImageSet.joined("", (self.meta_base, self.reference, self.val_base, self.test_base))
        names = ("reference", "meta_base", "val_base", "test_base")
        reference, meta, val, test = (replace(whole, name=name) for name in names)
        return replace(self, reference=reference, meta_base=meta, val_base=val, test_base=test)

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
    """Divide `test`, stratified: reference 20 %, meta-base 40 %, val-base 10 %, test-base 30 %."""
    counts = np.bincount(test.truth, minlength=len(classes))
    if (least := counts.min()) < LEAST:
        reason = f"{least} test images of class {classes[counts.argmin()]!r}; {LEAST} of each are needed"
        if counts[0] == 0:
            reason += " (numbers of classes count from 0)"
        raise UnusableInput(f"{test.name}: {reason} (half of a class, where there is no test split)")
    parts = _stratified(test, seed, lambda n: [round(n * end / 10) for end in _ENDS])
    names = (field.name for field in fields(Splits)[2:])
    named = (replace(part, name=name) for part, name in zip(parts, names, strict=True))
    return Splits(classes, train, *named)


def hold_out(images: ImageSet, seed: int) -> tuple[ImageSet, ImageSet]:
    """Returns labelled images in two halves (train, test), stratified by `seed`; odd images go to train."""
    if np.bincount(images.truth).max() < 2:
        raise UnusableInput(f"{images.name}: one image of each class, {LEAST} to test on are needed")
    train, test = _stratified(images, seed, lambda n: [(n + 1) // 2])
    return train, test


def _stratified(images: ImageSet, seed: int, ends: Callable[[int], list[int]]) -> list[ImageSet]:
    """Returns labelled images in shuffled parts; `ends` are where each but the last ends in n of a class."""
    rng, labels, chosen = SPLITS(seed), images.truth, []
    for label in np.unique(labels):
        members = rng.permutation(np.flatnonzero(labels == label))
        chosen.append(np.split(members, ends(len(members))))
    return [images.take(rng.permutation(np.concatenate(part))) for part in zip(*chosen, strict=True)]
