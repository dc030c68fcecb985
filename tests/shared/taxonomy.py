"""A small taxonomy in WordNet's file format, and WordNet itself where it is installed."""

import functools
import io
import warnings
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest

from starter.data.wordnet.wordnet import WordNet, load_wordnet, wordnet_folders
from submission import UnusableInput

TREE = {
    **dict(entity=(), organism=("entity",), animal=("organism",), domestic_animal=("animal",)),
    **dict(carnivore=("animal",), cat=("carnivore",), tabby=("cat",)),
    "dog,Canis_familiaris": ("carnivore", "domestic_animal"),
    **dict(poodle=("dog",), fox=("carnivore",), bird=("animal",), deer=("animal",), frog=("animal",)),
    **dict(horse=("domestic_animal",), mouse=("animal",), artifact=("entity",), vehicle=("artifact",)),
    "motor_vehicle": ("vehicle",),
    "car,automobile": ("motor_vehicle",),
    **dict(cab=("car",), truck=("motor_vehicle",)),
    "go-kart": ("motor_vehicle",),
    **dict(aircraft=("vehicle",), airplane=("aircraft",), glider=("aircraft",), vessel=("vehicle",)),
    **dict(ship=("vessel",), furniture=("artifact",), chair=("furniture",), group=("entity",)),
    "table": ("group",),
    "table#2": ("furniture",),
    "mouse#2": ("artifact",),
    "Paris": ("entity",),
}
"""The words of each synset ("#2" for the second sense of one), and the first words of its hypernyms."""


def synset_id(word: str) -> str:
    """The id in the small taxonomy of the synset with this first word."""
    names = [words.partition(",")[0] for words in TREE]
    return f"n{10 * (names.index(word) + 1):08d}"


def write_taxonomy(folder: Path, tree: dict[str, tuple[str, ...]] = TREE, version: str = "3.0") -> Path:
    """The database files of `tree` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    senses: dict[str, list[str]] = {}
    lines = [f"  1 WordNet {version} Copyright 2006 by nobody  "]
    names = [words.partition(",")[0] for words in tree]
    ids = {name: f"{10 * (number + 1):08d}" for number, name in enumerate(names)}
    for (words, above), name in zip(tree.items(), names, strict=True):
        plain = [word.partition("#")[0] for word in words.split(",")]
        for word in plain:
            senses.setdefault(word.lower(), []).append(ids[name])
        kind = "@i" if name == "Paris" else "@"
        pointers = [f"{kind} {ids[each]} n 0000" for each in above] + ["~ 00000010 n 0000"]
        fields = [ids[name], "03", "n", f"{len(plain):02x}", *(f"{word} 0" for word in plain)]
        lines.append(" ".join([*fields, f"{len(pointers):03d}", *pointers, "| what it | is  "]))
    index = [
        f"{word} n {len(found)} 1 @ {len(found)} 0 {' '.join(found)}  "
        for word, found in sorted(senses.items())
    ]
    (folder / "data.noun").write_text("\n".join(lines) + "\n")
    (folder / "index.noun").write_text("\n".join(index) + "\n")
    (folder / "noun.exc").write_text("mice mouse\n")
    return folder


def write_class_zip(path: Path, names: tuple[str, ...], count: int = 4, size: int = 32) -> Path:
    """A zip of `count` random PNG images a class."""
    rng = np.random.default_rng(list(path.name.encode()))
    with zipfile.ZipFile(path, "w") as zipped:
        for name in names:
            for number in range(count):
                pixels = rng.integers(0, 256, (size, size, 3), dtype=np.uint8)
                zipped.writestr(f"{name}/{number:04d}.png", cv2.imencode(".png", pixels)[1].tobytes())
    return path


@functools.cache
def real_wordnet() -> WordNet:
    """WordNet 3.0; the test is skipped where it is not installed."""
    try:
        return load_wordnet()
    except UnusableInput as error:
        pytest.skip(str(error))


@functools.cache
def nltk_reader():
    """NLTK's reader on the same files, as the reference.

    It reads Debian's files only with a list of lexicographers' files made up, its index of senses left out and
    the folder made known to its guard.
    """
    nltk = pytest.importorskip("nltk", reason="the reference is NLTK: pip install nltk")
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):
        def open(self, file):
            made_up = "".join(f"{i:02d}\t{i}\t0\n" for i in range(45))
            return io.StringIO(made_up) if file == "lexnames" else super().open(file)

        def map_wn(self, version="wordnet"):
            return None

    real_wordnet()
    folder = next((path for path in wordnet_folders() if (path / "data.noun").is_file()), None)
    if folder is None:
        pytest.skip("NLTK's reader is given folders only, and WordNet lies in a zip")
    nltk.data.path.append(str(folder))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reader = Reader(str(folder), None)
    reader._max_depth["n", False] = 19  # which it would read all synsets for
    return reader
