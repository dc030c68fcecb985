"""From labels to synsets: their words looked up in WordNet, tables that overrule it, and lists of classes."""

import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import pandas as pd

from starter.data.images.files import open_tree
from starter.data.sources.oodsets import CIFAR10
from starter.data.wordnet.wordnet import SYNSET_ID, WordNet, load_wordnet
from submission.errors import UnusableInput, unusable
from submission.files import read_lines, read_rows, read_text, write_text

UNMATCHED = "unmatched"
OTHERS = 8
"""Number of other senses of a label that a file of matches lists."""


@dataclass(frozen=True)
class Match:
    """The synsets that a label may mean, the chosen one first, and how it was read: see `_match`."""

    label: str
    candidates: tuple[str, ...]
    how: str

    @property
    def synset(self) -> str | None:
        """The id of the chosen synset; None if there is none."""
        return self.candidates[0] if self.candidates else None

    def called(self, wordnet: WordNet) -> str:
        """Returns the label, or the first word of its synset if the label is a synset's id."""
        return wordnet.words[self.label][0] if self.how == "id" else self.label


@dataclass(frozen=True)
class Matches:
    """The matches of one source's labels, in its own order."""

    source: str
    matches: tuple[Match, ...]

    @cached_property
    def by_synset(self) -> dict[str, Match]:
        """The match of the first label of each chosen synset, in the order of the labels."""
        found: dict[str, Match] = {}
        for match in self.matches:
            if match.synset:
                found.setdefault(match.synset, match)
        return found

    def describe(self) -> str:
        """Returns the number of labels matched in each way, and every unmatched label, as text."""
        counts = Counter(match.how for match in self.matches)
        text = ", ".join(f"{count:,} by {how}" for how, count in counts.most_common() if how != UNMATCHED)
        missing = [match.label for match in self.matches if not match.synset]
        lines = [f"{self.source}: {len(self.matches):,} labels: {text or 'none matched'}"]
        if missing:
            lines.append(f"  unmatched: {', '.join(missing)} (--overrides gives a label its synset)")
        return "\n".join(lines)


def write_matches(path: Path, wordnet: WordNet, sources: Sequence[Matches]) -> None:
    """Write the matches as CSV with the columns source, label, synset, name, how, and other senses."""
    rows = []
    for source in sources:
        for match in source.matches:
            first, *others = [*map(wordnet.name, match.candidates)] or [""]
            row = source.source, match.label, match.synset, first, match.how, " ".join(others[:OTHERS])
            rows.append(row)
    table = pd.DataFrame(rows, columns=["source", "label", "synset", "name", "how", "others"])
    write_text(path, table.to_csv(index=False, lineterminator="\n"))


def _match(wordnet: WordNet, label: str, override: str | None) -> Match:
    if override is not None:
        return Match(label, (wordnet.synset(override),), "override")
    if SYNSET_ID.fullmatch(label) and label in wordnet.words:
        return Match(label, (label,), "id")
    for how, words in _readings(label):
        for spelt in (words, words.replace("_", "-"), words.replace("_", "")):
            if found := wordnet.synsets(spelt):
                return Match(label, found, how)
    return Match(label, (), UNMATCHED)


def _readings(label: str) -> Iterator[tuple[str, str]]:
    """Returns the readings of a label, the fullest first: the way it was read, and its words."""
    words = label.strip().lower().replace(" ", "_").replace("-", "_")
    name, _, qualifier = words.partition("/")
    if qualifier:
        yield "qualified", f"{qualifier.replace('/', '_')}_{name}"
        yield "without qualifier", name
    else:
        yield "label", name
    while "_" in name:
        name = name.partition("_")[2]
        yield "head", name


_PLACES_LINE = re.compile(r"/[a-z]/(\S+) [0-9]+")


