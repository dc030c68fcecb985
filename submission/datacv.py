"""Predictions in the format of the DataCV challenges: ``answer.txt``, or a zip that holds it.

The file has one fraction per line, with six decimals and without ids: all sets of the first classifier, then
all of the second, which is the order of `Competition.ids`. Source: the DataCV 2023 kit
(github.com/xingjianleng/autoeval_baselines).
"""

import codecs
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from submission.errors import InvalidSubmission
from submission.files import replacing
from submission.predictions import ANSWER, NUMBER, decoded, like_percentages, shown

_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_answer(path: Path, values: Mapping[str, float]) -> None:
    """Write the fractions in the order of `values`, atomically; as a zip if `path` ends in ".zip".

    Raises:
        ValueError: a value is no finite number in [0, 1]; the message names its id.
    """
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ValueError(f"id {name!r}: prediction must be a fraction in [0, 1], got {value!r}")
    text = "".join(f"{value:.6f}\n" for value in values.values())
    with replacing(path) as temporary:
        if path.suffix == ".zip":
            with zipfile.ZipFile(temporary, "w") as archive:
                archive.writestr(zipfile.ZipInfo(ANSWER, _EPOCH), text)
        else:
            temporary.write_bytes(text.encode())


def parse_answer(data: bytes, expected_ids: Sequence[str], name: str) -> dict[str, float]:
    r"""Returns the predictions in an ``answer.txt``, {id: fraction}; messages call the file `name`.

    Also accepted: a byte order mark, CRLF, spaces around a number, and a last line without line end.

    >>> parse_answer(b"0.25\n", ["small/a"], "answer.txt")
    {'small/a': 0.25}

    Raises:
        InvalidSubmission: the content breaks the format; every problem is named with its line and id.
    """
    lines = re.split("\r\n|\r|\n", decoded(data, name))
    if not lines[-1]:
        lines.pop()
    if len(lines) != len(expected_ids):
        problem = (
            f"{len(lines):,} lines, expected {len(expected_ids):,}: a fraction for each id from "
            f"{expected_ids[0]!r} to {expected_ids[-1]!r} (no line was checked)"
        )
        raise InvalidSubmission(name, [problem])
    return _fractions(dict(zip(expected_ids, lines, strict=True)), name)


def starts_with_number(data: bytes) -> bool:
    r"""Returns True if the first line is a number: then the file is an answer, since a CSV has a header.

    >>> starts_with_number(b"0.5\n"), starts_with_number(b"id,prediction\n")
    (True, False)
    """
    return bool(NUMBER.fullmatch(first_line(data).decode("ascii", "replace").strip(" \t")))


def first_line(data: bytes) -> bytes:
    """Returns the bytes before the first line end, without a byte order mark."""
    return re.split(rb"[\r\n]", data.removeprefix(codecs.BOM_UTF8), maxsplit=1)[0]


def _fractions(texts: Mapping[str, str], name: str) -> dict[str, float]:
    """Returns the numbers in the lines of a file, by id; raises InvalidSubmission for any other text."""
    values: dict[str, float] = {}
    problems = []
    for line, (key, text) in enumerate(texts.items(), 1):
        stripped = text.strip(" \t")
        values[key] = float(stripped) + 0.0 if NUMBER.fullmatch(stripped) else math.nan  # -0.0 becomes 0.0
        if not math.isfinite(values[key]):
            problems.append(f"line {line}, id {key!r}: {shown(text)} is not a plain decimal number")
        elif not 0 <= values[key] <= 1:
            problems.append(f"line {line}, id {key!r}: {shown(text)} is outside [0, 1]")
    if like_percentages([*values.values()]):
        problems.insert(0, "every line looks like a percentage: divide them by 100 (fractions in [0, 1])")
    if problems:
        raise InvalidSubmission(name, problems)
    return values
