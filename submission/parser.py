"""The strict parser of predictions: a CSV of ``id,prediction``, DataCV's ``answer.txt``, or a zip of either.

A CSV has one line per id, in any order, with a fraction in [0, 1]. Also accepted: a byte order mark, CRLF,
blank lines, the two columns in reverse order, spaces around a field. An ``answer.txt`` has a fraction per
line in the order of the ids (github.com/xingjianleng/autoeval_baselines). Anything else is refused, and every
problem is listed. A zip is read in memory and never unpacked to disk.

Scorers of other platforms hold this text (`leaderboard.export.program`): it needs Python's own library only.
"""

import codecs
import csv
import io
import math
import re
import stat
import zipfile
from collections.abc import Collection, Sequence

from submission.errors import InvalidSubmission

# float() would also take 1_000, nan, infinity and the digits of every script.
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
ANSWER = "answer.txt"
"""Name of DataCV's file, alone or as the member of a zip."""
_MEMBER = re.compile(r"answer\.txt|[^/\\:]+\.csv", re.IGNORECASE)
_QUOTED, _SHOWN = 60, 5
"""Largest length of a quotation, and number of ids that are named."""
_Row = tuple[int, list[str]]
"""Number of a row's first line, and its fields."""


def most_bytes(ids: Collection[str]) -> int:
    """Returns the largest size in bytes of a file of predictions: 1 MiB plus 512 bytes per id."""
    return (1 << 20) + 512 * len(ids)


def check_size(data: bytes, ids: Collection[str], name: str) -> None:
    """Raise InvalidSubmission if a file of predictions has more than `most_bytes`."""
    if len(data) > most_bytes(ids):
        raise InvalidSubmission(name, [f"the file is too large: at most {most_bytes(ids):,} bytes are read"])


def parse(data: bytes, ids: Sequence[str], name: str, column: str = "prediction") -> dict[str, float]:
    r"""Returns the predictions in the bytes of a file, {id: fraction} in the order of `ids`.

    The format is recognised by the content alone: a zip by its first bytes, an answer by its first line, a
    number. Messages have the file's `name`.

    >>> parse(b"id,prediction\nsmall/a,0.25\n", ["small/a"], "mine.csv")
    {'small/a': 0.25}
    >>> parse(b"0.25\n", ["small/a"], "answer.txt")
    {'small/a': 0.25}
    """
    check_size(data, ids, name)
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        data = unzipped(data, name, most_bytes(ids))
    text = _decoded(data, name)
    if NUMBER.fullmatch(re.split("[\r\n]", text.lstrip(" \t\r\n"), maxsplit=1)[0].strip(" \t")):
        rows, broken = _answer_rows(text, ids, name), ""
    else:
        rows, broken = _csv_rows(text, ids, name, column)
    values, lines, problems = _checked(rows, ids, column)
    if broken:  # the lines below are unread, so nothing can be said of missing ids
        problems.append(broken)
    else:
        problems = _with_missing(problems, list(lines), ids)
    if problems:
        raise InvalidSubmission(name, problems)
    return {each: values[each] for each in ids}


