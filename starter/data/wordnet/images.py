"""The images of a manifest's classes: halves for validation and test, as files, and OOD sets by meaning."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from starter.data.images.arrays import write_npz
from starter.data.images.files import Tree, open_tree
from starter.data.images.imageset import ImageSet
from starter.data.images.reading import Fit, read_images
from starter.data.sources.oodsets import kept_sets, set_name
from starter.data.wordnet.manifest import COLUMNS, ClassEntry, check_meanings, read_manifest
from submission.arrays import BoolArray, IntArray
from submission.errors import UnusableInput, unusable
from submission.files import composed, read_rows, write_text
from submission.ids import check_set_name
from submission.random import CLASS_IMAGES

Files = tuple[str, ...]
"""Files of a class, by their paths below its source's class folders."""
SELECTION = "selection.csv"
"""Name of a table of one's own beside the sources: an `image`, SOURCE/CLASS/FILE, and `keep`, yes or no."""


def load_class_images(
    entries: Sequence[ClassEntry], root: Path, fit: Fit, per_class: int | None = None, seed: int = 0
) -> ImageSet:
    """Returns the images of the classes `entries` (k), in their order, then in that of their files.

    Labels are indices into `entries`. Folders of classes are in ``root/SOURCE``, ``root/SOURCE.zip``, or root
    itself, a folder or zip; if they are in ``train/`` and ``test/``, those in test are used. Of a class at
    most `per_class` images are drawn by `seed`.
    """
    files, rng = class_files(entries, root), CLASS_IMAGES(seed)
    if per_class is not None:
        files = [_some(own, rng.permutation(len(own))[:per_class]) for own in files]
    return _read(entries, root, files, "classes", fit)


def _some(files: Files, chosen: IntArray) -> Files:
    """Returns the files at these places, in their own order."""
    return tuple(files[index] for index in np.sort(chosen))


def class_files(entries: Sequence[ClassEntry], root: Path) -> list[Files]:
    """Returns the files of each class (k), by their paths below its source's class folders."""
    found: dict[tuple[str, str], list[str]] = {}
    for source in dict.fromkeys(entry.source for entry in entries):
        with source_tree(root, source) as tree:
            for file in tree.images(1):
                found.setdefault((source, file.partition("/")[0]), []).append(file)
    for entry in entries:
        if (entry.source, composed(entry.name)) not in found:
            raise unusable(root, f"no images of the class {entry.name!r} of {entry.source}")
    files = [tuple(found[entry.source, composed(entry.name)]) for entry in entries]
    return _selected(entries, files, root / SELECTION) if (root / SELECTION).is_file() else files


def _selected(entries: Sequence[ClassEntry], files: Sequence[Files], path: Path) -> list[Files]:
    """Returns the files that a selection keeps: of a class with any "yes" those alone, else all but "no"."""
    keep = {row["image"]: row["keep"] for _, row in read_rows(path, ("image", "keep"))}
    if wrong := sorted(set(keep.values()) - {"yes", "no"}):
        raise unusable(path, f"keep is yes or no, got {wrong[0]!r}")
    chosen = []
    for entry, own in zip(entries, files, strict=True):
        marks = {file: keep.pop(f"{entry.source}/{file}", "") for file in own}
        kept = [file for file in own if marks[file] == "yes"] or [file for file in own if not marks[file]]
        if not kept:
            raise unusable(path, f"keeps no image of {entry.source}/{entry.name}: drop it in the manifest")
        chosen.append(tuple(kept))
    folders = {f"{entry.source}/{composed(entry.name)}" for entry in entries}
    if strange := [image for image in keep if image.rpartition("/")[0] in folders]:
        raise unusable(path, f"there is no image {strange[0]}")
    return chosen


@contextmanager
def source_tree(root: Path, source: str) -> Iterator[Tree]:
    """Yield the tree of a source's class folders below `root`."""
    places = (root / source, root / f"{source}.zip", root)
    place = next(path for path in places if path == root or path.exists())
    with open_tree(place) as tree:
        if not tree.holds_images(1) and not tree.holds_images(2):
            raise unusable(
                place, f"no class folders of images; those of {source} may be in {places[0]} or {places[1]}"
            )
        yield tree.tested()


