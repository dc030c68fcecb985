"""Predictions as the DataCV challenges take them: ``answer.txt``, or a zip that holds it.

One fraction a line with six decimals, and no ids: all sets of the first classifier, then all of the second,
which is the order of `Competition.ids`. Source: the DataCV 2023 kit
(github.com/xingjianleng/autoeval_baselines).
"""

import io
import math
import re
import stat
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from submission.errors import InvalidSubmission
from submission.files import replacing
from submission.predictions import NUMBER, decoded, like_percentages, read_bytes, shown

ANSWER = "answer.txt"
"""What the file is called, and its member of a zip."""
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_answer(path: Path, values: Mapping[str, float]) -> None:
    """Write the fractions in the order of `values`, atomically; as a zip where `path` ends in ".zip".

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


def read_answer(path: Path, expected_ids: Sequence[str]) -> dict[str, float]:
    """Read an ``answer.txt``, or a zip with nothing else in it: {id: fraction}, line by line.

    Accepted besides the plain form: a byte order mark, CRLF, spaces around a number, no last line end.

    Raises:
        InvalidSubmission: the content breaks the format; every problem is named with its line and id.
        UnusableInput: there is no such file, it is no regular file, or it cannot be read.
    """
    return parse_answer(read_bytes(path, expected_ids), expected_ids, str(path))


def parse_answer(data: bytes, expected_ids: Sequence[str], name: str) -> dict[str, float]:
    """What :func:`read_answer` reads, from the bytes of a file that messages call `name`.

    >>> parse_answer(b"0.25\\n", ["small/a"], "answer.txt")
    {'small/a': 0.25}

    Raises:
        InvalidSubmission: the content breaks the format; every problem is named with its line and id.
    """
    if data.startswith(b"PK"):
        data = _unzipped(data, name, (1 << 20) + 512 * len(expected_ids))
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


def _fractions(texts: Mapping[str, str], name: str) -> dict[str, float]:
    """The numbers in the lines of a file, by id."""
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


def _unzipped(data: bytes, name: str, limit: int) -> bytes:
    """The member of a zip, which is read in memory and no further than `limit` bytes."""
    try:
        return _member(data, limit)
    except Exception as error:  # a damaged zip makes zipfile raise whatever it meets
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidSubmission(name, [f"not a zip of {ANSWER} alone: {reason}"]) from error


def _member(data: bytes, limit: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [info for info in archive.infolist() if not info.filename.startswith("__MACOSX/")]
        names = [info.filename for info in members]
        if names != [ANSWER]:
            raise ValueError(f"it holds {shown(', '.join(names))}")
        (info,) = members
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise ValueError("its member is no regular file")
        if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError("its member is encrypted, or compressed in an unusual way")
        with archive.open(info) as stream:
            text = stream.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"its member is too large: at most {limit:,} bytes are read")
    return text
