"""Class manifests: tables that assign each class of a candidate source to ID, near or far OOD, or drop it.

A manifest is a CSV file with the columns

| column | |
|---|---|
| source | name of the data set that has the class |
| class | name of the class there, which is the name of its folder of images |
| synset | its WordNet 3.0 id, empty if it has none |
| similarity | similarity of its synset to that of the nearest ID class, in [0, 1], or empty |
| oodness | 0: an ID class, 1: nearly the same meaning, 2: something in common, 3: all others; or empty |
| assignment | ID, near, far or dropped; if empty, oodness decides |
| reason | reason of the assignment, in words |

A manifest written by hand needs source, class, and oodness or assignment. Oodness 0 to 3 is that of Recalcati
et al. (2023, section IV), Toward a Realistic Benchmark for Out-of-Distribution Detection; their benchmark T1
takes 0 and 1 for ID, T2 takes 2 as well.
"""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from starter.meaning.labels import MAX_LABEL
from starter.meaning.wordnet import SYNSET_ID
from submission.errors import unusable
from submission.files import read_rows, write_text

ASSIGNMENTS = ("ID", "near", "far", "dropped")
OODNESS = range(4)
T1, T2 = 1, 2
"""The highest oodness that counts as ID, in Recalcati et al.'s benchmarks T1 and T2."""


@dataclass(frozen=True)
class ClassEntry:
    """A class of a manifest; the fields are the columns of the file.

    Raises:
        ValueError: A field is out of range; the message names it.
    """

    source: str
    name: str
    synset: str
    similarity: float | None
    oodness: int | None
    assignment: str
    reason: str = ""

    def __post_init__(self) -> None:
        for noun, text in (("source", self.source), ("class", self.name), ("reason", self.reason)):
            named = noun == "reason" or (text.strip() and len(text) <= MAX_LABEL)
            if not text.isprintable() or not named:
                raise ValueError(f"{noun} must be a printable line, got {text[:40]!r}")
        if self.synset and not SYNSET_ID.fullmatch(self.synset):
            raise ValueError(f"synset must be an id as n02123045, or empty, got {self.synset!r}")
        if self.similarity is not None and not 0 <= self.similarity <= 1:
            raise ValueError(f"similarity must lie in [0, 1] or be empty, got {self.similarity}")
        if self.oodness is not None and self.oodness not in OODNESS:
            raise ValueError(f"oodness must be 0, 1, 2, 3 or empty, got {self.oodness}")
        if self.assignment not in ASSIGNMENTS:
            raise ValueError(f"assignment must be one of {', '.join(ASSIGNMENTS)}, got {self.assignment!r}")

    @property
    def ood(self) -> bool:
        """True if the class is out of distribution: near or far."""
        return self.assignment in ("near", "far")


COLUMNS = ("source", "class", *(field.name for field in fields(ClassEntry)[2:]))


def assignment(oodness: int, id_up_to: int = T1) -> str:
    """Returns "ID" for oodness up to `id_up_to`, and above it "near" for 2 and "far" for 3."""
    return "ID" if oodness <= id_up_to else "near" if oodness < 3 else "far"


def write_manifest(path: Path, entries: Sequence[ClassEntry]) -> None:
    """Write a manifest atomically, with a line per class; similarities have six digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        similarity = "" if entry.similarity is None else f"{entry.similarity:.6f}"
        oodness = "" if entry.oodness is None else entry.oodness
        row = (entry.source, entry.name, entry.synset, similarity, oodness, entry.assignment, entry.reason)
        writer.writerow(row)
    write_text(path, text.getvalue())


def read_manifest(path: Path | str, id_up_to: int | None = None) -> tuple[ClassEntry, ...]:
    """Returns the classes of a manifest, in the file's order.

    Args:
        path: CSV file; its columns may be in any order, and others are ignored.
        id_up_to: Highest oodness that counts as ID (`T1`, `T2`). It overrules the file's assignments, except
            of classes that are dropped or have no oodness. None to keep the file's assignments, with `T1` for
            classes that have none.

    Raises:
        UnusableInput: There is no such file, a column is missing, a field is out of range, or a source has a
            class twice; the message names the line.
    """
    path = Path(path)
    entries: dict[tuple[str, str], ClassEntry] = {}
    for line, row in read_rows(path, ("source", "class")):
        try:
            entry = _entry(row)
        except ValueError as error:
            raise unusable(path, f"line {line}: {error}") from error
        if (key := (entry.source, entry.name)) in entries:
            raise unusable(path, f"line {line}: the class {'/'.join(key)} is given above already")
        entries[key] = entry
    if not entries:
        raise unusable(path, "holds no class")
    if id_up_to is None:
        return tuple(entries.values())
    return tuple(_reassigned(entry, id_up_to) for entry in entries.values())


def _entry(row: dict[str, str]) -> ClassEntry:
    similarity, oodness = row.get("similarity"), row.get("oodness")
    if oodness and oodness not in ("0", "1", "2", "3"):
        raise ValueError(f"oodness must be 0, 1, 2, 3 or empty, got {oodness!r}")
    assigned = row.get("assignment")
    if not assigned and not oodness:
        raise ValueError("needs an assignment or an oodness")
    return ClassEntry(
        row["source"],
        row["class"],
        row.get("synset", ""),
        _number(similarity) if similarity else None,
        int(oodness) if oodness else None,
        assigned or assignment(int(oodness or 0)),
        row.get("reason", ""),
    )


def _number(similarity: str) -> float:
    try:
        return float(similarity)
    except ValueError:
        raise ValueError(f"similarity must lie in [0, 1] or be empty, got {similarity!r}") from None


def _reassigned(entry: ClassEntry, id_up_to: int) -> ClassEntry:
    if entry.oodness is None or entry.assignment == "dropped":
        return entry
    return replace(entry, assignment=assignment(entry.oodness, id_up_to))


def summary(entries: Sequence[ClassEntry]) -> str:
    """Returns the number of classes of each source in each assignment, as a table in text."""
    sources = list(dict.fromkeys(entry.source for entry in entries))
    counts = Counter((entry.source, entry.assignment) for entry in entries)
    width = max(len("source"), *map(len, sources))
    lines = ["".join((f"{'source':{width}}", *(f"{name:>9}" for name in ASSIGNMENTS)))]
    for source in sources:
        row = (f"{counts[source, name]:>9,}" for name in ASSIGNMENTS)
        lines.append("".join((f"{source:{width}}", *row)))
    return "\n".join(lines)
