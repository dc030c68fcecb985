"""Submissions of known error, and what every host of an exported scorer does with them."""

import json
import subprocess
import sys

import pytest

from submission.predictions import write_predictions
from submission.solution import solution_of


@pytest.fixture
def scored(tmp_path):
    """Score files as a platform does, by a program and labels, in a Python of nothing but its own library."""

    def run(program, labels, files):
        folder = tmp_path / f"app{len([*tmp_path.glob('app*')])}"
        for name, data in files.items():
            (folder / "input/res" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "input/res" / name).write_bytes(data)
        (folder / "output").mkdir()
        (folder / "input/ref").symlink_to(labels)
        done = subprocess.run(
            [sys.executable, "-S", "-I", "score.py", folder / "input", folder / "output"],
            cwd=program,
            capture_output=True,
            text=True,
            check=False,
        )
        scores = folder / "output/scores.json"
        assert {path.name for path in (folder / "output").iterdir()} <= {"scores.json"}
        found = json.loads(scores.read_text()) if scores.exists() else None
        return done.returncode, done.stdout + done.stderr, found

    return run


@pytest.fixture
def ranked(competition, tmp_path):
    """An oracle's file, a baseline's and the constant's: errors of about 1 and 5 points, and 0.5 everywhere."""
    truth = {row.id: row.prediction for row in solution_of(competition)}
    signs = [1 if i % 3 else -1 for i in range(len(truth))]
    values = {
        "oracle": {name: t + 0.01 * s for (name, t), s in zip(truth.items(), signs, strict=True)},
        "baseline": {name: t + 0.0531 * s for (name, t), s in zip(truth.items(), signs, strict=True)},
        "constant": dict.fromkeys(truth, 0.5),
    }
    paths = {name: tmp_path / f"{name}.csv" for name in values}
    for name, path in paths.items():
        write_predictions(path, values[name])
    return paths
