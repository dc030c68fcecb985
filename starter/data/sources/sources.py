"""Sources: labelled images by name or path, divided into splits; and sets with natural shift."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from starter.data.images.arrays import as_set, read_arrays
from starter.data.images.files import Tree, cache_folder, container, is_visible, open_tree
from starter.data.images.imageset import ImageSet, places
from starter.data.images.reading import Fit, read_images, tell_sameness
from starter.data.sources.glyphs.digits import glyph_splits
from starter.data.sources.npy_sets import load_stored, stored_set, stored_sets
from starter.data.sources.splits import Splits, hold_out, split
from submission.arrays import IntArray
from submission.errors import UnusableInput, printable, unusable
from submission.files import composed
from submission.random import LIMITED

LEAST_SIDE = 8  # pixels: networks halve an image three times
_CIFAR10_FOLDER = "cifar-10-batches-py"


def load_source(spec: str, seed: int = 0, fit: Fit | None = None) -> Splits:
    """Returns the splits of a source of labelled images; duplicates are left out, which a line says.

    `spec` is a key of `SOURCES` or a path: a folder or zip of ``<class>/<image>`` or of these in ``train/``
    and ``test/``; a folder inside a zip; an ``.npz`` with `images`, `labels` and optionally the `classes`'
    names; or torchvision's folder of CIFAR-10. Without a test split, half of each class is held out, shuffled
    by `seed`; the classifier must have been trained on the other half only, which is `train`.
    """
    fit = fit or Fit()
    if spec in SOURCES:
        if fit.size:
            raise UnusableInput(f"--image-size is for images at a path; --source {spec} has its own size")
        return SOURCES[spec](seed)
    path = Path(spec)
    try:
        container(path)
    except UnusableInput as error:
        raise UnusableInput(f"{error}; sources with a name are {', '.join(SOURCES)}") from error
    if (path / _CIFAR10_FOLDER).is_dir():
        splits = _cifar10(path, seed)
    elif path.suffix.lower() == ".npz":
        splits = _array_splits(path, seed, fit)
    else:
        with open_tree(path) as tree:
            splits = _tree_splits(tree, seed, fit)
    height, width = splits.image_size
    if min(height, width) < LEAST_SIDE:
        raise unusable(
            path, f"images of {width} x {height} pixels; {LEAST_SIDE} x {LEAST_SIDE} or more are needed"
        )
    return splits


def set_names(path: str | Path, classes: Sequence[str] = ()) -> list[str]:
    """Returns the paths of the labelled sets at `path`, sorted, for `load_images`.

    A folder or zip of ``<set>/<class>/<image>``, a folder of ``.npz`` files and layouts of `npy_sets` hold
    several. Folders below those of `classes` are parts of a class, not classes of a set.
    """
    path = Path(path)
    if stored := stored_sets(path):
        return [str(each.path) for each in stored]
    if path.suffix.lower() == ".npz":
        container(path)  # refuses a wrong path
        return [str(path)]
    if arrays := sorted(each for each in path.glob("[!.]*.[nN][pP][zZ]") if is_visible(each.name)):
        return [str(each) for each in arrays]
    with open_tree(path) as tree:
        if not _holds_sets(tree, classes):
            return [str(path)] if tree.images(1) else []
        return [str(path / name) for name in tree.folders(2)]


def load_images(
    path: str | Path, classes: Sequence[str], limit: int | None = None, seed: int = 0, fit: Fit | None = None
) -> ImageSet:
    """Returns one labelled set with natural shift, named after the last part of `path`, in its files' order.

    See `set_names` for the path; the labels of an ``.npz`` without `classes` are indices of the given ones.
    At most `limit` images are drawn uniformly by `seed`.
    """
    path, fit = Path(path), fit or Fit()
    if (stored := stored_set(path)) is not None:
        if stored.labels is None:
            raise unusable(path, "no labels.npy beside it, and without labels no accuracy can be measured")
        return load_stored(stored, classes, _drawn(len(stored), limit, seed), fit)
    if path.suffix.lower() == ".npz":
        return _array_set(path, classes, limit, seed, fit)
    with open_tree(path) as tree:
        if _holds_sets(tree, classes):
            first, names = tree.folders(2)[0], ", ".join(tree.folders(2))
            raise unusable(path, f"holds several sets ({names}); name one, as in {path / first}")
        name = composed(path.resolve().name)
        name = name[:-4] if name.lower().endswith(".zip") else name
        return _tree_set(tree, name, classes, fit, limit=limit, seed=seed)


def _cifar10(folder: Path, seed: int) -> Splits:
    from torchvision.datasets import CIFAR10  # slow to import, and needed only here

    try:
        train, test = (
            CIFAR10(str(folder), train=part, download=not (folder / _CIFAR10_FOLDER).is_dir())
            for part in (True, False)
        )
    except (OSError, RuntimeError) as error:
        raise unusable(
            "cifar10",
            f"not whole in {folder}, and no download ({error}); pass the path of a folder that "
            f"holds {_CIFAR10_FOLDER}, or of a folder or zip of train/<class>/ and test/<class>/ images",
        ) from error
    sets = [
        ImageSet("cifar10", np.asarray(data.data), np.array(data.targets, np.int64)) for data in (train, test)
    ]
    return split(tuple(train.classes), sets[0], sets[1], seed)


SOURCES: dict[str, Callable[[int], Splits]] = {
    "cifar10": lambda seed: _cifar10(cache_folder(), seed),
    "glyphs": glyph_splits,
}


def _holds_sets(tree: Tree, classes: Sequence[str]) -> bool:
    """Returns True if the subfolders are classes of sets, and False if they are parts of classes."""
    below, known = tree.second_folders(), set(classes)
    if not set(below) <= known:
        return tree.holds_images(2)
    if known.intersection(chain(*below.values())):
        raise unusable(tree.path, "folders of classes are in folders of classes: rename those of the sets")
    return False


def _tree_splits(tree: Tree, seed: int, fit: Fit) -> Splits:
    below = {} if tree.holds_images(1) else tree.second_folders()
    if set(below) == {"test", "train"}:
        return _given_splits(tree, seed, fit)
    times = Counter(chain.from_iterable(below.values()))
    if max(times.values(), default=0) > 1 or {"train", "test"} & set(below):
        reason = f"above the class folders must be train/ and test/, got {', '.join(below)}"
        raise unusable(tree.path, reason)
    classes = _checked(tree.path, tree.folders(1))
    images = _tree_set(tree, printable(tree.path), classes, fit)
    return split(classes, *hold_out(_without_repeats(images, set()), seed), seed)


def _given_splits(tree: Tree, seed: int, fit: Fit) -> Splits:
    """Returns the splits of images in the folders train/ and test/."""
    parts = tree.below("train"), tree.below("test")
    classes = _checked(parts[0].path, parts[0].folders(1))
    seen: set[bytes] = set()
    train = _without_repeats(_tree_set(parts[0], printable(parts[0].path), classes, fit), seen)
    height, width = train.images.shape[1:3]
    test = _tree_set(parts[1], printable(parts[1].path), classes, replace(fit, size=(height, width)))
    return split(classes, train, _without_repeats(test, seen), seed)


def _without_repeats(images: ImageSet, seen: set[bytes]) -> ImageSet:
    """Returns the images without duplicates and without those in `seen`, to which their hashes are added."""
    if (fresh := images.without_repeats(seen, images.name)) is None:
        raise UnusableInput(f"{images.name}: every image is in train/ too: others are needed to test on")
    return fresh


def _tree_set(
    tree: Tree, name: str, classes: Sequence[str], fit: Fit, limit: int | None = None, seed: int = 0
) -> ImageSet:
    folders, files = tree.folders(1), tree.images(1)
    numbers = dict(zip(folders, places(folders, classes, tree.path), strict=True))
    files = tuple(files[i] for i in _drawn(len(files), limit, seed))
    labels = np.array([numbers[file.split("/")[0]] for file in files], np.int64)
    images, rows = read_images(tree, files, fit)
    return ImageSet(name, images, labels[rows])


def _array_splits(path: Path, seed: int, fit: Fit) -> Splits:
    named, images = _arrays(path)
    classes = _checked(path, named or tuple(str(number) for number in range(images.truth.max() + 1)))
    images = ImageSet(printable(path), fit.all(images.images), images.labels)
    return split(classes, *hold_out(_without_repeats(images, set()), seed), seed)


def _array_set(path: Path, classes: Sequence[str], limit: int | None, seed: int, fit: Fit) -> ImageSet:
    named, images = _arrays(path, classes)
    numbers = np.arange(len(named or classes))
    if named:
        used = np.unique(images.truth)
        numbers[used] = places([named[label] for label in used], classes, path)
    chosen = images.take(_drawn(len(images), limit, seed))
    return ImageSet(chosen.name, fit.all(chosen.images), numbers[chosen.truth])


def _arrays(path: Path, classes: Sequence[str] = ()) -> tuple[tuple[str, ...], ImageSet]:
    """Returns the class names in an .npz (empty if it has none), and its labelled images."""
    arrays = read_arrays(path, ("images", "labels"), ("classes",))
    named = tuple(composed(str(name)) for name in arrays["classes"]) if "classes" in arrays else ()
    images = as_set(path, path.stem, arrays, named or classes)
    tell_sameness(path, images.images)
    return named, images


def _checked(path: Path, classes: tuple[str, ...]) -> tuple[str, ...]:
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise unusable(path, f"two or more different classes are needed, got {', '.join(classes)}")
    return classes


def _drawn(n: int, limit: int | None, seed: int) -> IntArray:
    """Returns the indices of all n images, or of `limit` drawn without replacement, ascending."""
    if limit is None or limit >= n:
        return np.arange(n)
    return np.sort(LIMITED(seed).choice(n, limit, replace=False))
