from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest
from rules import with_rules

from leaderboard.board.history import history
from leaderboard.entry.select import select
from leaderboard.entry.submit import submit
from leaderboard.ledger.ledger import Ledger
from submission import Competition, InvalidSubmission, UnusableInput

Clock = Callable[[], datetime]


@pytest.fixture
def entered(competition: Competition, halves: Path, perfect: Path, clock: Clock) -> Competition:
    """Team A has submissions 1, 3, 4 and an invalid one, 5; Team B has 2."""
    for path, team in ((halves, "A"), (perfect, "B"), (perfect, "A"), (halves, "a")):
        submit(competition, path, team, clock)
    halves.write_text("")
    with pytest.raises(InvalidSubmission):
        submit(competition, halves, "A", clock)
    return competition


def finals(competition: Competition, team: str) -> list[int]:
    return [line.entry.number for line in history(competition, team) if line.entry.final]


def test_a_choice_replaces_the_one_before(entered: Competition, clock: Clock) -> None:
    assert finals(entered, "A") == [1, 3]
    for numbers, expected in ([4], [4]), ([4, 1], [1, 4]), ([], [1, 3]):
        select(entered, "A", numbers, clock)
        assert finals(entered, "a") == expected
    assert finals(entered, "B") == [2]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ([2], "submission 2 is not a valid one of team 'A'; its valid ones are 1, 3, 4"),
        ([1, 5], "submission 5 is not a valid one of team 'A'; its valid ones are 1, 3, 4"),
        ([0], "submission 0 is not a valid one"),
        ([1, 3, 4], "choose up to 2 different submissions, got 1, 3, 4: that is too many"),
        ([1, 1], "choose up to 2 different submissions, got 1, 1: one is given twice"),
    ],
)
def test_only_a_teams_own_valid_submissions_can_be_chosen(
    entered: Competition, clock: Clock, numbers: list[int], message: str
) -> None:
    head = Ledger(entered.private / "ledger.sqlite").head()
    with pytest.raises(UnusableInput, match=message):
        select(entered, "A", numbers, clock)
    assert Ledger(entered.private / "ledger.sqlite").head() == head


def test_the_choice_is_frozen_at_the_deadline(entered: Competition, clock: Clock) -> None:
    limited = with_rules(entered, deadline=datetime(2026, 1, 1, 7, tzinfo=timezone.utc))
    select(limited, "A", [4], clock)
    with pytest.raises(UnusableInput, match="the deadline of Two classifiers was 2026-01-01 07:00:00 UTC"):
        select(limited, "A", [1], clock)
    assert finals(limited, "A") == [4]


@pytest.mark.parametrize("numbers", [[1], []])
def test_a_team_without_submissions_is_told(entered: Competition, clock: Clock, numbers: list[int]) -> None:
    with pytest.raises(
        UnusableInput, match="team 'C' has not submitted anything: the teams with submissions are A, B"
    ):
        select(entered, "C", numbers, clock)
