import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from submission import (
    Competition,
    InvalidSubmission,
    UnusableInput,
    score_submission,
    score_validation,
    validate,
    validation_report,
    write_predictions,
)
from submission.datacv import write_answer
from submission.files import sha256
from submission.scoring import constant_predictions
from submission.solution import solution_of


@pytest.fixture
def halves(competition: Competition, tmp_path: Path) -> Path:
    """A submission that predicts 0.5 for every set."""
    path = tmp_path / "halves.csv"
    write_predictions(path, dict.fromkeys(competition.ids("test"), 0.5))
    return path


def test_the_score_of_halves_worked_out_by_hand(competition: Competition, halves: Path) -> None:
    """Errors in points, public 40 0 30 10, private 20 20 30 40."""
    found = score_submission(competition, halves)
    assert found.public.rmse == pytest.approx(math.sqrt((1600 + 0 + 900 + 100) / 4))
    assert found.public.mae == pytest.approx(20)
    assert found.private.rmse == pytest.approx(math.sqrt((400 + 400 + 900 + 1600) / 4))
    assert found.overall.rmse == pytest.approx(math.sqrt((2600 + 3300) / 8))
    assert (found.public.n, found.private.n, found.overall.n) == (4, 4, 8)
    assert math.isnan(found.overall.spearman)


def test_the_solution_itself_scores_nothing(competition: Competition, tmp_path: Path) -> None:
    write_predictions(tmp_path / "a.csv", {row.id: row.prediction for row in solution_of(competition)})
    found = score_submission(competition, tmp_path / "a.csv")
    assert (found.public.rmse, found.private.rmse, found.overall.rmse) == (0, 0, 0)
    assert found.overall.spearman == pytest.approx(1)


def test_a_participant_can_validate_and_score_the_validation_sets(
    competition: Competition, tmp_path: Path
) -> None:
    shutil.rmtree(competition.private)
    path = tmp_path / "val.csv"
    write_predictions(path, dict.fromkeys(competition.ids("val"), 0.3))
    found = score_validation(competition, path)
    assert found.rmse == pytest.approx(math.sqrt((400 + 100 + 0 + 400) / 4))
    assert found.n == 4
    assert validate(competition, competition.public / "sample_submission.csv")["cnn/test_0001"] == 0.5
    with pytest.raises(UnusableInput, match="only the organizer"):
        score_submission(competition, competition.public / "sample_submission.csv")


def test_a_file_for_other_sets_is_invalid(competition: Competition, halves: Path) -> None:
    with pytest.raises(InvalidSubmission, match="these are predictions for the test sets"):
        score_validation(competition, halves)
    assert list(validate(competition, halves)) == list(competition.ids("test"))


def test_an_invalid_file_never_opens_the_solution(competition: Competition, halves: Path) -> None:
    """A changed solution would be told if it were opened."""
    (competition.private / "solution.csv").write_text("changed")
    with pytest.raises(UnusableInput, match=r"solution\.csv is not the file that the build sealed"):
        score_submission(competition, halves)
    halves.write_text(halves.read_text().replace("0.5", "50", 1))
    with pytest.raises(InvalidSubmission, match="outside"):
        score_submission(competition, halves)


def test_a_competition_without_validation_sets_says_so(fields: dict, tmp_path: Path) -> None:
    sizes = {**fields["sizes"], "val": {}}
    with pytest.raises(UnusableInput, match="has no validation sets"):
        score_validation(Competition(**{**fields, "sizes": sizes}), tmp_path / "a.csv")


@pytest.fixture
def taught(competition: Competition) -> Competition:
    """A participant's copy with the accuracies of the meta-train sets: cnn 0.5 and 0.7, vit:b 0.1 and 0.2."""
    shutil.rmtree(competition.private)
    path = competition.public / "train" / "targets.csv"
    targets = dict(zip(competition.ids("train"), (0.5, 0.7, 0.1, 0.2), strict=True))
    write_predictions(path, targets, column="target")
    return replace(competition, files={**competition.files, "train/targets.csv": sha256(path)})


