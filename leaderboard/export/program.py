"""What scores an exported competition on another host: the program, and what it scores with.

The program is the kit's own code, copied, so that its messages and numbers are the kit's.
"""

from pathlib import Path

import submission
from submission import Competition
from submission.seal import DESCRIPTION, SEAL, SOLUTION

Files = dict[str, bytes]
"""The bytes of files, by their path with "/"."""


def scoring_program() -> Files:
    """``score.py``, the package `submission` beside it, and ``metadata.yaml``, which tells how to run it."""
    package = Path(submission.__file__).parent
    files = {f"submission/{path.name}": path.read_bytes() for path in sorted(package.glob("*.py"))}
    program = Path(__file__).with_name("score.py").read_bytes()
    return {"metadata.yaml": b"command: python3 score.py\n", "score.py": program, **files}


def reference(competition: Competition, usage: str) -> Files:
    """The hidden labels as the program reads them; `usage` is the part that counts, "Public" or "Private".

    Raises:
        UnusableInput: this is a participant's copy, or the solution or competition.json was changed.
    """
    competition.solution()
    files = {name: (competition.root / name).read_bytes() for name in (DESCRIPTION, SOLUTION, SEAL)}
    return {"usage": f"{usage}\n".encode(), **files}
