"""A submission inside a zip: its one member, read in memory, never unpacked to disk."""

import io
import re
import stat
import zipfile

from submission.errors import InvalidSubmission
from submission.predictions import shown

ANSWER = "answer.txt"
"""What DataCV's file is called, alone or as the member of a zip."""
_MEMBER = re.compile(r"answer\.txt|[^/\\:]+\.csv", re.IGNORECASE)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_zip(data: bytes) -> bool:
    """Whether `data` begins as zips do, with a member or with the end of an empty one."""
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def unzipped(data: bytes, name: str, limit: int) -> tuple[str, bytes]:
    """Name and content of a zip's one member, ``answer.txt`` or ``<name>.csv`` in no folder.

    What macOS adds (``__MACOSX/``) is left aside. The size that the zip declares is not trusted: no more than
    `limit` bytes are ever unpacked.

    Args:
        name: of the zip, for messages.

    Raises:
        InvalidSubmission: it is damaged, encrypted or too large, or holds anything else.
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
