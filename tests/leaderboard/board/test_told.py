import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from large import large_competition, noisy
from predicted import as_predicted
from rules import with_rules

from leaderboard.board.publish import publish
from leaderboard.board.shown import shown
from leaderboard.board.told import hidden_rows, on_board
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from submission import Competition, write_predictions
from submission.scoring import read_targets
from submission.told import KEPT

Clock = Callable[[], datetime]


@pytest.fixture
def large(tmp_path: Path) -> Competition:
    """24 public rows, and six methods of the kit."""
    competition = large_competition(tmp_path / "large")
    for seed in range(6):
        write_predictions(
            competition.root / f"submissions/method{seed}.csv", noisy(competition, 4 + seed, seed)
        )
    as_predicted(competition)
    return competition


def ledger_of(competition: Competition) -> Ledger:
    return Ledger(competition.private / "ledger.sqlite")


def test_the_board_shows_three_baselines_at_most_by_one_decimal(large: Competition) -> None:
    published = publish(large)
    assert {(line.name, line.rank) for line in published.standings} == {
        ("method0", None),
        ("method1", None),
        ("method2", None),
    }
    rows = [row.split(",") for row in published.csv.read_text().splitlines()]
    assert rows[0] == ["Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount", "Kind"]
    assert all(len(row[4].partition(".")[2]) == 1 for row in rows[1:])
    text = published.html.read_text()
    assert "Spearman" not in text
    assert "noise floor" not in text.casefold()


def test_what_was_shown_stays_whatever_becomes_of_the_files(large: Competition) -> None:
    before = publish(large).csv.read_text()
    for name in ("method0", "method1"):
        (large.root / f"submissions/{name}.csv").unlink()
    write_predictions(large.root / "submissions/method2.csv", noisy(large, 1, 99))
    write_predictions(large.root / "submissions/another.csv", noisy(large, 1, 98))
    as_predicted(large)
    assert publish(large).csv.read_text() == before


def test_a_choice_that_was_killed_half_written_is_made_anew(large: Competition) -> None:
    before = publish(large).csv.read_text()
    best, *others = sorted((large.private / "shown").iterdir())
    best.unlink()
    others[0].rename(others[0].with_name("2-gone.csv"))
    assert publish(large).csv.read_text() == before
    assert sorted((large.private / "shown").iterdir()) == [best, *others]


def test_a_method_without_error_on_the_validation_sets_leaves_a_step(
    competition: Competition, halves: Path, clock: Clock
) -> None:
    ladder = with_rules(competition, feedback="ladder")
    for part, folder in (("val", "validation"), ("test", "submissions")):
        truth = read_targets(ladder, "val") if part == "val" else dict.fromkeys(ladder.ids("test"), 0.4)
        write_predictions(ladder.root / folder / "right.csv", truth)
    as_predicted(ladder)
    assert submit(ladder, halves, "Team", clock).number == 1


def test_the_kits_own_numbers_leave_nine_tenths_of_the_error(large: Competition) -> None:
    known = shown(large)
    hidden = hidden_rows(large, ledger_of(large), known)
    baselines, knowledge = on_board(large, hidden, known)
    assert len(baselines) == 3
    assert hidden.left(knowledge) >= KEPT * hidden.error


def test_no_baseline_is_shown_where_few_rows_are_public(large: Competition, competition: Competition) -> None:
    """With 4 public rows none is."""
    shutil.copytree(large.root / "submissions", competition.root / "submissions")
    for path in (competition.root / "submissions").iterdir():
        write_predictions(path, dict.fromkeys(competition.ids("test"), 0.4))
    as_predicted(competition)
    assert publish(competition).standings == ()


def test_all_methods_by_two_decimals_would_tell_most(large: Competition) -> None:
    """The board as it was: every method's RMSE to 2 decimals."""
    known = shown(large)
    hidden = hidden_rows(large, ledger_of(large), known)
    ids = large.ids("test")
    many = [noisy(large, 6, seed) for seed in range(24)]
    told = hidden.of_baselines(many, ids)
    assert hidden.left(told) < 0.3 * hidden.error


def test_a_corrected_label_counts_as_another_row_and_its_scores_as_told_anew(
    large: Competition, clock: Clock, tmp_path: Path
) -> None:
    write_predictions(tmp_path / "file.csv", noisy(large, 5, 50))
    submit(large, tmp_path / "file.csv", "Team", clock)
    known = shown(large)
    before = on_board(large, hidden_rows(large, ledger_of(large), known), known)[1]
    rescore(large, {"cnn/test_0001": 0.5}, set(), "mislabelled", clock)
    hidden = hidden_rows(large, ledger_of(large), known)
    after = on_board(large, hidden, known)[1]
    assert [version.last for version in hidden.versions] == [1, 1]
    assert len(hidden.columns) == 25
    assert hidden.newest.rows.sum() == 24
    assert (before.told, after.told) == (3, 6)
    assert hidden.left(after) >= KEPT * hidden.error


def test_a_voided_set_leaves_the_rows_that_count(large: Competition, clock: Clock, tmp_path: Path) -> None:
    write_predictions(tmp_path / "file.csv", noisy(large, 5, 50))
    submit(large, tmp_path / "file.csv", "Team", clock)
    rescore(large, {}, {"test_0001"}, "no image", clock)
    hidden = hidden_rows(large, ledger_of(large), shown(large))
    assert (len(hidden.columns), int(hidden.newest.rows.sum())) == (24, 23)
    assert np.flatnonzero(~hidden.newest.rows).tolist() == [0]
