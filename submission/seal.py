"""``private/seal.sha256``: hashes of files that a build wrote; scoring refuses a file that was changed since.

The file has one line per file in the format of ``sha256sum``, so ``sha256sum --check private/seal.sha256``
checks them. The seal guards against mistakes, not against the organizer, who could seal anything.
"""

import hashlib
from pathlib import Path

from submission.errors import UnusableInput
from submission.files import read_head, replacing, sha256, write_text

SEAL = "private/seal.sha256"
DESCRIPTION = "public/competition.json"
SOLUTION = "private/solution.csv"
DEVIATIONS = "private/noise.csv"
"""File with the standard deviation of each hidden target by chance alone, in tracks that measure it."""


def write_seal(root: Path, description: str) -> None:
    """Seal the solution and the deviations in `root`, and `description`, the text for competition.json.

    The seal is written before competition.json, which ends a build: a build that is interrupted between the
    two is unfinished, and finishing it writes the seal again.
    """
    lines = [f"{sha256(root / file)}  {file}\n" for file in (SOLUTION, DEVIATIONS) if (root / file).exists()]
    digest = hashlib.sha256(description.encode()).hexdigest()
    write_text(root / SEAL, "".join([*lines, f"{digest}  {DESCRIPTION}\n"]))


def replace_solution(root: Path, data: bytes) -> None:
    """Replace the solution in `root` by another version, and seal it.

    If this is interrupted between the two steps, the solution is not sealed, and nothing can be scored.

    Raises:
        UnusableInput: the deviations were changed, so that a new seal would hide the change.
    """
    if (root / DEVIATIONS).exists():
        check_sealed(root, DEVIATIONS)
    with replacing(root / SOLUTION) as temporary:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_bytes(data)
    write_seal(root, (root / DESCRIPTION).read_text(encoding="utf-8"))


def check_sealed(root: Path, file: str) -> None:
    """Check that `file`, `DESCRIPTION`, `SOLUTION` or `DEVIATIONS`, is the one that the build sealed.

    Raises:
        UnusableInput: the file was changed, or there is no seal; the message says what to do.
    """
    mend = f"restore it from a backup, or remove {root / DESCRIPTION} and run the same `unseen build` again"
    mend += " (to correct a label: unseen rescore)"
    if not (root / SEAL).exists():
        raise UnusableInput(f"{root / SEAL} is missing: {mend}")
    line = f"{sha256(root / file)}  {file}"
    if line.encode() not in read_head(root / SEAL, 1000).splitlines():
        raise UnusableInput(f"{root / file} is not the file that the build sealed in {SEAL}: {mend}")
