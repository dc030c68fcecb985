"""A competition of enough made-up sets for intervals: 24 public and 36 private ones, two to a family."""

import itertools
import json
from pathlib import Path

import numpy as np

from submission import Competition
from submission.solution import SolutionRow, solution_of, write_solution

SETS = [f"test_{number:04d}" for number in range(1, 61)]
PUBLIC = SETS[:24]


def large_competition(root: Path, **rules: object) -> Competition:
    """Made without images, from a fixed seed."""
    fields = {
        **dict(name="large", track="accuracy", visibility="practice", source="none", precision="float32"),
        **dict(classes=("0", "1"), image_size=(8, 8), subjects=("cnn",), seed=0, settings={}, files={}),
        "sizes": {"train": {"train_0001": 500}, "val": {}, "test": dict.fromkeys(SETS, 500)},
        **rules,
    }
    draft = Competition(root=root, **fields)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    rows = []
    for subject, (number, name) in itertools.product(draft.subjects, enumerate(SETS)):
        where = {"subject": subject, "set": name, "group": "seen" if number % 2 else "new"}
        truth = round(float(rng.uniform(0.3, 0.95)), 3)
        usage = "Public" if name in PUBLIC else "Private"
        rows.append(SolutionRow(f"{subject}/{name}", truth, usage, **where))
    write_solution(draft.private / "solution.csv", rows)
    records = [
        {"recipe": json.dumps({"name": name}), "family": f"family {number // 4 * 2 + number % 2}"}
        for number, name in enumerate(SETS)
    ]
    (draft.private / "build.json").write_text(json.dumps({"test": records}))
    draft.save()
    return Competition.open(root)


def noisy(competition: Competition, points: float, seed: int, part: str = "both") -> dict[str, float]:
    """Predictions that are off by normal noise on the "Public" or "Private" part, or both, and right elsewhere."""
    rng = np.random.default_rng(seed)
    found = {}
    for row in solution_of(competition):
        error = rng.normal(0, points / 100) if part in ("both", row.usage) else 0.0
        found[row.id] = min(max(row.prediction + error, 0.0), 1.0)
    return found
