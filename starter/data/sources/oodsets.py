"""OOD sets: unlabelled images of other label spaces, embedded or one folder per data set.

``gbench.csv`` lists those of Zhang, Deng & Zheng: `name` in the paper's appendix K, `address` of publication,
and `overlaps`, the IND data with common classes (appendix F). The appendix counts 200 data sets and lists
201; all are kept. Where it lost a hyphen at the end of a line, an address was mended as far as it is plain
what stood there.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.random import Generator

from starter.data.images.files import Tree, open_tree, tell_strays
from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit, read_images
from starter.data.sources.glyphs.signs import PICTURES, SCRIPTS, other_glyphs
from submission.errors import UnusableInput, unusable
from submission.progress import progress
from submission.random import OOD_IMAGES

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
OVERLAPPING: dict[tuple[str, ...], tuple[str, ...]] = {
    CIFAR10: ("cifar10", "cifar100_vehicles", "tinyin_vehicles_other"),
    tuple("0123456789"): (
        *("svhn", "mnist", "font_chars", "synthetic-digits", "noisy-number", "license-plate-digits"),
        *("handwritten-digits-and-operators", "captcha"),
    ),
}
"""Names of OOD sets, in lower case, with images of the IND classes, by these classes; they are omitted."""


def load_ood_sets(
    path: str,
    classes: Sequence[str],
    fit: Fit,
    exclude: Iterable[str] = (),
    limit: int | None = None,
    seed: int = 0,
    stream: Callable[[int, str], Generator] = OOD_IMAGES,
) -> dict[str, ImageSet]:
    """Returns the OOD sets at `path` by name, without those that overlap with the IND classes, and `exclude`.

    The path is of a folder or zip with one folder per data set, and images at any depth below; "" of the
    embedded sets. Of each set at most `limit` images are drawn uniformly by `seed` from the `stream`.
    """
    if not path:
        embedded = other_glyphs(seed)
        kept = kept_sets(list(embedded), classes, exclude)
        return {name: replace(embedded[name], images=fit.all(embedded[name].images)) for name in kept}
    with open_tree(Path(path)) as tree:
        files = _named(tree)
        kept = kept_sets(list(files), classes, exclude)
        sets = {}
        for name in progress(kept, "read OOD sets", unit="sets"):
            rows = np.sort(stream(seed, name).permutation(len(files[name]))[:limit])
            sets[name] = ImageSet(name, read_images(tree, [files[name][row] for row in rows], fit)[0])
        return sets


def load_ind_images(path: str, fit: Fit) -> ImageSet:
    """Returns all images below `path`, a folder or zip of images of the IND classes, without labels."""
    with open_tree(Path(path)) as tree:
        if not (files := tree.every_image):
            raise unusable(tree.path, "no images in it")
        return ImageSet("ind", read_images(tree, files, fit)[0])


def ood_set_names(path: str, classes: Sequence[str], exclude: Iterable[str] = ()) -> list[str]:
    """Returns the names of the sets of `load_ood_sets`, without reading them."""
    if not path:
        return kept_sets([*SCRIPTS, *PICTURES], classes, exclude)
    with open_tree(Path(path)) as tree:
        return kept_sets(list(_named(tree)), classes, exclude)


def set_name(folder: str) -> str:
    """Returns the name of a folder's set: characters other than letters, digits and ``. _ -`` become "-".

    >>> set_name("Tally marks"), set_name("Plastic, paper and garbage bags")
    ('Tally-marks', 'Plastic-paper-and-garbage-bags')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-._")[:80]


def without_shared(sets: Mapping[str, ImageSet], ind: Sequence[ImageSet]) -> dict[str, ImageSet]:
    """Returns the sets without images that are also IND or in an earlier set; empty sets are omitted."""
    seen = {digest for images in ind for digest in images.hashes()}
    fresh = {name: images.without_repeats(seen, f"OOD set {name}") for name, images in sets.items()}
    return {name: images for name, images in fresh.items() if images}


def kept_sets(known: Sequence[str], classes: Sequence[str], exclude: Iterable[str]) -> list[str]:
    """Returns the `known` names of OOD sets without `OVERLAPPING` ones and those to `exclude`."""
    unwanted = {name.casefold() for name in exclude}
    if strange := sorted(unwanted - {name.casefold() for name in known}):
        raise UnusableInput(f"--exclude {strange[0]}: no such OOD set; there are {', '.join(known)}")
    left_out = unwanted | set(OVERLAPPING.get(tuple(classes), ()))
    return [name for name in known if name.casefold() not in left_out]


def _named(tree: Tree) -> dict[str, tuple[str, ...]]:
    """Returns the image files of every set, by the set's name."""
    files: dict[str, tuple[str, ...]] = {}
    for folder, images in tree.images_anywhere().items():
        name = set_name(folder)
        reason = "" if images else "no images in it: remove the folder, or fill it"
        if not name or name.casefold() in map(str.casefold, files):
            reason = f"the name {name!r} of its set is used or empty: rename the folder"
        if reason:
            raise unusable(tree.path / folder, reason)
        files[name] = images
    tell_strays(tree.path, sorted(set(tree.files) - set(tree.every_image)))
    if not files:
        raise unusable(tree.path, "one folder per OOD data set is expected, and there is none with images")
    return files
