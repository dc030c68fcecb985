import math
import shutil
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
    write_predictions,
)
from submission.predictions import write_answer
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
    with pytest.raises(InvalidSubmission, match="none of its ids belongs here"):
        score_validation(competition, halves)
    assert list(validate(competition, halves)) == list(competition.ids("test"))


def test_an_invalid_file_never_opens_the_solution(competition: Competition, halves: Path) -> None:
    """A changed solution would be told if it were opened."""
    (competition.private / "solution.csv").write_text("changed")
    with pytest.raises(UnusableInput, match=r"solution\.csv is not the file that the build recorded"):
        score_submission(competition, halves)
    halves.write_text(halves.read_text().replace("0.5", "50", 1))
    with pytest.raises(InvalidSubmission, match="outside"):
        score_submission(competition, halves)


@pytest.mark.parametrize("name", ["answer.txt", "team.ZIP"])
def test_datacvs_answers_are_taken_too(competition, tmp_path, name):
    values = dict(zip(competition.ids("test"), np.linspace(0, 1, 8).round(6).tolist(), strict=True))
    write_answer(tmp_path / name.lower(), values)
    (tmp_path / name.lower()).rename(tmp_path / name)
    assert validate(competition, tmp_path / name) == values
    write_predictions(tmp_path / "same.csv", values)
    expected = score_submission(competition, tmp_path / "same.csv")
    assert str(score_submission(competition, tmp_path / name)) == str(expected)
