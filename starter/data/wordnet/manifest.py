"""Class manifests: tables that assign each class of a candidate source to ID, near or far OOD, or drop it.

A manifest is a CSV file (docs/how-to/classes.md). Oodness is that of Recalcati et al., Toward a Realistic
Benchmark for Out-of-Distribution Detection, 2023, section IV: 0 an ID class, 1 nearly the same meaning, 2
something in common, 3 all others; their benchmark T1 takes 0 and 1 for ID, T2 takes 2 as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pandas as pd
from pydantic import Field, ValidationError
from pydantic.dataclasses import dataclass

from starter.data.wordnet.wordnet import SYNSET_ID
from submission.errors import UnusableInput, unusable
from submission.files import read_rows, write_text

Assignment = Literal["ID", "near", "far", "dropped"]
ASSIGNMENTS = get_args(Assignment)
READINGS = {"": None, "T1": 1, "T2": 2}
"""The highest oodness that counts as ID, in Recalcati et al.'s benchmarks; "" keeps the assignments."""


@dataclass(frozen=True)
class ClassEntry:
    """A class of a manifest; `similarity` is that of its synset to the nearest ID class's, if known."""

    source: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)]
    synset: Annotated[str, Field(pattern=f"^({SYNSET_ID.pattern})?$")]
    similarity: Annotated[float, Field(ge=0, le=1)] | None
    oodness: Annotated[int, Field(ge=0, le=3)] | None
    assignment: Assignment
    reason: str = ""

    @property
    def ood(self) -> bool:
        """True if the class is out of distribution: near or far."""
        return self.assignment in ("near", "far")


COLUMNS = {field: {"name": "class"}.get(field, field) for field in ClassEntry.__dataclass_fields__}
"""Columns of the file by the names of the fields."""


def assignment(oodness: int, id_up_to: int = 1) -> Assignment:
    """Returns "ID" for oodness up to `id_up_to`, and above it "near" for 2 and "far" for 3."""
    return "ID" if oodness <= id_up_to else "near" if oodness < 3 else "far"


def write_manifest(path: Path, entries: Sequence[ClassEntry]) -> None:
    """Write a manifest atomically, with a line per class; similarities have six digits."""
    table = pd.DataFrame(entries).rename(columns=COLUMNS).astype({"oodness": "Int64"})
    write_text(path, table.to_csv(index=False, float_format="%.6f", lineterminator="\n"))


def read_manifest(path: Path | str, reading: str = "") -> tuple[ClassEntry, ...]:
    """Returns the classes of a manifest, in the file's order; no synset is assigned in two ways.

    `reading` is a key of `READINGS`. T1 and T2 overrule the file's assignments, except of classes that are
    dropped or have no oodness; "" is T1 for classes without an assignment.
    """
    if reading not in READINGS:
        raise UnusableInput(f"--id-up-to must be T1 or T2, got {reading!r}")
    path, highest = Path(path), READINGS[reading]
    entries: dict[tuple[str, str], ClassEntry] = {}
    for line, row in read_rows(path, ("source", "class")):
        fields: dict[str, Any] = {field: row.get(column, "") for field, column in COLUMNS.items()}
        if not fields["assignment"] and fields["oodness"] in ("0", "1", "2", "3"):
            fields["assignment"] = assignment(int(fields["oodness"]))
        try:  # pydantic turns the texts into numbers, and refuses others
            entry = ClassEntry(**fields | {name: fields[name] or None for name in ("similarity", "oodness")})
        except ValidationError as error:
            mistake = error.errors()[0]
            raise unusable(path, f"line {line}: {mistake['loc'][0]}: {mistake['msg']}") from error
        if (key := (entry.source, entry.name)) in entries:
            raise unusable(path, f"line {line}: the class {'/'.join(key)} is given above already")
        if highest is not None and entry.oodness is not None and entry.assignment != "dropped":
            entry = replace(entry, assignment=assignment(entry.oodness, highest))
        entries[key] = entry
    found = tuple(entries.values())
    check_meanings(path, ((each.synset, each) for each in found if each.synset))
    return found


def check_meanings(path: Path, meanings: Iterable[tuple[str, ClassEntry]]) -> None:
    """Refuse a meaning that is ID in one source and OOD in another, or both near and far."""
    seen: dict[str, ClassEntry] = {}
    for meaning, entry in meanings:
        if entry.assignment == "dropped":
            continue
        other = seen.setdefault(meaning, entry)
        if other.assignment != entry.assignment:
            raise unusable(
                path,
                f"{meaning} is {other.assignment} as {other.source}/{other.name}, but "
                f"{entry.assignment} as {entry.source}/{entry.name}: assign both alike, or drop one",
            )


def summary(entries: Sequence[ClassEntry]) -> str:
    """Returns the number of classes of each source in each assignment, as a table in text."""
    table = pd.DataFrame(entries)
    counts = pd.crosstab(table["source"], table["assignment"])
    counts = counts.reindex(table["source"].unique(), columns=ASSIGNMENTS, fill_value=0)
    return counts.rename_axis(index=None, columns=None).to_string()
