"""The rules of what is shown before the end, by the two kinds of competition."""

import pytest
from large import large_competition, noisy
from rules import with_fields, with_rules

from leaderboard.audit import audit
from leaderboard.feedback import error_left, price, sets_of
from leaderboard.publish import publish
from leaderboard.submissions import submit
from submission import Competition
from submission.predictions import write_predictions


@pytest.fixture(params=["practice", "hidden"])
def kind(request):
    return request.param


@pytest.fixture
def contest(tmp_path, kind):
    """One of twenty-four public rows."""
    return large_competition(tmp_path / "large", visibility=kind, total_limit=3)


def test_a_team_gets_its_rounded_public_score(contest, tmp_path, clock):
    write_predictions(tmp_path / "file.csv", noisy(contest, 7, 1))
    given = submit(with_rules(contest, decimals=1), tmp_path / "file.csv", "Ada", clock, new_team=True)
    assert given.score == round(given.score or 0, 1)
    assert given.left == 2


def test_few_public_rows_give_no_scores_before_the_end_of_a_hidden_competition(
    competition, halves, clock, kind
):
    contest = with_rules(competition, visibility=kind)
    given = submit(contest, halves, "Ada", clock, new_team=True)
    published = publish(contest)
    assert given.score == (25.5 if kind == "practice" else None)
    assert ("25.5" in given.answer) == ("25.5" in published.csv.read_text()) == (kind == "practice")
    assert published.standings[0].rank == (1 if kind == "practice" else None)
    assert any("none is given before the end" in text for text in published.warnings) == (kind == "hidden")
    assert (kind == "hidden") == (
        "There are no scores before the end." in Competition.open(contest.root).rules()
    )
    ended = publish(contest, clock())
    assert ended.final[0].score.rmse > 0
    assert [text for text in ended.warnings if "before the end" in text] == []


def test_a_set_counts_once_however_many_subjects_it_has(contest):
    several = with_fields(contest, subjects=(*contest.subjects, "other"))
    assert [sets_of(each, 24) for each in (contest, several)] == [24, 12]


def test_what_scores_leave_and_how_many_teams_could_pool_is_told_of_hidden_labels(contest, kind):
    lines = price(contest).splitlines()
    assert bool(lines) == (kind == "hidden")
    if lines:
        rows = {
            int(count): (float(known), float(unknown))
            for count, known, unknown in map(str.split, lines[3:-1])
        }
        assert rows[3] == (0.88, 0.93)  # a team's limit is an eighth of the 24 sets
        assert rows[24] == (0.16, 0.77)
        assert "8 could compute" in lines[-1]


@pytest.mark.parametrize("known", [True, False])
def test_the_more_scores_the_less_error_is_left(known):
    left = [error_left(count, 30, known) for count in range(62)]
    assert left == sorted(left, reverse=True)
    assert left[0] == 1
    assert all(error_left(count, 30, True) < error_left(count, 30, False) for count in range(1, 62))


def test_the_audit_says_when_all_teams_have_as_many_scores_as_there_are_public_sets(tmp_path, clock, kind):
    """However many classifiers a set has, and without a word against teams that none is like."""
    contest = large_competition(tmp_path / "two", visibility=kind, total_limit=3, subjects=("cnn", "vit"))
    for number in range(24):
        assert audit(contest) == []
        write_predictions(tmp_path / "file.csv", noisy(contest, 7, number))
        submit(contest, tmp_path / "file.csv", f"team {number}", clock, new_team=True)
    assert [text for text in audit(contest) if "24 scores of 24 public sets" in text] == audit(contest)
    assert len(audit(contest)) == (kind == "hidden")
