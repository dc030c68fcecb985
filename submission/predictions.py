"""The two-column CSV file of predictions (``id,prediction``) or of targets (``id,target``).

The file has one line per id, in any order, with a fraction in [0, 1]. Also accepted: a byte order mark, CRLF,
the two columns in reverse order, spaces around a field. Anything else is refused, and every problem is
listed.

A submission may be the only member of a zip, which is read in memory and never unpacked to disk.
"""

import codecs
import csv
import io
import math
import re
import stat
import zipfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from submission.errors import InvalidSubmission
from submission.files import read_head, replacing

# float() would also take 1_000, nan, infinity and the digits of every script.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SHOWN = 60
INDEX = ("", "Unnamed: 0")
"""Headers of the column that pandas writes for a table's index."""


def write_sample(path: Path, ids: Iterable[str]) -> None:
    """Write the sample submission, every id with the prediction 0.5, atomically."""
    write_predictions(path, dict.fromkeys(ids, 0.5))


def write_predictions(path: Path, values: Mapping[str, float], column: str = "prediction") -> None:
    r"""Write ``id,<column>`` lines in the order of `values`, atomically, with "\n" line ends.

    Numbers are written so that reading them gives exactly the same floats.

    Raises:
        ValueError: a value is no finite number in [0, 1]; the message names its id.
    """
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ValueError(f"id {name!r}: {column} must be a fraction in [0, 1], got {value!r}")
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["id", column])
        writer.writerows([name, repr(float(value))] for name, value in values.items())


def read_predictions(
    path: Path, expected_ids: Collection[str], column: str = "prediction"
) -> dict[str, float]:
    """Read a file of predictions: {id: fraction}, in the order of `expected_ids`.

    Raises:
        InvalidSubmission: the content breaks the format; every problem is named with its line and id.
        UnusableInput: the file does not exist, is no regular file, or cannot be read.
    """
    return parse_predictions(read_bytes(path, expected_ids), expected_ids, str(path), column)


def read_bytes(path: Path, expected_ids: Collection[str], follow: bool = True) -> bytes:
    """Returns the bytes of a file of predictions, which may not be larger than `most_bytes`.

    Args:
        path: Path of the file.
        expected_ids: Ids that the file should hold; their number limits its size.
        follow: True if `path` may be a symbolic link, which could lead to somebody else's file.

    Raises:
        InvalidSubmission: the file is larger than 1 MiB plus 512 bytes per id.
        UnusableInput: the file does not exist, is no regular file, or cannot be read.
    """
    limit = most_bytes(expected_ids)
    data = read_head(Path(path), limit + 1, follow)
    if len(data) > limit:
        raise InvalidSubmission(str(path), [f"the file is too large: at most {limit:,} bytes are read"])
    return data


def most_bytes(expected_ids: Collection[str]) -> int:
    """Returns the largest size in bytes of a file of predictions: 1 MiB plus 512 bytes per id."""
    return (1 << 20) + 512 * len(expected_ids)


def parse_predictions(
    data: bytes, expected_ids: Collection[str], name: str, column: str = "prediction"
) -> dict[str, float]:
    r"""Returns the predictions in the bytes of a file, {id: fraction}; messages call the file `name`.

    >>> parse_predictions(b"id,prediction\nsmall/a,0.25\n", ["small/a"], "mine.csv")
    {'small/a': 0.25}

    Raises:
        InvalidSubmission: the content breaks the format; every problem is named with its line and id.
    """
    records, broken = _records(decoded(data, name), most=1000 + 2 * len(expected_ids))
    if not records:
        raise InvalidSubmission(name, [broken or f"the file is empty: expected the header 'id,{column}'"])
    header = [field.strip(" \t") for field in records[0][1]]
    if sorted(header) != sorted(["id", column]):
        numbered = len(header) == 3 and header[0] in INDEX and {*header[1:]} == {"id", column}
        fix = "; the first column is a table's index: write it with index=False" if numbered else ""
        expected = f"expected 'id,{column}'{fix} (no line was checked)"
        problem = f"line 1: the header is {shown(','.join(header))}, {expected}"
        raise InvalidSubmission(name, [problem])
    values, lines, problems = _checked_rows(records[1:], header, expected_ids)
    if broken:  # the lines below are unread, so nothing can be said of missing ids
        problems.append(broken)
    else:
        problems += [f"id {shown(expected)} is missing" for expected in expected_ids if expected not in lines]
    if problems:
        raise InvalidSubmission(name, problems)
    return {expected: values[expected] for expected in expected_ids}


def named_ids(data: bytes, name: str, column: str = "prediction", most: int = 1000) -> list[str]:
    """Returns the ids in the first lines of a file, known or not; an empty list if the header is missing."""
    records, _ = _records(decoded(data, name), most)
    header = [field.strip(" \t") for field in records[0][1]] if records else []
    if sorted(header) != sorted(["id", column]):
        return []
    at = header.index("id")
    return [fields[at].strip(" \t") for _, fields in records[1:] if len(fields) == 2]


