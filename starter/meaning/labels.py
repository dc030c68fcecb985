"""From labels to synsets: the words of a label looked up in WordNet, and files that say otherwise."""

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from starter.meaning.wordnet import SYNSET_ID, WordNet
from submission.files import write_text

UNMATCHED = "unmatched"
MAX_LABEL = 200  # characters
SHOWN = 8
"""Other senses of a label that are written down."""


@dataclass(frozen=True)
class Match:
    """What a label was taken for.

    Attributes:
        label: the label.
        candidates: synsets that it may mean, the first one chosen; none where nothing in it is known.
        how: "id" (the label is a synset's id), "label" (all of it), "qualified" (the part after "/" put
            before the rest), "without qualifier" (the part before "/"), "head" (its last words), "override",
            or "unmatched".
    """

    label: str
    candidates: tuple[str, ...]
    how: str

    @property
    def synset(self) -> str | None:
        """The synset that was chosen, None where there is none."""
        return self.candidates[0] if self.candidates else None

    def called(self, wordnet: WordNet) -> str:
        """The label, or the first word of its synset where that is all that it is."""
        return wordnet.words[self.label][0] if self.how == "id" else self.label


@dataclass(frozen=True)
class Matches:
    """The labels of one source.

    Attributes:
        source: the data set's name.
        matches: what each of its labels was taken for, in its order.
    """

    source: str
    matches: tuple[Match, ...]

    @cached_property
    def by_synset(self) -> dict[str, Match]:
        """The first label of each synset that was chosen, in the order of the labels."""
        found: dict[str, Match] = {}
        for match in self.matches:
            if match.synset:
                found.setdefault(match.synset, match)
        return found

    def describe(self) -> str:
        """How many labels were matched in which way, and every label that was not."""
        counts = Counter(match.how for match in self.matches)
        text = ", ".join(f"{count:,} by {how}" for how, count in counts.most_common() if how != UNMATCHED)
        missing = [match.label for match in self.matches if not match.synset]
        lines = [f"{self.source}: {len(self.matches):,} labels: {text or 'none matched'}"]
        return "\n".join(lines + ["  unmatched: " + ", ".join(missing)] * bool(missing))


def match_labels(
    wordnet: WordNet, labels: Sequence[str], overrides: Mapping[str, str] | None = None
) -> list[Match]:
    """Look every label up: as a synset's id, else in `overrides`, else by its words.

    Words are looked up from the most to the least that a label says; the first that WordNet has decides, and
    its senses are the candidates, most frequent first: "forest/broadleaf" is looked up as "broadleaf forest",
    then "forest"; "jewelry_shop" as that, then as "shop".

    Args:
        wordnet: the taxonomy.
        labels: as a data set spells them: words joined by spaces, "_" or "-", qualifiers after "/".
        overrides: the synset of a label, as `WordNet.synset` takes it.

    Raises:
        UnusableInput: an override names no synset.
    """
    overrides = overrides or {}
    return [_match(wordnet, label, overrides.get(label)) for label in labels]


def write_matches(path: Path, wordnet: WordNet, sources: Sequence[Matches]) -> None:
    """Write how every label was matched, as CSV: source, label, synset, name, how, and other senses."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("source", "label", "synset", "name", "how", "others"))
    for source in sources:
        for match in source.matches:
            first, *others = [*map(wordnet.name, match.candidates)] or [""]
            row = (match.label, match.synset or "", first, match.how, " ".join(others[:SHOWN]))
            writer.writerow((source.source, *row))
    write_text(path, text.getvalue())


def _match(wordnet: WordNet, label: str, override: str | None) -> Match:
    if override is not None:
        return Match(label, (wordnet.synset(override),), "override")
    if SYNSET_ID.fullmatch(label) and label in wordnet:
        return Match(label, (label,), "id")
    for how, words in _readings(label):
        for spelt in (words, words.replace("_", "-"), words.replace("_", "")):
            if found := wordnet.synsets(spelt):
                return Match(label, found, how)
    return Match(label, (), UNMATCHED)


def _readings(label: str) -> Iterator[tuple[str, str]]:
    """How a label can be read, and in which words: the whole first."""
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