def balanced_halves(
    files: Sequence[Files], ood: BoolArray, limit: int | None = None, seed: int = 0
) -> dict[str, list[Files]]:
    """Returns each class's files in two halves, each with as many ID as OOD images and balanced classes.

    Source: Recalcati et al. 2023, section IV (stratified sampling, tables II to IV). `ood` (k,) tells the OOD
    classes; `limit` is the largest number of images of either kind in a half.
    """
    counts = np.array([len(own) for own in files])
    half = min(counts[ood].sum(), counts[~ood].sum()) // 2
    if half < 1:
        raise UnusableInput("two images or more of ID classes and of OOD classes are needed")
    half = half if limit is None else min(half, limit)
    rng = CLASS_IMAGES(seed)
    halves = {name: list[Files]([()]) * len(files) for name in ("validation", "test")}
    for kind in (ood, ~ood):
        shares = even_shares(np.where(kind, counts, 0), 2 * half)
        cuts = shares // 2
        cuts[np.flatnonzero(shares % 2)[::2]] += 1
        for row in np.flatnonzero(kind).tolist():
            order = rng.permutation(counts[row])[: shares[row]]
            for own, part in zip(halves.values(), np.split(order, cuts[[row]]), strict=True):
                own[row] = _some(files[row], part)
    return halves


def even_shares(counts: NDArray[np.integer], total: int) -> IntArray:
    """Returns whole numbers (k,), as even as `counts` (k,) allow, with this total."""
    level = 0
    while level < counts.max() and np.minimum(counts, level + 1).sum() <= total:
        level += 1
    shares = np.minimum(counts, level).astype(np.int64)
    shares[np.flatnonzero(counts > level)[: total - shares.sum()]] += 1
    return shares


def _read(entries: Sequence[ClassEntry], root: Path, files: Sequence[Files], name: str, fit: Fit) -> ImageSet:
    """Returns the images of each class's files, in the order of the classes."""
    rows = np.repeat(np.arange(len(files)), [len(own) for own in files])
    table = pd.DataFrame({"file": [file for own in files for file in own]}, rows)
    table["source"] = [entries[row].source for row in rows.tolist()]
    sizes, parts = {}, []
    for source, part in table.groupby("source", sort=False):
        with source_tree(root, str(source)) as tree:
            parts.append(read_images(tree, list(part["file"]), replace(fit, skip=0))[0])
        sizes[parts[-1].shape[1:3]] = source
    if len(sizes) > 1:
        found = (f"{source} has images of {size[1]} x {size[0]} pixels" for size, source in sizes.items())
        raise unusable(root, "; ".join(found))
    labels = np.concatenate([part.index for _, part in table.groupby("source", sort=False)])
    return ImageSet(name, np.concatenate(parts), labels).take(np.argsort(labels, kind="stable"))


def write_halves(
    manifest: Path, *, images: Path, out: Path, limit: int | None = None, id_up_to: str = "", seed: int = 0
) -> str:
    """Write halves of a manifest's images, and the numbers of each class and source; return these as text."""
    entries = [entry for entry in read_manifest(manifest, id_up_to) if entry.assignment != "dropped"]
    ood = np.array([entry.ood for entry in entries])
    halves = balanced_halves(class_files(entries, images), ood, limit, seed)
    table = pd.DataFrame(entries).rename(columns=COLUMNS)[["source", "class", "assignment"]]
    for name, files in halves.items():
        half = _read(entries, images, files, name, Fit())
        table[name] = np.bincount(half.truth, minlength=len(entries))
        write_npz(out / f"{name}.npz", replace(half, labels=ood[half.truth].astype(np.int64)))
    used = table[table[[*halves]].any(axis=1)]
    parts = composition(used)
    for name, frame in (("classes", used), ("composition", parts)):
        write_text(out / f"{name}.csv", frame.to_csv(index=False, lineterminator="\n"))
    lines = [
        f"{name}: {row.ID_images:,} images of {row.ID_classes} ID classes, "
        f"{row.OOD_images:,} of {row.OOD_classes} OOD classes"
        for name, row in parts.groupby("half", sort=False).sum(numeric_only=True).iterrows()
    ]
    return "\n".join((*lines, parts.to_string(index=False), str(out)))


def composition(counts: pd.DataFrame) -> pd.DataFrame:
    """Returns the classes and images of each source in each half, in the form of the paper's tables II to V.

    `counts` has columns source, class, assignment, and the number of images in each half.
    """
    every = counts.melt(["source", "class", "assignment"], var_name="half", value_name="images")
    drawn = every[every["images"] > 0]
    kinds = {"ID": drawn["assignment"] == "ID", "OOD": drawn["assignment"] != "ID"}
    columns = {f"{kind}_classes": mine.astype(int) for kind, mine in kinds.items()}
    columns |= {f"{kind}_images": drawn["images"] * mine for kind, mine in kinds.items()}
    return drawn.assign(**columns).groupby(["half", "source"], sort=False)[[*columns]].sum().reset_index()


