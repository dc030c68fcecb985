"""Competitions for the attacks and the timing of the ledger: one of made-up accuracies, and a real one."""

import random
import subprocess
import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

import numpy as np

from leaderboard.methods import read_methods
from submission import Competition
from submission.arrays import FloatArray
from submission.files import sha256
from submission.predictions import RUNS, write_predictions, write_sample
from submission.solution import SolutionRow, solution_of, write_solution


def make(root: Path, sets: int = 100, images: int = 500, **rules: object) -> Competition:
    """Returns a competition of two classifiers in the folder `root`, with these rules."""
    draw = random.Random(0)
    names = [f"test_{number:04d}" for number in range(1, sets + 1)]
    fields = {"name": "made up", "visibility": "practice", "source": "none", **rules}
    draft = Competition(
        root=root,
        track="accuracy",
        classes=("0", "1"),
        image_size=(8, 8),
        subjects=("one", "two"),
        sizes={"train": {"train_0001": 500}, "val": {}, "test": dict.fromkeys(names, images)},
        precision="float32",
        seed=0,
        settings={},
        files={},
        **fields,  # type: ignore[arg-type]
    )
    rows = []
    for index, name in enumerate(draft.ids("test")):
        subject, place = name.split("/")
        usage = "Public" if index % sets < 0.3 * sets else "Private"
        rows.append(SolutionRow(name, draw.randrange(images + 1) / images, usage, subject, place, "seen"))
    write_solution(draft.private / "solution.csv", rows)
    write_sample(draft.public / "sample_submission.csv", draft.ids("test"))
    draft.files["sample_submission.csv"] = sha256(draft.public / "sample_submission.csv")
    draft.save()
    return Competition.open(root)


now = partial(datetime.now, timezone.utc)
BUILD = (
    *("--referee", "embedded", "--train-sets", 60, "--val-sets", 24, "--test-sets", 200, "--set-size", 200),
    *("--ops-per-set", 1, 3, "--test-seed", 1),
)


def real(root: Path) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Returns true accuracies in points (200,), and the predictions of some 35 of the kit's methods by name.

    The competition in the folder `root`, of embedded digits and one classifier, is made if it is not there.
    """
    if not (root / RUNS).exists():
        for command in (("build", root, *BUILD), ("predict", root, "--all")):
            text, _ = (process := unseen(*command)).communicate()
            if process.returncode:
                raise SystemExit(text)
    competition = Competition.open(root)
    ids = competition.ids("test")
    by_id = {row.id: row.prediction for row in solution_of(competition)}
    shown = read_methods(competition).predictions
    methods = {name: np.array([100 * values[each] for each in ids]) for name, values in shown.items()}
    return np.array([100 * by_id[each] for each in ids]), methods


def parser(about: str) -> ArgumentParser:
    """Returns a parser of options that shows a script's first lines."""
    return ArgumentParser(description=about, formatter_class=RawTextHelpFormatter)


def handed_in(competition: Competition, path: Path, seed: int) -> Path:
    """Write random predictions of this seed to `path`, and return it."""
    draw = random.Random(seed)
    write_predictions(path, {name: draw.randrange(1, 1000) / 1000 for name in competition.ids("test")})
    return path


def unseen(*arguments: object) -> subprocess.Popen[str]:
    """Start a command of the kit in a process of its own."""
    command = [sys.executable, "-m", "unseen", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