def _with_missing(problems: Sequence[str], found: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Returns the problems of the rows, whose ids are `found`, and those of missing ids."""
    there, known = frozenset(found), frozenset(ids)
    missing = [each for each in ids if each not in there]
    strange = [each for each in found if each not in known]
    needed = f"the competition needs {len(ids):,}: {_several(ids)}"
    if not found and missing and problems:
        return [*problems, f"no id is there; {needed}"]
    if not missing or not strange:
        return [*problems, *(f"id {_quoted(each)} is missing" for each in missing)]
    if len(missing) == len(ids):
        return [
            f"none of its ids belongs here: {_several(found)}; {needed} (`validate` and `score --team` take "
            "the test sets' predictions, in submissions/, `score --val` the validation sets', in validation/)"
        ]
    counts = f"{len(strange):,} ids do not belong here: {_several(strange)}"
    both = f"{counts}; {len(missing):,} are missing: {_several(missing)}"
    summary = [both] if max(len(missing), len(strange)) > _SHOWN else []
    return [*summary, *problems, *(f"id {_quoted(each)} is missing" for each in missing)]


def _several(names: Sequence[str]) -> str:
    """Returns the first names, quoted."""
    return ", ".join([*map(_quoted, names[:_SHOWN]), *(["..."] if len(names) > _SHOWN else [])])


def unzipped(data: bytes, name: str, limit: int) -> bytes:
    """Returns the content of a zip's only member, ``answer.txt`` or ``<name>.csv`` in no folder.

    The files that macOS adds (``__MACOSX/``) are ignored. The size that the zip declares is not trusted: at
    most `limit` bytes are unpacked.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [info for info in archive.infolist() if not info.filename.startswith("__MACOSX/")]
            if any(info.filename.startswith("xl/") for info in members):
                raise ValueError("it is an Excel workbook; save the table as CSV")
            if len(members) != 1 or not _MEMBER.fullmatch(members[0].filename):
                names = ", ".join(info.filename for info in members)
                fix = ", with a folder: zip the file alone" if "/" in names else ""
                raise ValueError(f"it holds {_quoted(names)}{fix}")
            (info,) = members
            regular = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
            plain = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if not regular or not plain or info.flag_bits & 1:
                raise ValueError("its member is no regular file, encrypted or compressed in an unusual way")
            with archive.open(info) as stream:
                content = stream.read(limit + 1)
        if len(content) > limit:
            raise ValueError(f"its member is too large: at most {limit:,} bytes are read")
    except Exception as error:  # a damaged zip makes zipfile raise whatever it meets
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidSubmission(name, [f"not a zip of one {ANSWER} or .csv file: {reason}"]) from error
    return content


def _decoded(data: bytes, name: str) -> str:
    """Returns the text of a UTF-8 file without byte order mark; raises InvalidSubmission for other bytes."""
    data = data.removeprefix(codecs.BOM_UTF8)
    at, problem = data.find(b"\0"), "NUL characters"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        at, problem = error.start, "not UTF-8 text"
    if at >= 0:
        line = len((data[:at] + b".").splitlines())
        raise InvalidSubmission(name, [f"line {line}: {problem}; is this a CSV? Save it as UTF-8"])
    return text


def _answer_rows(text: str, ids: Sequence[str], name: str) -> list[_Row]:
    """Returns the rows of an answer with their ids; raises InvalidSubmission if there are not as many."""
    numbered = enumerate(re.split("\r\n|\r|\n", text), 1)
    lines = [(number, line) for number, line in numbered if line.strip(" \t")]
    if len(lines) != len(ids):
        problem = (
            f"{len(lines):,} lines, expected {len(ids):,}: a fraction for each id from {_quoted(ids[0])} to "
            f"{_quoted(ids[-1])} (no line was checked)"
        )
        raise InvalidSubmission(name, [problem])
    return [(number, [each, line]) for each, (number, line) in zip(ids, lines, strict=True)]


def _csv_rows(text: str, ids: Sequence[str], name: str, column: str) -> tuple[list[_Row], str]:
    """Returns the rows below the header, the id first, and the problem that ended reading, or ""."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    rows: list[_Row] = []
    line = 1
    most = 1000 + 2 * len(ids)
    broken = ""
    try:
        for fields in reader:
            if len(rows) == most:
                broken = f"line {line}: far more lines than ids; no line from here on was checked"
                break
            fields = [field.strip(" \t") for field in fields]
            if fields not in ([], [""]):  # no blank line
                rows.append((line, fields))
            line = reader.line_num + 1
    except csv.Error as error:
        broken = f"line {line}: not readable as CSV ({error}); no line from here on was checked"
    if not rows:
        raise InvalidSubmission(name, [broken or f"the file is empty: expected the header 'id,{column}'"])
    first, header = rows[0]
    if sorted(header) != sorted(["id", column]):
        problem = f"line {first}: the header is {_quoted(','.join(header))}, expected 'id,{column}'"
        raise InvalidSubmission(name, [f"{problem}{_fix_of(header)} (no line was checked)"])
    if header[0] != "id":
        rows = [(line, fields[::-1] if len(fields) == 2 else fields) for line, fields in rows]
    return rows[1:], broken


def _fix_of(header: Sequence[str]) -> str:
    """Returns what is wrong with a header, where that can be told."""
    if header[:1] in ([""], ["Unnamed: 0"]):
        return " without the index of a table (index=False)"
    if len(header) == 2 and NUMBER.fullmatch(header[1]):
        return " above it: the header is missing"
    if re.search("[;\t]", ",".join(header)):
        return ": separate the columns by commas, not semicolons or tabs"
    return ""


def _checked(
    rows: Sequence[_Row], ids: Collection[str], column: str
) -> tuple[dict[str, float], dict[str, int], list[str]]:
    """Returns the values and first lines of the ids found, and the problems of the rows."""
    expected = frozenset(ids)
    values: dict[str, float] = {}
    lines: dict[str, int] = {}
    numbers: list[float] = []
    problems: list[str] = []
    for line, fields in rows:
        name = fields[0] if len(fields) == 2 else ""
        where = f"line {line}, id {_quoted(name)}" if name else f"line {line}"
        if len(fields) != 2:
            count = f"{len(fields)} field{'s' if len(fields) != 1 else ''} instead of 2"
            problems.append(f"{where}: {_quoted(','.join(fields))} has {count}")
            continue
        if name not in expected:
            unknown = "unknown id" if name.isascii() else "unknown id (ids are plain ASCII)"
            problems.append(f"{where}: {unknown if name else 'the id is empty'}")
        elif name in lines:
            problems.append(f"{where}: already given in line {lines[name]}")
        if name:
            lines.setdefault(name, line)
        text = fields[1].strip(" \t")
        number = float(text) + 0.0 if NUMBER.fullmatch(text) else math.nan  # -0.0 becomes 0.0
        if not math.isfinite(number):
            problems.append(f"{where}: {column} {_quoted(text)} is not a plain decimal number")
            continue
        numbers.append(number)
        if not 0 <= number <= 1:
            problems.append(f"{where}: {column} {_quoted(text)} is outside [0, 1]")
        values.setdefault(name, number)
    if len(numbers) == len(rows) and _like_percentages(numbers):
        problems.insert(0, f"every {column} looks like a percentage: divide by 100 (fractions in [0, 1])")
    return values, lines, problems


def _like_percentages(numbers: Sequence[float]) -> bool:
    """Returns True if all numbers are in [0, 100] and more than half above 1: one 1.2 is no percentage."""
    return all(0 <= number <= 100 for number in numbers) and sum(n > 1 for n in numbers) * 2 > len(numbers)


def _quoted(text: str) -> str:
    """Returns `text` quoted, escaped and cut to a length that suits a message."""
    return repr(text if len(text) <= _QUOTED else text[:_QUOTED] + "...")
