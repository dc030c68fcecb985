"""The files that `unseen predict` wrote, as ``runs.csv`` lists them with their SHA-256.

Anybody's CSV may be in ``submissions/``, but only predictions of the kit itself may be shown as baselines.
"""

import csv
import io
import json

from submission.competition import Competition
from submission.files import read_text

RUNS = "runs.csv"
"""The log of runs in the competition's folder; its column `files` is a JSON object {path: SHA-256}."""


def predicted_files(competition: Competition) -> dict[str, set[str]]:
    """Returns the hashes of what `unseen predict` wrote, by path, such as submissions/fd.csv."""
    found: dict[str, set[str]] = {}
    path = competition.root / RUNS
    for row in csv.DictReader(io.StringIO(read_text(path) if path.exists() else "")):
        for name, digest in json.loads(row.get("files") or "{}").items():
            found.setdefault(name, set()).add(digest)
    return found
