"""Text files of a user's: read whole, with errors that name the file and the line."""

import csv
import io
from collections.abc import Collection, Iterator
from pathlib import Path

from starter.images.files import unusable
from submission.files import read_head

MAX_BYTES = 1 << 24


def read_text(path: Path) -> str:
    """A UTF-8 text file whole, with "\\n" line ends.

    Raises:
        UnusableInput: it cannot be read, is larger than 16 MiB or not UTF-8.
    """
    data = read_head(path, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise unusable(path, f"more than {MAX_BYTES >> 20} MiB of text")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise unusable(path, "not UTF-8 text") from error


def read_rows(path: Path, required: Collection[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its line, their fields stripped; missing ones are "".

    Raises:
        UnusableInput: as `read_text`; no CSV, or a column that is required is missing.
    """
    rows = csv.DictReader(io.StringIO(read_text(path)), restval="", strict=True)
    try:
        header = [str(name).strip() for name in rows.fieldnames or ()]
        if missing := [name for name in required if name not in header]:
            raise unusable(path, f"no column {missing[0]!r}; the header is {','.join(header)!r}")
        rows.fieldnames = header
        for row in rows:
            row.pop(None, None)  # fields beyond the header
            yield rows.line_num, {name: field.strip() for name, field in row.items()}
    except csv.Error as error:
        raise unusable(path, f"line {rows.line_num}: no CSV ({error})") from error
