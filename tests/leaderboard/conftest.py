"""A small competition: two subjects, two validation and four test sets."""

from pathlib import Path

import pytest

from submission import Competition, SolutionRow, write_predictions, write_sample, write_solution
from submission.files import sha256

TARGETS = {
    "cnn/test_0001": 0.9,
    "cnn/test_0002": 0.7,
    "cnn/test_0003": 0.5,
    "cnn/test_0004": 0.3,
    "vit:b/test_0001": 0.8,
    "vit:b/test_0002": 0.8,
    "vit:b/test_0003": 0.6,
    "vit:b/test_0004": 0.1,
}


@pytest.fixture
def fields(tmp_path: Path) -> dict[str, object]:
    """The fields of a competition that nothing was written of."""
    return {
        "root": tmp_path / "comp",
        "name": "Two classifiers",
        "track": "accuracy",
        "visibility": "practice",
        "source": "glyphs",
        "classes": ("0", "1", "2"),
        "image_size": (32, 24),
        "subjects": ("cnn", "vit:b"),
        "sizes": {
            "train": {"train_2": 500, "train_1": 500},
            "val": {"val_b": 100, "val_a": 200},
            "test": {"test_0001": 100, "test_0002": 100, "test_0003": 400, "test_0004": 400},
        },
        "precision": "float32",
        "seed": 0,
        "settings": {"train_sets": 2, "classifiers": ["cnn", "vit:b"], "test_from": None},
        "files": {},
    }


@pytest.fixture
def competition(fields: dict[str, object]) -> Competition:
    """The organizer's copy, on disk."""
    draft = Competition(**fields)  # type: ignore[arg-type]
    targets = dict(zip(draft.ids("val"), (0.1, 0.2, 0.3, 0.5), strict=True))
    write_predictions(draft.public / "val" / "targets.csv", targets, column="target")
    write_sample(draft.public / "sample_submission.csv", draft.ids("test"))
    rows = [
        SolutionRow(
            id=name,
            prediction=target,
            usage="Public" if draft.set_of(name) in ("test_0001", "test_0003") else "Private",
            subject=draft.subject_of(name),
            set=draft.set_of(name),
            group="unseen" if draft.set_of(name) in ("test_0003", "test_0004") else "seen",
        )
        for name, target in TARGETS.items()
    ]
    write_solution(draft.private / "solution.csv", rows)
    files = {name: sha256(draft.public / name) for name in ("val/targets.csv", "sample_submission.csv")}
    Competition(**{**fields, "files": files}).save()  # type: ignore[arg-type]
    return Competition.open(draft.root)
