"""WordNet's nouns: synsets, their names, and the is-a relation between them.

The files are WordNet 3.0's data.noun and index.noun, and the irregular plurals in noun.exc (the format:
wndb(5WN), Princeton University); Debian's `wordnet-base`, NLTK's corpus and Princeton's archive have them.
The id of a synset is ImageNet's: "n" and its offset in data.noun, as in "n02123045".
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import Path

from starter.data.images.files import open_tree
from submission.errors import UnusableInput, unusable

VERSION = "3.0"
PACKAGED = Path("/usr/share/wordnet")
FILES = ("data.noun", "index.noun", "noun.exc")
SYNSET_ID = re.compile(r"n[0-9]{8}")
_HYPERNYM, _INSTANCE_HYPERNYM = "@", "@i"
_PLURALS = (
    *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
    *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
)
"""Regular endings of plurals and the singular's ending for each, in WordNet's order: morphy(7WN)."""


@dataclass(frozen=True)
class WordNet:
    """The noun taxonomy, by synsets' ids; senses of words in lower case, the most frequent first."""

    words: Mapping[str, tuple[str, ...]]
    hypernyms: Mapping[str, tuple[str, ...]]
    senses: Mapping[str, tuple[str, ...]]
    plurals: Mapping[str, tuple[str, ...]]

    @cached_property
    def depths(self) -> dict[str, tuple[int, int]]:
        """The lengths of the shortest and the longest path from each synset up to a root, in edges."""
        found: dict[str, tuple[int, int]] = {}
        for synset in TopologicalSorter(self.hypernyms).static_order():
            above = [found[hypernym] for hypernym in self.hypernyms[synset]]
            found[synset] = (
                min((least for least, _ in above), default=-1) + 1,
                max((most for _, most in above), default=-1) + 1,
            )
        return found

    def ancestors(self, synset: str) -> dict[str, int]:
        """Returns the synset and all above it, nearest first, each with the fewest edges up to it."""
        found: dict[str, int] = {}
        level, distance = [synset], 0
        while level:
            found |= dict.fromkeys(level, distance)
            level = [far for near in level for far in self.hypernyms[near] if far not in found]
            distance += 1
        return found

    def synsets(self, word: str) -> tuple[str, ...]:
        """Returns the ids of the senses of a word, most frequent first, then those of its singular."""
        word = word.strip().lower().replace(" ", "_")
        singular = self.plurals.get(word) or tuple(
            word[: -len(ending)] + stem for ending, stem in _PLURALS if word.endswith(ending)
        )
        found = dict.fromkeys(sense for form in (word, *singular) for sense in self.senses.get(form, ()))
        return tuple(found)

    def name(self, synset: str) -> str:
        """Returns the synset's usual name: its first word and the number of the sense, "dog.n.01"."""
        word = self.words[synset][0].lower()
        return f"{word}.n.{self.senses[word].index(synset) + 1:02d}"

    def synset(self, name: str) -> str:
        """Returns the id of a synset given by its id, by a name such as "dog.n.01", or by a word."""
        if name in self.words:
            return name
        word, _, number = name.lower().partition(".n.")
        senses = self.senses.get(word, ()) if number else self.synsets(name)
        rank = int(number) if number.isdecimal() and len(number) < 4 else 0 if number else 1
        if not 1 <= rank <= len(senses):
            raise UnusableInput(
                f"{name!r} is no noun synset of WordNet {VERSION}, as n02084071 or dog.n.01 is"
            )
        return senses[rank - 1]


def wordnet_folders() -> list[Path]:
    """Returns the folders in which WordNet's files are looked for if none is given, in this order."""
    corpora = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    corpora += [Path.home() / "nltk_data", Path("/usr/share/nltk_data")]
    named = [Path(os.environ["WNSEARCHDIR"])] if os.environ.get("WNSEARCHDIR") else []
    zipped = [path / "corpora" / form for path in corpora for form in ("wordnet", "wordnet.zip/wordnet")]
    return [*named, PACKAGED, *zipped]


def load_wordnet(folder: Path | None = None) -> WordNet:
    """Read WordNet 3.0's nouns in a folder, or one in a zip; by default the first of `wordnet_folders`."""
    folder = folder or next(filter(_holds_nouns, wordnet_folders()), None)
    if folder is None:
        raise UnusableInput(
            f"no WordNet {VERSION} here (looked for data.noun in {', '.join(map(str, wordnet_folders()))}): "
            "`apt install wordnet-base`, or `pip install nltk && python -m nltk.downloader wordnet`, or name "
            "the folder by --wordnet or in WNSEARCHDIR"
        )
    try:
        with open_tree(folder) as tree:
            data, index, plurals = (tree.read(name).decode("utf-8", "replace") for name in FILES)
        if f"WordNet {VERSION} Copyright" not in data[:4096]:
            raise ValueError("another version, whose ids are not those of ImageNet")
        synsets = {synset: (words, above) for synset, words, above in map(_synset, _lines(data))}
        wordnet = WordNet(
            {synset: words for synset, (words, _) in synsets.items()},
            {synset: above for synset, (_, above) in synsets.items()},
            {
                word: tuple(f"n{offset}" for offset in rest[-int(rest[1]) :])
                for word, *rest in map(str.split, _lines(index))  # type, senses, pointers, counts, offsets
            },
            {plural: tuple(singular) for plural, *singular in map(str.split, _lines(plurals))},
        )
    except (KeyError, ValueError, IndexError) as error:
        raise unusable(folder, f"no noun files of WordNet {VERSION}: {error}") from error
    return wordnet


def _holds_nouns(folder: Path) -> bool:
    try:
        with open_tree(folder) as tree:
            return set(FILES) <= set(tree.files)
    except (UnusableInput, OSError):
        return False


def _lines(text: str) -> Iterator[str]:
    """Returns the lines without those of the licence, which are indented."""
    return (line for line in text.split("\n") if line.strip() and not line.startswith(" "))


def _synset(line: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Returns id, words and hypernyms of a line: offset, file, type, words (hex count), pointers, gloss."""
    fields = line.partition(" | ")[0].split()
    end = 4 + 2 * int(fields[3], 16)
    pointers = fields[end + 1 : end + 1 + 4 * int(fields[end])]
    above = zip(pointers[::4], pointers[1::4], strict=True)
    hypernyms = (f"n{offset}" for kind, offset in above if kind in (_HYPERNYM, _INSTANCE_HYPERNYM))
    return f"n{fields[0]}", tuple(fields[4:end:2]), tuple(dict.fromkeys(hypernyms))
