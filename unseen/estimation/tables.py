"""Reading what a user gives: an array, a table, or a file with one of these."""

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd

from starter.data.images.arrays import read_npy
from submission.errors import UnusableInput, unusable, why
from submission.files import composed

LABEL_COLUMNS = frozenset(
    (
        *("label", "labels", "target", "targets", "class", "y"),
        *("y_true", "truth", "ground_truth", "true_label"),
    )
)
"""Headings of the labels in a table with several columns."""
OTHER_COLUMNS = LABEL_COLUMNS | {
    *("id", "ids", "image_id", "sample_id", "uuid", "key", "row", "index", "idx", "unnamed: 0"),
    *("time", "timestamp", "date", "datetime", "day", "split", "fold", "batch", "weight"),
    *("file", "filename", "file_name", "path", "image", "image_path", "img", "name"),
    *("pred", "prediction", "predicted", "y_pred", "predicted_label"),
}
"""Headings, in lower case, that usually stand above something else than a class's logits."""
MISSING = frozenset(("", "nan", "na", "n/a", "null", "none", "-", "?"))
"""Texts, in lower case, of a number that is missing."""
OTHER_FILES = {
    ".parquet": "pandas.read_parquet(FILE).to_csv(NEW, index=False)",
    ".feather": "pandas.read_feather(FILE).to_csv(NEW, index=False)",
    ".xlsx": "pandas.read_excel(FILE).to_csv(NEW, index=False)",
    ".xls": "pandas.read_excel(FILE).to_csv(NEW, index=False)",
    ".json": "numpy.save(NEW, json.load(open(FILE)))",
    ".pkl": "numpy.save(NEW, the array), where it was made: a pickle may run any code",
    ".pickle": "numpy.save(NEW, the array), where it was made: a pickle may run any code",
    ".pt": "numpy.save(NEW, torch.load(FILE, map_location='cpu').numpy())",
    ".pth": "numpy.save(NEW, torch.load(FILE, map_location='cpu').numpy())",
    ".h5": "numpy.save(NEW, h5py.File(FILE)[NAME][:])",
    ".mat": "numpy.save(NEW, scipy.io.loadmat(FILE)[NAME])",
}
"""How to turn a file of another kind into one that the kit reads, by its ending."""
SHOWN = 5
"""Number of columns that a message names of each side."""
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity|nan)", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+([eE][-+]?\d+)?")
SPACES = r"\s+"
"""The separator of tables whose columns stand apart by spaces, as NumPy writes them."""
COUNTED = re.compile(r"\d+")


@dataclass(frozen=True)
class Given:
    """What a user gave, a table, array, tensor or lists."""

    what: str  # its name in messages
    values: Any
    columns: tuple[str, ...] = ()  # names of a table's columns
    others: tuple[str, ...] = ()  # names of those that were left out
    index: pd.Index | None = None  # names of the rows of something of pandas, or of a file that has them


def read(given: Any, what: str, kind: str = "logits") -> Given:
    """Returns what a file of a kind holds, or what is given, with the names of a table's columns."""
    if isinstance(given, Path | str):
        path = Path(given)
        values = _by_number(_read_file(path, kind))
        index = getattr(values, "index", None)
        saved = None if isinstance(index, pd.RangeIndex) else index
        return Given(str(path), values, _column_names(values), index=saved)
    index = given.index if isinstance(given, pd.DataFrame | pd.Series) else None
    return Given(what, _by_number(given), _column_names(given), index=index)


def _by_number(values: Any) -> Any:
    """Returns a table whose headings are numbers with its columns in their order; anything else as it is."""
    numbers = isinstance(values, pd.DataFrame) and all(isinstance(name, int) for name in values.columns)
    return values.sort_index(axis=1) if numbers else values


def _column_names(values: Any) -> tuple[str, ...]:
    """Returns the names of a table's columns, if all of them have names; else ()."""
    names = tuple(values.columns) if isinstance(values, pd.DataFrame) else ()
    return names if all(isinstance(name, str) for name in names) else ()


def _read_file(path: Path, kind: str) -> Any:
    """Returns what a file holds, read as its ending says."""
    ending = path.suffix.lower()
    if ending == ".npz":
        return _read_npz(path, kind)
    if ending in (".csv", ".tsv", ".txt"):
        return _read_text(path, kind)
    if ending in OTHER_FILES:
        raise UnusableInput(f"{path}: give .npy, .npz or .csv; for a {ending} file use {OTHER_FILES[ending]}")
    return read_npy(path)


