"""The scores of systems on the items of a benchmark, as people and evaluation harnesses write them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from submission.arrays import FloatArray
from submission.errors import unusable
from submission.files import read_rows, read_text
from submission.parser import NUMBER

KEYS = ("item", "item_id", "doc_id", "question_id", "task_id", "sample_id", "id", "index", "", "unnamed: 0")
"""Names of a column that names items, in lower case, the likeliest first."""
TASKS = ("task", "task_name", "dataset", "benchmark", "subset", "subject")
"""Names of a column within whose values a long table's items are numbered."""
SYSTEMS = ("system", "model", "model_name", "model_id", "method", "generator")
SCORES = (
    *("score", "acc", "accuracy", "exact_match", "correct", "is_correct", "passed", "em", "f1", "acc_norm"),
)
AVERAGES = ("average", "avg", "avg.", "mean", "overall")
"""Names of a row that is no item, in lower case."""
VERDICTS = {"true": 1.0, "pass": 1.0, "passed": 1.0, "false": 0.0, "fail": 0.0, "failed": 0.0}
"""Scores of words, in lower case."""
MISSING = ("", "nan", "na", "n/a", "null", "none")
"""Words for a score that is missing, in lower case."""
LARGEST = 1e100
"""Largest size of a score, whose square is still a number."""
MOST_BYTES = 1 << 28
"""Largest size of a table: JSON lines may hold questions and answers, too."""
EXCHANGE = "exchange rows and columns, so that a row is an item and a column a system"
Row = tuple[int, Mapping[str, str]]
"""A line's number and its fields by column."""


@dataclass(frozen=True)
class Items:
    """What a table says of s systems and n items."""

    systems: Sequence[str]
    scores: FloatArray  # (s, n), nan where missing
    families: Sequence[str]  # of the items (n,); none if each is one
    notes: Sequence[str]  # sentences about how the table was read


def read_items(path: Path, families: str) -> Items:
    """Returns the scores in a CSV or in JSON lines, items x systems or long; `families` is a column or ""."""
    rows = _rows(path, families)
    columns = list(rows[0][1]) if rows else []
    score = _named(SCORES, columns)
    system = _named(SYSTEMS, columns)
    if system is None or all(_score(row[system]) is not None for _, row in rows):
        return _wide(path, rows, families)
    if score is None:
        raise unusable(path, f"its rows are systems, by the column {system!r}: {EXCHANGE}")
    items = [name for name in (_named(KEYS, columns), _named(TASKS, columns)) if name is not None]
    if not items:
        raise unusable(path, f"systems in {system!r}, but no column of items: call it item")
    return _long(path, rows, families, [*items, system, score])


def _named(names: Sequence[str], columns: Sequence[str]) -> str | None:
    """Returns the column with the first of the names, in any case; None if there is none."""
    by_name = {column.lower(): column for column in reversed(columns)}
    return next((by_name[name] for name in names if name in by_name), None)


def _rows(path: Path, families: str) -> list[Row]:
    """Returns the rows of a CSV or the records of JSON lines, each with all columns."""
    if not path.name.lower().endswith((".json", ".jsonl", ".ndjson")):
        return list(read_rows(path, [families] if families else [], MOST_BYTES))
    rows = []
    for number, line in enumerate(read_text(path, MOST_BYTES).split("\n"), 1):
        try:
            record = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise unusable(path, f"line {number} is no JSON object: give one a line, {{...}}")
        plain = {name: str(value) for name, value in record.items() if not isinstance(value, dict | list)}
        if plain:
            rows.append((number, plain))
    columns = list(dict.fromkeys(name for _, row in rows for name in row))
    if families and families not in columns:
        raise unusable(path, f"no field {families!r}; there are {', '.join(columns)}")
    return [(number, {name: row.get(name, "") for name in columns}) for number, row in rows]


