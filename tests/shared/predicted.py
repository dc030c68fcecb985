"""Files that count as written by `unseen predict`, for tests that write predictions themselves."""

import csv
import json

from submission import Competition
from submission.files import sha256
from submission.predictions import RUNS


def as_predicted(competition: Competition) -> None:
    """Log every file in ``submissions/`` and ``validation/`` as one that `unseen predict` wrote."""
    paths = [
        path for folder in ("submissions", "validation") for path in competition.root.glob(f"{folder}/*.csv")
    ]
    files = {f"{path.parent.name}/{path.name}": sha256(path) for path in paths if path.is_file()}
    with (competition.root / RUNS).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["method", "files"], ["", json.dumps(files)]])