def _read_npz(path: Path, kind: str) -> np.ndarray:
    """Returns the only array in a file, or the one that is called as its kind."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = archive.files
            called = [name for name in names if name.casefold() in ARRAY_NAMES.get(kind, (kind,))]
            chosen = names if len(names) == 1 else called
            if len(chosen) == 1:
                array: np.ndarray = archive[chosen[0]]
                return array
    except Exception as error:  # a damaged file makes NumPy raise whatever it meets
        raise unusable(path, f"not an .npz file that can be read ({why(error)})") from error
    raise UnusableInput(
        f"{path} holds the arrays {', '.join(names) or 'none'}: leave one in it, or call one {kind!r}"
    )


ARRAY_NAMES = {
    "logits": ("logits", "logit", "outputs", "output", "scores"),
    "probabilities": ("probabilities", "probability", "probs", "proba", "softmax"),
    "labels": ("labels", "label", "targets", "target", "y", "y_true"),
    "features": ("features", "feature", "embeddings", "embedding", "penultimate"),
}
"""Names of arrays in an .npz file with several, in lower case, by the kind that is wanted."""


def _read_text(path: Path, kind: str) -> Any:
    """Returns the table in a text file, or its only column.

    A first line of texts above numbers is the heading, the names of the columns; one that counts the columns,
    or stands above an index, as pandas writes, is a heading too.
    """
    form, lines = _form(path)
    first = lines[0]
    heading = _is_heading(first, lines[-1]) if len(lines) > 1 else False
    form["skiprows"] += int(heading)
    try:
        body = pd.read_csv(
            path, header=None, keep_default_na=False, skipinitialspace=True, low_memory=False, **form
        )
    except (OSError, ValueError) as error:
        raise unusable(path, f"no table that can be read ({why(error)})") from error
    missing = () if kind == "labels" else MISSING  # a class may be called None
    body = body.apply(_numbers_where_possible, missing=missing)
    if heading and len(first) == body.shape[1]:
        body.columns = _names(first)
        if first[0] == "":  # an index, which has no heading
            body = body.set_index("")
    return body if body.shape[1] > 1 else body.iloc[:, 0]


def _names(heading: Sequence[str]) -> list[Any]:
    """Returns the columns' names; numbers that only count the columns are no names."""
    counted = all(COUNTED.fullmatch(text) for text in heading if text)
    return [int(text) if counted and text else composed(text) for text in heading]


def _is_heading(first: Sequence[str], second: Sequence[str]) -> bool:
    """Returns True if the first line of a table has the names of its columns, seen its second line."""
    if len(first) != len(second) or len(second) == 0:
        return False
    if any(_is_number(below) and not _is_number(text) for text, below in zip(first, second, strict=True)):
        return True
    if len(first) == 1:
        return False
    if not any(map(_is_number, first)):
        return any(text.casefold() in OTHER_COLUMNS for text in first)
    counting = first == [*map(str, range(len(first)))] or first == [*map(str, range(1, len(first) + 1))]
    different = all(map(COUNTED.fullmatch, first)) and len({*first}) == len(first)
    return counting or (different and not all(map(COUNTED.fullmatch, second)))


def _is_number(text: str) -> bool:
    return bool(NUMBER.fullmatch(text) or DECIMAL_COMMA.fullmatch(text))


def _numbers_where_possible(column: pd.Series, missing: Collection[str]) -> pd.Series:
    """Returns a column of texts as numbers, if all of them are numbers or words for a missing one."""
    if column.dtype.kind in "fiub":
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    others = column[numbers.isna()].astype(str).str.strip().str.casefold()
    return numbers if numbers.notna().any() and others.isin(missing).all() else column


