import hashlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from leaderboard.board.history import history, history_table
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from submission import Competition, InvalidSubmission, UnusableInput

Clock = Callable[[], datetime]


@pytest.fixture
def entered(competition: Competition, halves: Path, perfect: Path, clock: Clock) -> Competition:
    """Halves of Team A, perfect predictions of B, and an invalid file of Team A."""
    submit(competition, halves, "Team A", clock)
    submit(competition, perfect, "B", clock)
    halves.write_text("")
    with pytest.raises(InvalidSubmission):
        submit(competition, halves, "team a", clock)
    return competition


def test_scores_by_part_classifier_and_group_worked_out_by_hand(entered: Competition) -> None:
    """Errors of halves in points: cnn 40 20 0 20, vit:b 30 30 10 40; test_0001 and 3 public, 1 and 2 seen."""
    first, second, third = history(entered)
    assert dict(first.rmse) == pytest.approx(
        {
            "overall": (5900 / 8) ** 0.5,
            "public": (2600 / 4) ** 0.5,
            "private": (3300 / 4) ** 0.5,
            "[cnn]": (2400 / 4) ** 0.5,
            "[vit:b]": (3500 / 4) ** 0.5,
            "(seen)": (3800 / 4) ** 0.5,
            "(unseen)": (2100 / 4) ** 0.5,
        }
    )
    assert (first.rmse["public"], first.rmse["private"]) == (first.entry.public, first.entry.private)
    assert set(second.rmse.values()) == {0}
    assert third.rmse == {}


def test_a_teams_own(entered: Competition) -> None:
    assert [line.entry.number for line in history(entered, "TEAM A")] == [1, 3]
    with pytest.raises(UnusableInput, match="nothing was submitted by team 'C'"):
        history(entered, "C")


def test_the_table(entered: Competition) -> None:
    files = [line.entry.digest[:12] for line in history(entered)]
    assert files[2] == hashlib.sha256(b"").hexdigest()[:12]
    assert history_table(history(entered), 2).splitlines() == [
        "number   time (UTC)           file          team    overall  public  private   [cnn]  [vit:b]  (seen)  (unseen)",
        f"     1*  2026-01-01 01:00:00  {files[0]}  Team A    27.16   25.50    28.72   24.49    29.58   30.82     22.91",
        f"     2*  2026-01-01 02:00:00  {files[1]}  B          0.00    0.00     0.00    0.00     0.00    0.00      0.00",
        f"     3   2026-01-01 03:00:00  {files[2]}  team a  invalid",
        "RMSE in percentage points, lower is better; [classifier], (group); * counts at the end. file: how its SHA-256 begins.",
    ]


def test_a_file_that_cannot_be_read_is_named_among_the_others(entered: Competition) -> None:
    ledger = Ledger(entered.private / "ledger.sqlite")
    path = ledger.file(ledger.entries()[0])
    path.write_text("damaged")
    told = f"{path} is missing, or is not the file of submission 1: restore it from a backup"
    first, second, _ = history(entered)
    assert (first.rmse, first.problem) == ({}, told)
    assert set(second.rmse.values()) == {0}
    line = history_table(history(entered), 2).splitlines()[1]
    assert line == f"     1*  2026-01-01 01:00:00  {first.entry.digest[:12]}  Team A  {told}"


def test_nobody_has_submitted_yet(competition: Competition) -> None:
    with pytest.raises(UnusableInput, match="nothing was submitted"):
        history(competition)