def match_all(
    known: str,
    candidates: Sequence[str],
    overrides: Path | None = None,
    matches: Path | None = None,
    wordnet: Path | None = None,
) -> tuple[WordNet, list[Matches]]:
    """Returns WordNet, and the matches of the ID classes and of the candidates, written to `matches` too."""
    taxonomy, own = load_wordnet(wordnet), read_overrides(overrides) if overrides else {}
    lists: dict[str, tuple[str, ...]] = {}
    for source, labels in map(load_classes, (known, *candidates)):
        if source in lists:
            raise UnusableInput(f"two class lists go by the name {source!r}: rename one, or name it once")
        lists[source] = labels
    pairs = {(of, label) for source, labels in lists.items() for label in labels for of in ("", source)}
    if unknown := own.keys() - pairs:
        raise UnusableInput(
            f"the overrides name {'/'.join(filter(None, min(unknown)))!r}, which no class list has"
        )
    found = [match_classes(taxonomy, *each, own) for each in lists.items()]
    if matches:
        write_matches(matches, taxonomy, found)
    return taxonomy, found


def match_classes(
    wordnet: WordNet,
    source: str,
    labels: Sequence[str],
    overrides: Mapping[tuple[str, str], str] | None = None,
) -> Matches:
    """Look every label up: as a synset's id, else in `overrides` and the kit's table, else by its words."""
    own = {**kit_overrides(source), **(overrides or {})}
    chosen = (own.get((source, label), own.get(("", label))) for label in labels)
    return Matches(source, tuple(map(partial(_match, wordnet), labels, chosen)))


def load_classes(spec: str) -> tuple[str, tuple[str, ...]]:
    """Returns the name of a data set and its classes, in its own order.

    `spec` is a key of `CLASS_LISTS`; a text file with a label or synset id per line (or Places365's own list:
    "/a/airfield 0" is "airfield"); or a folder or zip with a folder for each class, or these in ``test/``.
    """
    if spec in CLASS_LISTS:
        return spec, CLASS_LISTS[spec]()
    path = Path(spec)
    if path.is_file() and path.suffix.lower() != ".zip":
        lines = read_lines(path)
        places = map(_PLACES_LINE.fullmatch, lines)
        labels = tuple(match[1] if match else line for match, line in zip(places, lines, strict=True))
    else:
        with open_tree(path) as tree:
            labels = tree.tested().folders(1)
    if twice := [label for label, count in Counter(labels).items() if count > 1]:
        raise unusable(path, f"the label {twice[0]!r} is given twice")
    return path.resolve().name.removesuffix(path.suffix), labels


def read_overrides(path: Path) -> dict[tuple[str, str], str]:
    """Returns synsets by (source, label) from a table of a user's; rows without a synset are skipped."""
    rows = (row for _, row in read_rows(path, ("label", "synset")))
    return {(row.get("source", ""), row["label"]): row["synset"] for row in rows if row["synset"]}


def kit_overrides(source: str) -> dict[tuple[str, str], str]:
    """Returns the synset of each label in the kit's table for this source; empty if it has no table."""
    path = Path(__file__).with_name("synsets") / f"{source}.csv"
    return read_overrides(path) if source in ("cifar100", "places365") else {}


def _from_timm(name: str) -> tuple[str, ...]:
    """Returns a list of synset ids that is part of timm, read without importing timm."""
    found = importlib.util.find_spec("timm")
    if found is None or not found.submodule_search_locations:
        raise UnusableInput("ImageNet's class lists come with timm: pip install -e '.[wordnet]'")
    return tuple(read_text(Path(found.submodule_search_locations[0]) / "data/_info" / name).split())


CLASS_LISTS: dict[str, Callable[[], tuple[str, ...]]] = {
    "cifar10": lambda: CIFAR10,
    "imagenet-1k": partial(_from_timm, "imagenet_synsets.txt"),
    "imagenet-21k": partial(_from_timm, "imagenet21k_goog_synsets.txt"),
    "imagenet-21k-p": partial(_from_timm, "imagenet21k_miil_synsets.txt"),
}
"""Functions that load the class lists with a name. ImageNet-21K-P: 11,221 classes (Ridnik et al. 2021)."""
