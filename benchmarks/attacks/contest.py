"""A competition of made-up accuracies, without images, for the attacks and the timing of the ledger."""

import random
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

from submission import Competition
from submission.files import sha256
from submission.predictions import write_predictions, write_sample
from submission.solution import SolutionRow, write_solution


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


def handed_in(competition: Competition, path: Path, seed: int) -> Path:
    """Write random predictions of this seed to `path`, and return it."""
    draw = random.Random(seed)
    write_predictions(path, {name: draw.randrange(1, 1000) / 1000 for name in competition.ids("test")})
    return path


def now() -> datetime:
    """Returns the present time, in UTC."""
    return datetime.now(timezone.utc)


def unseen(*arguments: object) -> subprocess.Popen[str]:
    """Start a command of the kit in a process of its own."""
    command = [sys.executable, "-m", "unseen", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
