"""Lists of classes: a data set's name, a file of labels, or the class folders of images."""

import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from starter.images.files import container, open_tree, printable, unusable
from starter.meaning.labels import MAX_LABEL, Matches, match_labels
from starter.meaning.wordnet import WordNet
from submission.errors import UnusableInput
from submission.textfile import read_rows, read_text

_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_TIMM = {
    "imagenet-1k": "imagenet_synsets.txt",
    "imagenet-21k": "imagenet21k_goog_synsets.txt",
    "imagenet-21k-p": "imagenet21k_miil_synsets.txt",
}
_PLACES_LINE = re.compile(r"/[a-z]/(\S+) [0-9]+")


@dataclass(frozen=True)
class ClassList:
    """The classes of a data set.

    Attributes:
        source: the data set's name: a key of `CLASS_LISTS`, or the last part of a path without its suffix.
        labels: what it calls its classes, in its own order.
    """

    source: str
    labels: tuple[str, ...]

    def match(self, wordnet: WordNet, overrides: Mapping[str, str] | None = None) -> Matches:
        """The synset of every label: by `overrides`, by the kit's own for this source, or by its words."""
        known = {**kit_overrides(self.source), **(overrides or {})}
        return Matches(self.source, tuple(match_labels(wordnet, self.labels, known)))


def match_all(wordnet: WordNet, specs: Sequence[str], overrides: Mapping[str, str]) -> list[Matches]:
    """The synsets of several lists' labels, as `load_classes` and `ClassList.match` give them.

    Raises:
        UnusableInput: as `load_classes`; two lists of one name, or an override for a label of no list.
    """
    lists = [load_classes(spec) for spec in specs]
    sources = [each.source for each in lists]
    if twice := [source for source in sources if sources.count(source) > 1]:
        raise UnusableInput(f"two class lists go by the name {twice[0]!r}: rename one, or name it once")
    known = {label for each in lists for label in each.labels}
    if unknown := next((label for label in overrides if label not in known), None):
        raise UnusableInput(f"the overrides name {unknown!r}, which no class list has")
    return [each.match(wordnet, overrides) for each in lists]


def load_classes(spec: str) -> ClassList:
    """The classes that `spec` names.

    Args:
        spec: a key of `CLASS_LISTS`; a text file of labels or synset ids, one a line (Places365's own list is
            read too: "/a/airfield 0" is "airfield"); or a folder, a zip or a folder in a zip with a folder
            per class.

    Raises:
        UnusableInput: no such name or path, no classes there, a label that stands there twice, or timm is
            needed for a list of ImageNet's and missing.
    """
    if spec in CLASS_LISTS:
        return ClassList(spec, CLASS_LISTS[spec]())
    path = Path(spec)
    try:
        whole = container(path)
    except UnusableInput as error:
        raise UnusableInput(f"{error}; class lists with a name are {', '.join(CLASS_LISTS)}") from error
    if whole == path and path.is_file() and path.suffix != ".zip":
        labels = _lines(path)
    else:
        with open_tree(path) as tree:
            labels = tree.folders(1)
    if bad := next((label for label in labels if not label.isprintable() or len(label) > MAX_LABEL), None):
        raise unusable(path, f"{bad[:40]!r} is no label: a printable line of up to {MAX_LABEL} characters")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise unusable(path, f"the label {twice!r} stands there twice")
    return ClassList(printable(path.resolve().name.removesuffix(path.suffix)), labels)


def _lines(path: Path) -> tuple[str, ...]:
    lines = [line.strip() for line in read_text(path).split("\n")]
    places = (_PLACES_LINE.fullmatch(line) for line in lines)
    labels = tuple(match[1] if match else line for match, line in zip(places, lines, strict=True) if line)
    if not labels:
        raise unusable(path, "holds no label, which is one line")
    return labels


def read_overrides(path: Path) -> dict[str, str]:
    """A file of one's own that says which synset a label means: CSV with the columns label and synset.

    Other columns are allowed, and rows with an empty synset are skipped: what `unseen classes --matches`
    writes can be edited and given back.

    Raises:
        UnusableInput: it cannot be read, lacks a column, or gives a label twice.
    """
    found: dict[str, str] = {}
    for line, row in read_rows(path, ("label", "synset")):
        label, synset = row["label"], row["synset"]
        if synset and found.setdefault(label, synset) != synset:
            raise unusable(path, f"line {line}: the label {label!r} has another synset above")
    return found


def kit_overrides(source: str) -> dict[str, str]:
    """What the kit says the labels of this source mean; nothing where it needs to say nothing."""
    path = Path(__file__).with_name("synsets") / f"{source}.csv"
    return read_overrides(path) if source in ("cifar100", "places365") else {}


def _from_timm(name: str) -> tuple[str, ...]:
    """A list of synset ids that timm carries, read without importing timm."""
    found = importlib.util.find_spec("timm")
    if found is None or not found.submodule_search_locations:
        raise UnusableInput("ImageNet's class lists come with timm: pip install 'unseen[wordnet]'")
    path = Path(found.submodule_search_locations[0]) / "data" / "_info" / name
    if not path.is_file():
        raise unusable(path, "this timm does not carry the list: pip install -U timm")
    return tuple(read_text(path).split())


def _timm_list(name: str) -> Callable[[], tuple[str, ...]]:
    return lambda: _from_timm(_TIMM[name])


CLASS_LISTS: dict[str, Callable[[], tuple[str, ...]]] = {
    "cifar10": lambda: _CIFAR10,
    **{name: _timm_list(name) for name in _TIMM},
}
"""Class lists with a name. ImageNet-21K-P: the 11,221 classes of Ridnik et al. 2021."""