def _wide(path: Path, rows: Sequence[Row], families: str) -> Items:
    """Returns a table with a row for each item and a column for each system."""
    items, notes = _without_averages(rows, list(rows[0][1]) if rows else [])
    columns = [name for name in (items[0][1] if items else ()) if name != families]
    keys = _keys(items, columns)
    systems = [name for name in columns if name not in keys]
    if not systems:
        raise unusable(
            path, "no scores: give a row for each item, a column for each system, separated by commas or tabs"
        )
    if average := _named(AVERAGES, systems):
        raise unusable(path, f"its rows look like systems, with means in the column {average!r}: {EXCHANGE}")
    if len(systems) > len(items):
        notes.append(f"More systems than items: if rows are systems, {EXCHANGE}.")
    scores = [[_checked(path, row, name, families) for row in items] for name in systems]
    names = [row[keys[0]] for _, row in items] if keys else []
    if all(map(str.isdecimal, names)) and keys:
        notes.append(f"The column {keys[0]!r} names the items.")
    if families:
        names = [row[families] for _, row in items]
    elif len(set(names)) == len(names):
        names = []
    return Items(systems, np.array(scores), names, notes)


def _keys(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Returns the columns that name items: by their name, a first column of texts, or different numbers."""
    named = sorted(
        {name for name in columns if name.lower() in KEYS}, key=lambda name: KEYS.index(name.lower())
    )
    others = [name for name in columns if name not in named]
    if others and others[0] == columns[0] and all(_score(row[others[0]]) is None for _, row in rows):
        return [*named, others[0]]
    numbers = {name: [row[name] for _, row in rows] for name in others}
    whole = {name: all(map(str.isdecimal, texts)) for name, texts in numbers.items()}
    shares = {name: len(set(numbers[name])) / len(rows) if whole[name] else 0.0 for name in others}
    numbered = [name for name in others if shares[name] == 1]
    # Points may be different whole numbers by chance: then those of other systems nearly are, too.
    alone = all(shares[name] <= 0.5 for name in others if name not in numbered)
    return [*named, *numbered] if alone and len(numbered) < len(others) else named


def _long(path: Path, rows: Sequence[Row], families: str, columns: Sequence[str]) -> Items:
    """Returns a table with a row for each item and system; `columns` are its items', system's and score's."""
    *keys, system, score = columns
    rows, notes = _without_averages(rows, keys)
    families_of: dict[tuple[str, ...], str] = {}
    cells: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    for line, row in rows:
        item = tuple(row[key] for key in keys)
        families_of.setdefault(item, row.get(families, ""))
        cells.setdefault((row[system], item), []).append(_checked(path, (line, row), score, families))
    systems = sorted({name for name, _ in cells})
    scores = [[float(np.mean(cells.get((name, item), np.nan))) for item in families_of] for name in systems]
    notes.append(f"Read from rows of {', '.join(map(repr, keys))}, {system!r} and {score!r}.")
    if len(cells) < len(rows):
        notes.append("Repeated scores of a system on an item are averaged.")
    return Items(systems, np.array(scores), list(families_of.values()) if families else [], notes)


def _without_averages(rows: Sequence[Row], columns: Sequence[str]) -> tuple[list[Row], list[str]]:
    """Returns the rows without those that one of the columns calls an average, and a sentence about these."""
    averages = [
        (line, row[name]) for line, row in rows for name in columns if row[name].casefold() in AVERAGES
    ]
    lines = {line for line, _ in averages}
    notes = [f"Line {line} ({name!r}) is left out: it is no item." for line, name in averages[:1]]
    return [(line, row) for line, row in rows if line not in lines], notes


def _checked(path: Path, row: Row, column: str, families: str) -> float:
    """Returns a score, nan if it is missing."""
    line, fields = row
    text = fields[column]
    value = _score(text)
    if value is not None:
        return value
    if text.strip().casefold() in MISSING:
        return np.nan
    problem = "is too large" if NUMBER.fullmatch(text) else "is not a number"
    hint = "" if families or NUMBER.fullmatch(text) else "; is it a column for --families?"
    raise unusable(path, f"line {line}, column {column!r}: {text!r} {problem}{hint}")


def _score(text: str) -> float | None:
    """Returns the score in a field: a number, a share in percent, or a verdict; None for anything else."""
    plain = text.strip().casefold()
    if plain in VERDICTS:
        return VERDICTS[plain]
    if not NUMBER.fullmatch(plain.removesuffix("%")):
        return None
    score = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    return score if abs(score) <= LARGEST else None
