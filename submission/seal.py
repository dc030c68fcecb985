"""``private/seal.sha256``: what a build wrote, so that nobody is scored with a file changed since.

One line a file, as ``sha256sum`` writes them; ``sha256sum --check private/seal.sha256`` reads them. It guards
against mistakes, not against the organizer, who could seal anything.
"""

import hashlib
from pathlib import Path

from submission.errors import UnusableInput
from submission.files import read_head, replacing, sha256, write_text

SEAL = "private/seal.sha256"
DESCRIPTION = "public/competition.json"
SOLUTION = "private/solution.csv"


def write_seal(root: Path, description: str) -> None:
    """Seal the solution in `root` and `description`, the text that competition.json is about to get.

    The seal comes first, so that competition.json stays the end of a build: a build interrupted between the
    two is unfinished, and finishing it seals again.
    """
    digest = hashlib.sha256(description.encode()).hexdigest()
    write_text(root / SEAL, f"{sha256(root / SOLUTION)}  {SOLUTION}\n{digest}  {DESCRIPTION}\n")


def replace_solution(root: Path, data: bytes) -> None:
    """Put another version of the solution in the place of the one in `root`, and seal it.

    Stopped between the two, the solution is not sealed, so that nobody is scored.
    """
    with replacing(root / SOLUTION) as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_bytes(data)
    write_seal(root, (root / DESCRIPTION).read_text(encoding="utf-8"))


def check_sealed(root: Path, file: str) -> None:
    """Check that `file`, `DESCRIPTION` or `SOLUTION`, is the one that the build sealed.

    Raises:
        UnusableInput: it is not, or there is no seal; the message says what to do.
    """
    mend = f"restore it from a backup, or remove {root / DESCRIPTION} and run the same `unseen build` again"
    mend += " (to correct a label: unseen rescore)"
    if not (root / SEAL).exists():
        raise UnusableInput(f"{root / SEAL} is missing: {mend}")
    line = f"{sha256(root / file)}  {file}"
    if line.encode() not in read_head(root / SEAL, 1000).splitlines():
        raise UnusableInput(f"{root / file} is not the file that the build sealed in {SEAL}: {mend}")
