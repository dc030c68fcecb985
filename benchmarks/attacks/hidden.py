"""Nothing about hidden rows is published with no submissions: two solutions, the same published bytes.

python benchmarks/attacks/hidden.py

Two hidden competitions differ in the labels of their test sets alone. With the same methods predicted and no
submission, every published file must have the same bytes. Exit code 1 otherwise.
"""

import csv
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from contest import handed_in, make

from leaderboard.publish import publish
from submission import Competition
from submission.files import sha256
from submission.predictions import RUNS
from submission.solution import solution_of, write_solution


def published(competition: Competition) -> dict[str, bytes]:
    """Returns the bytes of every published file by its name."""
    written = {}
    for number, name in enumerate(("constant", "atc")):
        file = handed_in(competition, competition.root / f"submissions/{name}.csv", number)
        written[f"submissions/{name}.csv"] = sha256(file)
    with (competition.root / RUNS).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([["method", "files"], ["", json.dumps(written)]])
    publish(competition)
    files = (*competition.root.glob("leaderboard*"), competition.root / "heads.json")
    return {path.name: path.read_bytes() for path in files}


def main() -> None:
    found = []
    with tempfile.TemporaryDirectory() as name:
        for flipped in (False, True):
            competition = make(Path(name) / str(flipped) / "contest", sets=24, visibility="hidden")
            if flipped:
                rows = [replace(row, prediction=1 - row.prediction) for row in solution_of(competition)]
                write_solution(competition.private / "solution.csv", rows)
                competition.save()
            found.append(published(competition))
    same = found[0] == found[1]
    print(f"{len(found[0])} published files, {'the same' if same else 'OTHER'} bytes under other labels")
    sys.exit(not same)


if __name__ == "__main__":
    main()