def test_the_constant_is_each_subjects_own_meta_train_mean(taught: Competition) -> None:
    for part in ("train", "val", "test"):
        found = constant_predictions(taught, part)
        assert list(found) == list(taught.ids(part))
        for name, value in found.items():
            assert value == pytest.approx(0.6 if taught.subject_of(name) == "cnn" else 0.15)


def test_the_constant_needs_the_meta_train_accuracies(taught: Competition) -> None:
    (taught.public / "train" / "targets.csv").write_text("id,target\n")
    with pytest.raises(UnusableInput, match=r"train/targets\.csv was changed or is damaged"):
        constant_predictions(taught, "val")


def report(competition: Competition, path: Path, *values: float) -> list[str]:
    write_predictions(path, dict(zip(competition.ids("val"), values, strict=True)))
    return validation_report(competition, path).splitlines()


def test_the_report_worked_out_by_hand(taught: Competition, tmp_path: Path) -> None:
    """Accuracies 0.1 0.2 (cnn), 0.3 0.5 (vit:b); sets of 100 and 200 images. The constant: 0.6 and 0.15."""
    constant = math.sqrt((50**2 + 40**2 + 15**2 + 35**2) / 4)
    floor = 100 * math.sqrt(np.mean([0.09 / 100, 0.16 / 200, 0.21 / 100, 0.25 / 200]))
    rmse = math.sqrt((10**2 + 0 + 0 + 20**2) / 4)
    assert report(taught, tmp_path / "a.csv", 0.2, 0.2, 0.3, 0.7) == [
        f"RMSE         {rmse:.2f} points over 4 predictions",
        f"skill        {1 - (rmse / constant) ** 2:.3f} (constant: RMSE {constant:.2f})",
        "MAE          7.50 points",
        "Spearman     nan",
        f"noise floor  {floor:.2f} points: the sampling noise of the true values",
    ]


def test_the_report_of_perfect_and_of_constant_predictions(taught: Competition, tmp_path: Path) -> None:
    perfect = report(taught, tmp_path / "a.csv", 0.1, 0.2, 0.3, 0.5)
    assert perfect[0] == "RMSE         0.00 points over 4 predictions"
    assert perfect[1].startswith("skill        1.000 (constant")
    assert perfect[3] == "Spearman     nan"  # of two sets of a subject ranks say nothing
    constant = report(taught, tmp_path / "a.csv", 0.6, 0.6, 0.15, 0.15)
    assert constant[1].startswith("skill        0.000 (constant")


def test_the_report_refuses_what_the_score_refuses(taught: Competition, tmp_path: Path) -> None:
    write_predictions(tmp_path / "a.csv", dict.fromkeys(taught.ids("test"), 0.5))
    with pytest.raises(InvalidSubmission, match="these are predictions for the test sets"):
        validation_report(taught, tmp_path / "a.csv")
    with pytest.raises(UnusableInput, match=r"b\.csv"):
        validation_report(taught, tmp_path / "b.csv")
    write_predictions(tmp_path / "a.csv", dict.fromkeys(taught.ids("val"), 0.5))
    with pytest.raises(UnusableInput, match="has no validation sets"):
        validation_report(replace(taught, sizes={**taught.sizes, "val": {}}), tmp_path / "a.csv")


@pytest.mark.parametrize("name", ["answer.txt", "team.ZIP"])
def test_datacvs_answers_are_taken_too(competition, tmp_path, name):
    values = dict(zip(competition.ids("test"), np.linspace(0, 1, 8).round(6).tolist(), strict=True))
    write_answer(tmp_path / name.lower(), values)
    (tmp_path / name.lower()).rename(tmp_path / name)
    assert validate(competition, tmp_path / name) == values
    write_predictions(tmp_path / "same.csv", values)
    expected = score_submission(competition, tmp_path / "same.csv")
    assert str(score_submission(competition, tmp_path / name)) == str(expected)
