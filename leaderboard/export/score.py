"""The scoring program of an exported competition: the kit's own scoring, on a platform that runs programs.

    python3 score.py [INPUT OUTPUT]

INPUT/res holds the submission, one file that `unseen validate` would accept. INPUT/ref holds competition.json
and only the hidden labels of the part that counts. OUTPUT/scores.json gets ``{"rmse": ...}``, in percentage
points, rounded as the competition publishes scores; lower is better. Without arguments INPUT and OUTPUT are
Codabench's, below /app.

Exit codes: 0 scored; 1 an invalid submission; 2 an error of the platform or in the reference data. The
output never depends on a hidden label. Needs NumPy only, and the package ``submission`` next to this file.
"""

import csv
import json
import math
import sys
from pathlib import Path

from submission import Competition, InvalidSubmission, metrics, validate
from submission.files import sha256

IGNORED = ("metadata", "__MACOSX")
"""Names of files that platforms and archivers add to the submitted file."""


def submitted(folder: Path) -> Path:
    """Returns the path of the only file in the folder.

    Raises:
        InvalidSubmission: there is no file or more than one, or it is a link or a folder.
    """
    found = sorted(
        path for path in folder.iterdir() if path.name not in IGNORED and not path.name.startswith(".")
    )
    if len(found) != 1:
        names = ", ".join(repr(path.name[:60]) for path in found[:20]) or "nothing"
        raise InvalidSubmission(
            "the submission", [f"it must hold one file of predictions, but holds {names}"]
        )
    if found[0].is_symlink() or not found[0].is_file():
        raise InvalidSubmission("the submission", [f"{found[0].name[:60]!r} is not a regular file"])
    return found[0]


def targets(ref: Path) -> dict[str, float]:
    """Returns the hidden labels of the part that counts, {id: fraction}.

    Raises:
        ValueError: a file of the reference data was changed since the export.
    """
    for line in (ref / "sha256sums").read_text(encoding="utf-8").splitlines():
        digest, name = line.split("  ", 1)
        if sha256(ref / name) != digest:
            raise ValueError(f"{name} was changed")
    with (ref / "targets.csv").open(encoding="utf-8", newline="") as stream:
        return {row["id"]: float(row["target"]) for row in csv.DictReader(stream, strict=True)}


def score(ref: Path, res: Path) -> float:
    """Returns the score on the part that counts, in points, rounded as it is published.

    Raises:
        InvalidSubmission: the submission breaks the format.
    """
    hidden, competition = targets(ref), Competition.open(ref)
    found = metrics.score(validate(competition, submitted(res)), hidden, competition.subject_of)
    return found.rounded(competition.decimals).rmse


def main(arguments: list[str]) -> int:
    """Score the submission, write the file with the score, and return the exit code."""
    source, target = map(Path, arguments or ("/app/input", "/app/output"))
    try:
        rmse = score(source / "ref", source / "res")
        assert math.isfinite(rmse)
        (target / "scores.json").write_text(json.dumps({"rmse": rmse}), encoding="utf-8")
    except InvalidSubmission as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:  # its text might hold what participants may not know
        print(f"the scoring program failed ({type(error).__name__}): tell the organizers", file=sys.stderr)
        return 2
    print(f"rmse: {rmse}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