def _form(path: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """Returns how pandas is to read the table in a text file, and the cells of its first two lines."""
    try:
        with path.open("rb") as stream:
            start = stream.read(1 << 20)
    except OSError as error:
        raise unusable(path, f"cannot be read ({why(error)})") from error
    encoding = _encoding(start)
    lines = start.decode(encoding, errors="replace").splitlines()
    comments = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    shown = [line for line in lines[comments : comments + 10] if line.strip()][:2]
    if not shown:
        raise unusable(path, "holds no table")
    marks = [mark for mark in ("\t", ";", ",") if mark in shown[-1]]
    separator = marks[0] if marks else ","
    if not marks and path.suffix.lower() == ".txt" and len(shown[-1].split()) > 1:
        separator = SPACES
    cells = [_cells(line, separator) for line in shown]
    decimal = "," if separator != "," and any(map(DECIMAL_COMMA.fullmatch, cells[-1])) else "."
    return {"sep": separator, "decimal": decimal, "encoding": encoding, "skiprows": comments}, cells


def _encoding(start: bytes) -> str:
    """Returns the encoding of a text, by its first bytes: UTF-16 with its mark, UTF-8, or else Windows'."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        start[: start.rfind(b"\n") + 1].decode("utf-8-sig")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _cells(line: str, separator: str) -> list[str]:
    if separator == SPACES:
        return line.split()
    return [text.strip() for text in next(csv.reader([line], delimiter=separator))]


def in_order_of(given: Given, index: pd.Index | None, whose: str) -> Given:
    """Returns what was given with its rows in the order of an index, if both have the same names of rows."""
    if index is None or given.index is None or given.index.equals(index):
        return given
    if len(given.index) != len(index) or given.index.has_duplicates or set(given.index) != set(index):
        raise UnusableInput(
            f"{given.what} and {whose} have other names of rows (their index): where the rows are in the "
            "same order, give both after .reset_index(drop=True)"
        )
    return replace(given, values=given.values.loc[index], index=index)


def class_columns(given: Given, classes: Sequence[str], labelled: bool) -> Given:
    """Returns a table with the columns of the classes alone, in the order of these.

    A table whose headings name all classes may have other columns, which are left out. Without names of
    classes all columns are, unless one of them looks like something else, such as an id: it is refused. In
    the labelled images' table, headings other than `classes`, the user's own names, are read in their order.
    """
    if not given.columns:
        numbers = {str(name): name for name in getattr(given.values, "columns", ())}
        if not classes or not {*classes} <= {*numbers}:
            return given
        chosen = [numbers[name] for name in classes]
        return replace(given, values=given.values[chosen], columns=tuple(classes))
    if twice := [name for name in given.columns if given.columns.count(name) > 1]:
        raise UnusableInput(f"{given.what} has the column {twice[0]!r} twice: name each column once")
    if classes and {*classes} <= {*given.columns}:
        others = tuple(name for name in given.columns if name not in classes)
        return replace(given, values=given.values[[*classes]], columns=tuple(classes), others=others)
    if classes and not labelled:
        raise UnusableInput(
            f"{given.what} has {_difference(given.columns, classes)}; those of the labelled images have "
            f"{_difference(classes, given.columns)}"
        )
    if odd := _odd_columns(given.values):
        raise UnusableInput(
            f"{given.what} has the columns {', '.join(odd)}, which seem to be no classes' logits: name the "
            "classes' columns in order by --classes, or take the others out"
        )
    return given


def _difference(own: Sequence[str], others: Sequence[str]) -> str:
    """Returns a few of the columns that the others lack, or of all if they have them in other numbers."""
    lacking = [name for name in own if name not in others] or [*own]
    names = [ascii(name) if not name.isascii() else name for name in lacking]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"the columns {shorten(', '.join(names[:SHOWN]), 200)}{more}"


def _odd_columns(table: pd.DataFrame) -> list[str]:
    """Returns the names of columns that are no classes' logits: by their names, or without numbers.

    A column of whole numbers from 0 up beside others that have fractions is one, too: labels, or an id.
    """
    whole = table.apply(_is_counting)
    return [
        name
        for name in table.columns
        if name.casefold() in OTHER_COLUMNS
        or table[name].dtype.kind not in "fiub"
        or (whole[name] and not whole.all())
    ]


def _is_counting(column: pd.Series) -> bool:
    """Returns True for whole numbers from 0 up, more than two of them."""
    if column.dtype.kind not in "fiu":
        return False
    values = column.to_numpy()
    finite = values[np.isfinite(values)]
    return bool(len(finite) and (finite == np.rint(finite)).all() and finite.min() >= 0 and finite.max() >= 2)
