"""The log of runs: ``runs.csv`` in the competition's folder has a line for every run of a method."""

import csv
import io
import json
import math
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from filelock import FileLock

from baselines.contract.estimator import Estimator
from baselines.run.choose import own_parameters
from submission import Competition
from submission.files import read_text, sha256, write_text
from submission.predictions import RUNS

HEADER = ("time", "method", "parameters", "seed", "score", "note", "files")
SEEDS = ("seed", "random_state")
MOST_BYTES = 1 << 26


def log_run(
    competition: Competition,
    name: str,
    method: Estimator,
    score: float,
    note: str = "",
    files: Iterable[Path] = (),
) -> Path:
    """Add a run to ``runs.csv``, atomically, even if several processes write at the same time.

    Args:
        competition: Competition whose folder has the file.
        name: Name of the method in the run.
        method: The method; its parameters are written as JSON, and the seed also in a column of its own.
        score: RMSE in points on the validation sets; nan, which is written as "", without such sets.
        note: Remark of the user.
        files: Files of predictions that the run wrote, whose SHA-256 the line records.

    Returns:
        The path of the file.
    """
    path = competition.root / RUNS
    parameters = own_parameters(method)
    seeds = [value for key, value in parameters.items() if key.rpartition("__")[2] in SEEDS]
    row = {
        "time": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}",
        "method": name,
        "parameters": json.dumps(parameters, sort_keys=True, default=repr),
        "seed": " ".join(map(str, seeds)),
        "score": "" if math.isnan(score) else f"{score:.4f}",
        "note": " ".join(note.split()),
        "files": json.dumps({path.relative_to(competition.root).as_posix(): sha256(path) for path in files}),
    }
    with FileLock(path.with_name(f".{RUNS}.lock")):
        before = read_text(path, MOST_BYTES) if path.exists() else ",".join(HEADER) + "\n"
        line = io.StringIO()
        csv.DictWriter(line, HEADER, lineterminator="\n").writerow(row)
        write_text(path, before + line.getvalue())
    return path
