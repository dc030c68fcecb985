"""One file that scores a submission as the kit does: Codabench and DataCV run it, Kaggle calls `score`.

    python3 score.py [INPUT OUTPUT]

INPUT/res holds the submission, one file that `unseen validate` accepts, and INPUT/ref/targets.csv the hidden
labels of the part that counts. OUTPUT/scores.json gets ``{"rmse": ...}``, in percentage points; lower is
better. By default INPUT and OUTPUT are Codabench's, below /app.

Exit codes: 0 scored; 1 an invalid submission; 2 an error of the platform or in the reference data. The output
never depends on a hidden label. `leaderboard.export.program` joins this text to the kit's own parser.
"""

import csv
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from submission.errors import InvalidSubmission
from submission.parser import most_bytes, parse

IDS: list[str] = []
"""Every id of the competition, in order."""
DECIMALS = 1
"""Number of decimals of scores. Each further one makes it ten times as easy to solve for the targets."""
RULES = (
    "It must have exactly the ids of the sample submission, each once, and as predictions plain decimal "
    "numbers, fractions in [0, 1]: divide percentages by 100."
)
"""The message about a file with the ids of one part: one for each fault would reveal which part it is."""
IGNORED = ("metadata", "__MACOSX")
"""Names of files that platforms and archivers add to the submitted file."""


class ParticipantVisibleError(Exception):
    """An error in a submission, whose text participants on Kaggle see."""


def rmse(predictions: Mapping[str, float], targets: Mapping[str, float]) -> float:
    """Returns the root mean squared error of the ids in `targets`, in rounded percentage points."""
    squares = [(100 * (predictions[name] - target)) ** 2 for name, target in targets.items()]
    return round(math.sqrt(math.fsum(squares) / len(squares)), DECIMALS)


def score(solution: Any, submission: Any, row_id_column_name: str) -> float:
    """Returns the root mean squared error in percentage points, 0 (perfect) to 100; lower is better.

    Rows are matched by id, never by position. Every id of the competition is required, unless the platform
    compares the ids itself and passes those of the scored part alone.

    Args:
        solution: Table (of pandas) of the ids and `target`, fractions in [0, 1]; other columns are not read.
        submission: Table (of pandas) of the ids and `prediction`, fractions in [0, 1].
        row_id_column_name: Name of the column of ids, "id".

    Raises:
        ParticipantVisibleError: the submission breaks the format.

    >>> import pandas as pd
    >>> solution = pd.DataFrame({"id": ["a", "b"], "target": [0.5, 0.9]})
    >>> score(solution, pd.DataFrame({"id": ["b", "a"], "prediction": [0.9, 0.6]}), "id")
    7.1
    """
    if missing := {row_id_column_name, "prediction"} - set(submission):  # else numbers alone pass by position
        problem = f"the submission has no column {min(missing)!r}: id and prediction are needed"
        raise ParticipantVisibleError(problem)
    targets = dict(zip(solution[row_id_column_name], solution["target"], strict=True))
    alone = set(submission[row_id_column_name]) == set(targets) != set(IDS)
    try:
        data = submission.to_csv(index=False).encode()
        return rmse(parse(data, list(targets) if alone else IDS, "the submission"), targets)
    except InvalidSubmission as error:
        raise ParticipantVisibleError(RULES if alone else str(error)) from None


def submitted(folder: Path) -> Path:
    """Returns the path of the only file in the folder; raises InvalidSubmission if there is no such file."""
    found = sorted(p for p in folder.iterdir() if p.name not in IGNORED and not p.name.startswith("."))
    if len(found) != 1 or found[0].is_symlink() or not found[0].is_file():
        names = ", ".join(repr(path.name[:60]) for path in found[:20]) or "nothing"
        problem = f"it must hold one regular file of predictions, but holds {names}"
        raise InvalidSubmission("the submission", [problem])
    return found[0]


def main(arguments: list[str]) -> int:
    """Score the submission, write the file with the score, and return the exit code."""
    source, out = map(Path, arguments or ("/app/input", "/app/output"))
    try:
        with (source / "ref/targets.csv").open(encoding="utf-8", newline="") as stream:
            targets = {row["id"]: float(row["target"]) for row in csv.DictReader(stream, strict=True)}
        path = submitted(source / "res")
        with path.open("rb") as file:
            found = rmse(parse(file.read(most_bytes(IDS) + 1), IDS, path.name), targets)
        (out / "scores.json").write_text(json.dumps({"rmse": found}), encoding="utf-8")
    except InvalidSubmission as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:  # its text might hold what participants may not know
        print(f"the scoring program failed ({type(error).__name__}): tell the organizers", file=sys.stderr)
        return 2
    print(f"rmse: {found}")
    return 0


if __name__ == "__main__" and Path(sys.argv[0]).name == "score.py":  # and not in a notebook of Kaggle's
    sys.exit(main(sys.argv[1:]))
