"""Sources: labelled images by name or path, divided into splits; and sets for a natural shift."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from starter.images.arrays import as_set, read_arrays
from starter.images.files import Tree, container, open_tree, read_images, resize
from starter.images.imageset import ImageSet
from starter.sources.glyphs.digits import glyph_splits
from starter.sources.layouts import load_stored, stored_set, stored_sets
from starter.sources.splits import Splits, hold_out, split
from submission.errors import UnusableInput, printable, unusable
from submission.random import LIMITED

LEAST_SIDE = 8  # pixels: networks halve an image three times
MAX_NAME = 200  # characters; a competition takes no longer ones
MAX_CLASSES = 100_000
_CIFAR10_FOLDER = "cifar-10-batches-py"


def load_source(spec: str, root: Path | None = None, seed: int = 0) -> Splits:
    """The labelled images that `spec` names.

    Args:
        spec: a key of `SOURCES` or a path: a folder or zip of ``<class>/<image>``, or of
            ``train/<class>/<image>`` and ``test/<class>/<image>``; a folder inside a zip, as in
            ``photos.zip/animals``; an ``.npz`` with `images` uint8 (n, h, w, 3), `labels` (n,) and
            perhaps `classes` (k,), their names; the folder where torchvision keeps CIFAR-10. Classes stand
            in the order of their sorted names, those of an ``.npz`` in its own.
        root: where "cifar10" is kept or downloaded to; by default the user's cache folder.
        seed: of the splits, and of the images of "glyphs".

    Without a test split half of each class is held out in its place, shuffled by `seed`; what the classifier
    learnt from must then lie in the other half, which is `train`.

    Raises:
        UnusableInput: no such source or path, a damaged file, images of several sizes or below 8 x 8 pixels,
            too few images, or a name that is no printable line of 1 to 200 characters.
    """
    if spec in SOURCES:
        return SOURCES[spec](root, seed)
    path = Path(spec)
    try:
        container(path)
    except UnusableInput as error:
        raise UnusableInput(f"{error}; sources with a name are {', '.join(SOURCES)}") from error
    _check_name(path, "source", path.absolute().name)
    splits = _path_splits(path, seed)
    height, width = splits.image_size
    if min(height, width) < LEAST_SIDE:
        raise unusable(
            path, f"images of {width} x {height} pixels; {LEAST_SIDE} x {LEAST_SIDE} or more are needed"
        )
    return splits


def _path_splits(path: Path, seed: int) -> Splits:
    if (path / _CIFAR10_FOLDER).is_dir():
        return _cifar10(path, seed)
    if path.suffix == ".npz":
        return _array_splits(path, seed)
    with open_tree(path) as tree:
        return _tree_splits(tree, seed)


def set_names(path: str | Path) -> list[str]:
    """The paths of the labelled sets at `path`, each fit for `load_images`, sorted.

    A folder or zip of ``<set>/<class>/<image>`` holds several, as do a folder of ``.npz`` files and the
    layouts of `starter.sources.layouts`; whatever else `load_images` reads is one.

    Raises:
        UnusableInput: there is no such file or folder, or no image in it.
    """
    path = Path(path)
    if stored := stored_sets(path):
        return [str(each.path) for each in stored]
    whole = container(path)
    if path.suffix == ".npz":
        return [str(path)]
    if whole.is_dir() and (arrays := sorted(path.glob("[!.]*.npz"))):
        return [str(each) for each in arrays]
    with open_tree(path) as tree:
        if not tree.holds_images(2):
            return [str(path)] if tree.images(1) else []
        return [str(path / name) for name in tree.folders(2)]


def load_images(
    path: str | Path,
    classes: Sequence[str],
    limit: int | None = None,
    seed: int = 0,
    image_size: tuple[int, int] | None = None,
) -> ImageSet:
    """One labelled set of a natural shift, named after the last part of `path`, in the order of its files.

    Args:
        path: a folder or zip of ``<class>/<image>``, a folder in a zip, a set in a layout of
            `sources.layouts`, or an ``.npz`` as in `load_source` (without `classes`, its labels count the
            given ones).
        classes: the source's class names in label order; the set may lack some of them.
        limit: at most that many images, drawn uniformly by `seed`; None takes all.
        image_size: (h, w) to which other images are resized (area interpolation, proportions not kept); None:
            all must have one size.

    Raises:
        UnusableInput: the path or an image cannot be read, several sets lie there, a class is not among
            `classes` (the message lists them), or a name is no printable line of 1 to 200 characters.
    """
    path = Path(path)
    if (stored := stored_set(path)) is not None:
        if stored.labels is None:
            raise unusable(path, "no labels.npy beside it, and without labels no accuracy can be measured")
        return load_stored(stored, classes, _drawn(len(stored), limit, seed), image_size)
    container(path)
    name = path.stem if path.suffix == ".npz" else path.resolve().name.removesuffix(".zip")
    _check_name(path, "set", name)
    if path.suffix == ".npz":
        return _array_set(path, classes, limit, seed, image_size)
    with open_tree(path) as tree:
        if tree.holds_images(2):
            first, names = tree.folders(2)[0], ", ".join(tree.folders(2))
            raise unusable(path, f"holds several sets ({names}); name one, as in {path / first}")
        return _tree_set(tree, name, classes, limit, seed, image_size)


def _glyphs(root: Path | None, seed: int) -> Splits:
    return glyph_splits(seed)


def _cifar10(root: Path | None, seed: int) -> Splits:
    from torchvision.datasets import CIFAR10  # slow to import, and needed only here

    from starter.sources.download import cache_folder

    folder = root or cache_folder()
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


SOURCES: dict[str, Callable[[Path | None, int], Splits]] = {"cifar10": _cifar10, "glyphs": _glyphs}


def _tree_splits(tree: Tree, seed: int) -> Splits:
    if not tree.holds_images(2):
        classes = _checked(tree.path, tree.folders(1))
        train, test = hold_out(_tree_set(tree, printable(tree.path), classes), seed)
        return split(classes, train, test, seed)
    if tree.folders(2) != ("test", "train"):
        found = ", ".join(tree.folders(2))
        raise unusable(tree.path, f"above the class folders must be train/ and test/, got {found}")
    below = tree.below("train"), tree.below("test")
    classes = _checked(below[0].path, below[0].folders(1))
    train, test = (_tree_set(part, printable(part.path), classes) for part in below)
    if train.images.shape[1:] != test.images.shape[1:]:
        (height, width), (h, w) = train.images.shape[1:3], test.images.shape[1:3]
        raise UnusableInput(f"{test.name}: images of {w} x {h} pixels, but train/ has {width} x {height}")
    return split(classes, train, test, seed)


def _tree_set(
    tree: Tree,
    name: str,
    classes: Sequence[str],
    limit: int | None = None,
    seed: int = 0,
    size: tuple[int, int] | None = None,
) -> ImageSet:
    for folder in tree.folders(1):
        if folder not in classes:
            raise unusable(tree.path / folder, _unknown(folder, classes))
    files = tree.images(1)
    files = tuple(files[i] for i in _drawn(len(files), limit, seed))
    numbers = {label: number for number, label in enumerate(classes)}
    labels = np.array([numbers[file.split("/")[0]] for file in files], np.int64)
    return ImageSet(name, read_images(tree, files, size), labels)


def _array_splits(path: Path, seed: int) -> Splits:
    named, images, labels = _arrays(path)
    most = labels.max()
    if not named and most >= len(images):
        raise unusable(path, f"label {most} of {len(images)} images; without `classes`, labels count from 0")
    classes = _checked(path, named or tuple(str(number) for number in range(most + 1)))
    train, test = hold_out(replace(images, name=printable(path)), seed)
    return split(classes, train, test, seed)


def _array_set(
    path: Path, classes: Sequence[str], limit: int | None, seed: int, size: tuple[int, int] | None
) -> ImageSet:
    named, images, labels = _arrays(path)
    used = np.unique(labels)
    if not named and used[-1] >= len(classes):
        raise unusable(path, f"label {used[-1]} of {len(classes)} classes ({', '.join(classes)})")
    numbers = np.arange(used[-1] + 1)
    for label in used if named else ():
        if named[label] not in classes:
            raise unusable(path, _unknown(named[label], classes))
        numbers[label] = classes.index(named[label])
    chosen = images.take(_drawn(len(images), limit, seed))
    pixels = chosen.images if size is None else np.stack([resize(image, size) for image in chosen.images])
    return ImageSet(chosen.name, pixels, numbers[chosen.labels])


def _arrays(path: Path) -> tuple[tuple[str, ...], ImageSet, NDArray[np.int64]]:
    """The class names (none where the file has none), the labelled images of an .npz, and their labels."""
    arrays = read_arrays(path, ("images", "labels"), ("classes",))
    names = arrays.get("classes", np.array([], np.str_))
    if names.ndim != 1 or names.dtype.kind != "U" or len(names) > MAX_CLASSES:
        reason = f"classes must be names (k,), k at most {MAX_CLASSES:,}, got {names.dtype} {names.shape}"
        raise unusable(path, reason)
    named: tuple[str, ...] = tuple(names.tolist())
    for name in named:
        _check_name(path, "class", name)
    images = as_set(path, path.stem, arrays)
    assert images.labels is not None
    if named and images.labels.max() >= len(named):
        raise unusable(path, f"label {images.labels.max()} of {len(named)} classes")
    return named, images, images.labels


def _checked(path: Path, classes: tuple[str, ...]) -> tuple[str, ...]:
    for name in classes:
        _check_name(path, "class", name)
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise unusable(path, f"two or more different classes are needed, got {', '.join(classes)}")
    return classes


def _check_name(path: Path, noun: str, name: str) -> None:
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        shown = repr(name[:40]) + "..." * (len(name) > 40)
        raise unusable(path, f"the {noun} {shown} needs a printable name of 1 to {MAX_NAME} characters")


def _unknown(name: str, classes: Sequence[str]) -> str:
    return f"no class {name!r}; the classes are {', '.join(classes)}"


def _drawn(n: int, limit: int | None, seed: int) -> NDArray[np.int64]:
    """Indices of all n images, or of `limit` drawn without replacement, ascending."""
    if limit is None or limit >= n:
        return np.arange(n)
    if limit < 1:
        raise ValueError(f"limit must be 1 or more, got {limit}")
    rng = LIMITED(seed)
    return np.sort(rng.choice(n, limit, replace=False))
