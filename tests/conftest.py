"""A competition of made-up numbers, without images; the built ones are in the plugin `built`. Nothing here loads torch."""

import itertools
from pathlib import Path

import hypothesis
import pytest
from rules import with_fields

from submission import Competition
from submission.files import sha256
from submission.ids import split_id
from submission.predictions import write_predictions, write_sample
from submission.scoretable import NOISE
from submission.solution import SolutionRow, write_solution

# What is compiled on first use takes longer than hypothesis' deadline; a busy machine does too.
hypothesis.settings.register_profile("unseen", deadline=None, max_examples=30)
hypothesis.settings.load_profile("unseen")

IDS = [f"{subject}/test_000{number}" for subject in ("cnn", "vit:b") for number in (1, 2, 3, 4)]
TARGETS = dict(zip(IDS, (0.9, 0.7, 0.5, 0.3, 0.8, 0.8, 0.6, 0.1), strict=True))


@pytest.fixture
def fields(tmp_path: Path) -> dict[str, object]:
    """The fields of a competition that nothing was written of."""
    return {
        **dict(root=tmp_path / "comp", name="Two classifiers", track="accuracy", visibility="practice"),
        **dict(source="glyphs", classes=("0", "1", "2"), image_size=(32, 24), subjects=("cnn", "vit:b")),
        **dict(precision="float32", seed=0, files={}, decimals=2),
        "sizes": {
            "train": {"train_2": 500, "train_1": 500},
            "val": {"val_b": 100, "val_a": 200},
            "test": {"test_0001": 100, "test_0002": 100, "test_0003": 400, "test_0004": 400},
        },
        "settings": {"train_sets": 2, "classifiers": ["cnn", "vit:b"], "test_from": None},
    }


@pytest.fixture
def competition(fields: dict[str, object]) -> Competition:
    """The organizer's copy, on disk."""
    return _written(Competition(**fields), TARGETS)  # type: ignore[arg-type]


@pytest.fixture
def taught(competition: Competition) -> Competition:
    """With the accuracies of the meta-train sets: cnn 0.5 and 0.7, vit:b 0.1 and 0.2."""
    path = competition.public / "train" / "targets.csv"
    targets = dict(zip(competition.ids("train"), (0.5, 0.7, 0.1, 0.2), strict=True))
    write_predictions(path, targets, column="target")
    competition.files["train/targets.csv"] = sha256(path)
    return competition


@pytest.fixture
def host(competition: Competition, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scoring host's working folder, with the competition in `comp`."""
    monkeypatch.chdir(competition.root.parent)
    return competition.root.parent


OOD_SUBJECTS = ("vit:b:msp:auroc", "vit:b:msp:fpr95", "cnn:energy:auroc", "cnn:energy:fpr95")


@pytest.fixture
def ood_competition(fields: dict[str, object]) -> Competition:
    """One of the OOD track, on disk: a deviation of 0.02 behind every number."""
    draft = Competition(**{**fields, "track": "ood", "subjects": OOD_SUBJECTS})  # type: ignore[arg-type]
    names = draft.ids("test")
    for part, file in NOISE.items():
        path = draft.root / ("public" if part == "val" else ".") / file
        write_predictions(path, dict.fromkeys(draft.ids(part), 0.02), column="deviation")
    return _written(draft, {name: (1 + i) / (1 + len(names)) for i, name in enumerate(names)})


def _written(draft: Competition, solution: dict[str, float]) -> Competition:
    """The files of a competition with these hidden targets; two of the four test sets are public."""
    targets = dict(zip(draft.ids("val"), itertools.cycle((0.1, 0.2, 0.3, 0.5)), strict=False))
    write_predictions(draft.public / "val" / "targets.csv", targets, column="target")
    write_sample(draft.public / "sample_submission.csv", draft.ids("test"))
    rows = []
    for name, target in solution.items():
        subject, place = split_id(name)
        usage = "Public" if place in ("test_0001", "test_0003") else "Private"
        group = "new" if place in ("test_0003", "test_0004") else "seen"
        rows.append(SolutionRow(name, target, usage, subject=subject, set=place, group=group))
    write_solution(draft.private / "solution.csv", rows)
    names = ("val/targets.csv", "sample_submission.csv", "val/noise.csv")
    files = {name: sha256(draft.public / name) for name in names if (draft.public / name).is_file()}
    with_fields(draft, files=files).save()
    return Competition.open(draft.root)