def load_class_sets(
    chosen: Mapping[str, Sequence[ClassEntry]],
    root: str,
    fit: Fit,
    per_class: int | None = None,
    seed: int = 0,
) -> dict[str, ImageSet]:
    """Returns the images of the sets of `class_sets`, by name; see `load_class_images`."""
    entries = [entry for members in chosen.values() for entry in members]
    found = load_class_images(entries, Path(root), fit, per_class, seed)
    ends = np.cumsum([len(members) for members in chosen.values()])
    place = np.searchsorted(ends, found.truth, side="right")
    return {
        name: ImageSet(name, found.images[np.flatnonzero(place == row)]) for row, name in enumerate(chosen)
    }


def class_sets(
    manifest: str, reading: str = "", classes_per_set: int = 1, exclude: Iterable[str] = ()
) -> dict[str, tuple[ClassEntry, ...]]:
    """Returns the near and far classes of each OOD set of a manifest, by the set's name.

    It is FAMILY_near_SOURCE or FAMILY_far_SOURCE. Classes of one synset have one family, by whatever names
    their sources have them, so that no split of families has a meaning on both sides. `classes_per_set`
    meanings are joined in the order of their synsets' ids, in which WordNet has related ones side by side.
    """
    families = _families([entry for entry in read_manifest(manifest, reading) if entry.ood])
    if classes_per_set > 1:
        check_meanings(Path(manifest), ((name, entry) for name in families for entry in families[name]))
    found: dict[str, tuple[ClassEntry, ...]] = {}
    for name, members in _joined(families, classes_per_set) if classes_per_set > 1 else _singly(families):
        own = members[0].name
        if name in found:
            raise unusable(Path(manifest), f"{own!r} reads like {found[name][0].name!r}: rename one of them")
        try:
            found[check_set_name(name)] = members
        except ValueError as error:
            raise unusable(Path(manifest), f"{own!r} cannot name a set, rename it: {error}") from error
    if not found:
        raise unusable(Path(manifest), "no class is near or far, so that there is no OOD set")
    return {name: found[name] for name in kept_sets(list(found), (), exclude)}


Families = dict[str, list[ClassEntry]]


def _families(entries: Sequence[ClassEntry]) -> Families:
    """Returns the classes of each meaning, by its name: the first class name that is not a synset's id."""
    named: dict[str, str] = {}
    for entry in entries:
        if entry.synset and entry.name != entry.synset:
            named.setdefault(entry.synset, entry.name)
    found: Families = {}
    for entry in entries:
        found.setdefault(_plain(named.get(entry.synset, entry.name)), []).append(entry)
    return found


def _singly(families: Families) -> list[tuple[str, tuple[ClassEntry, ...]]]:
    """Returns a set for each class, named also by the class where a source has two classes of a family."""
    sets: list[tuple[str, tuple[ClassEntry, ...]]] = []
    for family, members in families.items():
        sources = [member.source for member in members]
        for entry in members:
            own = _plain(entry.name)
            twice = sources.count(entry.source) > 1 and own != family
            name = f"{family}_{entry.assignment}_{_plain(entry.source)}" + f"-{own}" * twice
            sets.append((name, (entry,)))
    return sets


def _joined(families: Families, count: int) -> list[tuple[str, tuple[ClassEntry, ...]]]:
    """Returns sets of `count` families of one assignment, or of some more where `count` leaves a rest."""
    sets: list[tuple[str, tuple[ClassEntry, ...]]] = []
    for assigned in ("near", "far"):
        chosen = [family for family, members in families.items() if members[0].assignment == assigned]
        chosen.sort(key=lambda family: (families[family][0].synset, family))
        for part in np.array_split(chosen, max(1, len(chosen) // count)) if chosen else ():
            members = tuple(entry for family in part for entry in families[family])
            sets.append((f"{part[0]}_{assigned}_{len(part)}-classes", members))
    return sets


def _plain(name: str) -> str:
    """Returns the name of a class or source as in a set's name: "pickup-truck" for "Pickup_truck"."""
    return set_name(name.replace("_", "-")).lower()