def decoded(data: bytes, name: str) -> str:
    """Returns the text of a UTF-8 file without byte order mark; raises InvalidSubmission for other bytes."""
    data = data.removeprefix(codecs.BOM_UTF8)
    at, problem = data.find(b"\0"), "NUL characters"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at, problem = error.start, "not UTF-8 text"
    if at >= 0:
        line = len((data[:at] + b".").splitlines())
        raise InvalidSubmission(name, [f"line {line}: {problem}; save the file as UTF-8"])
    return text


def _records(text: str, most: int) -> tuple[list[tuple[int, list[str]]], str | None]:
    """Returns at most `most` CSV records, each with its first line, and the problem that ended reading."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    records: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for fields in reader:
            if len(records) == most:
                return records, f"line {line}: far more lines than ids; no line from here on was checked"
            records.append((line, fields))
            line = reader.line_num + 1
    except csv.Error as error:
        return records, f"line {line}: not readable as CSV ({error}); no line from here on was checked"
    return records, None


def _checked_rows(
    records: Sequence[tuple[int, list[str]]], header: Sequence[str], expected_ids: Collection[str]
) -> tuple[dict[str, float], dict[str, int], list[str]]:
    """Returns the values and first lines of the ids found, and the problems of the rows."""
    id_at = header.index("id")
    column = header[1 - id_at]
    expected = frozenset(expected_ids)
    values: dict[str, float] = {}
    lines: dict[str, int] = {}
    numbers: list[float] = []
    problems: list[str] = []
    for line, raw in records:
        fields = [field.strip(" \t") for field in raw]
        where = f"line {line}"
        name = fields[id_at] if id_at < len(fields) else ""
        if name:
            where += f", id {shown(name)}"
        if len(fields) != 2:
            count = f"{len(fields)} field{'s' if len(fields) > 1 else ''} instead of 2"
            problems.append(f"{where}: {count if raw else 'a blank line'}")
            lines.setdefault(name, line)
            continue
        if name not in expected:
            unknown = "unknown id" if name.isascii() else "unknown id (ids are plain ASCII)"
            problems.append(f"{where}: {unknown if name else 'the id is empty'}")
        elif name in lines:
            problems.append(f"{where}: already given in line {lines[name]}")
        lines.setdefault(name, line)
        text = fields[1 - id_at]
        number = float(text) if NUMBER.fullmatch(text) else math.nan
        if not math.isfinite(number):
            problems.append(f"{where}: {column} {shown(text)} is not a plain decimal number")
            continue
        numbers.append(number)
        if not 0 <= number <= 1:
            problems.append(f"{where}: {column} {shown(text)} is outside [0, 1]")
        values.setdefault(name, number + 0.0)  # -0.0 becomes 0.0
    if len(numbers) == len(records) and like_percentages(numbers):
        problems.insert(
            0, f"every {column} looks like a percentage: divide them by 100 (fractions in [0, 1])"
        )
    return values, lines, problems


def like_percentages(numbers: Sequence[float]) -> bool:
    """Returns True if all numbers are in [0, 100] and more than half above 1: one 1.2 is no percentage."""
    return all(0 <= number <= 100 for number in numbers) and sum(n > 1 for n in numbers) * 2 > len(numbers)


def shown(text: str) -> str:
    """Returns `text` quoted, escaped and cut to a length that suits a message."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


ANSWER = "answer.txt"
"""Name of DataCV's file, alone or as the member of a zip."""
_MEMBER = re.compile(r"answer\.txt|[^/\\:]+\.csv", re.IGNORECASE)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_zip(data: bytes) -> bool:
    """Returns True if `data` begins like a zip: with a member, or with the end record of an empty zip."""
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def unzipped(data: bytes, name: str, limit: int) -> tuple[str, bytes]:
    """Returns the name and the content of a zip's only member, ``answer.txt`` or ``<name>.csv`` in no folder.

    The files that macOS adds (``__MACOSX/``) are ignored. The size that the zip declares is not trusted: at
    most `limit` bytes are unpacked.

    Args:
        data: Bytes of the zip.
        name: Name of the zip, for messages.
        limit: Largest number of bytes to unpack.

    Raises:
        InvalidSubmission: the zip is damaged, encrypted or too large, or holds anything else.
    """
    try:
        return _member(data, limit)
    except Exception as error:  # a damaged zip makes zipfile raise whatever it meets
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidSubmission(name, [f"not a zip of one {ANSWER} or .csv file: {reason}"]) from error


def _member(data: bytes, limit: int) -> tuple[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [info for info in archive.infolist() if not info.filename.startswith("__MACOSX/")]
        if len(members) != 1 or not _MEMBER.fullmatch(members[0].filename):
            raise ValueError(f"it holds {shown(', '.join(info.filename for info in members))}")
        (info,) = members
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError("its member is no regular file")
        if info.flag_bits & 1 or info.compress_type not in _METHODS:
            raise ValueError("its member is encrypted, or compressed in an unusual way")
        with archive.open(info) as stream:
            text = stream.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"its member is too large: at most {limit:,} bytes are read")
    return info.filename, text
