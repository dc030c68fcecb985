"""Pairs of teams that are alike: copies are named, teams with what the organizer predicted are not."""

import numpy as np
import pytest
from large import large_competition
from predicted import as_predicted
from rules import with_rules

from leaderboard.pooling import audit, own_parts
from leaderboard.publish import publish
from leaderboard.solutions import rescore
from leaderboard.submissions import submit
from submission import InvalidSubmission
from submission.predictions import write_predictions
from submission.solution import solution_of

RNG = np.random.default_rng(5)
ERRORS = {name: RNG.normal(0, 0.05, 60) for name in ("atc", "doc", "own", "other", "noise")}
"""Errors of methods, five points each, of which the organizer has predicted two."""


@pytest.fixture
def contest(tmp_path):
    competition = large_competition(tmp_path / "contest", visibility="hidden")
    for name in ("atc", "doc"):
        write(competition, competition.root / f"submissions/{name}.csv", made(competition, name))
    as_predicted(competition)
    return competition


@pytest.fixture
def hand_in(contest, tmp_path, clock):
    def hand(team, *files):
        for number, values in enumerate(files):
            write(contest, tmp_path / "file.csv", values)
            submit(contest, tmp_path / "file.csv", team, clock, new_team=not number)

    return hand


def made(contest, name):
    """Predictions with the errors of this name."""
    return np.array([row.prediction for row in solution_of(contest)]) + ERRORS[name]


def write(contest, path, values):
    write_predictions(path, dict(zip(contest.ids("test"), np.clip(values, 0, 1), strict=True)))


def test_a_copy_is_named_though_it_is_blended_scaled_and_noisy(contest, hand_in, clock):
    """Also where there is an invalid file, and a set that no longer counts."""
    own = made(contest, "own")
    hand_in("Ada", made(contest, "other"), own)
    hand_in("Bob", 0.05 + 0.9 * (0.6 * own + 0.4 * made(contest, "doc")) + 0.2 * ERRORS["noise"])
    hand_in("Eve", made(contest, "noise"))
    with pytest.raises(InvalidSubmission):
        submit(contest, contest.root / "runs.csv", "Eve", clock)
    rescore(contest, {}, {"test_0030"}, "blurred", clock)
    (remark,) = audit(contest)
    assert remark.startswith("teams 'Ada' and 'Bob' ")
    assert "2 methods" in remark
    assert not any("alike" in text for text in publish(contest).warnings)
    assert audit(with_rules(contest, visibility="practice")) == []


@pytest.mark.parametrize("digits", [2, 3, 6])
@pytest.mark.parametrize("share", [1, 0.3])
def test_teams_with_the_same_known_method_or_blend_are_not_named(contest, hand_in, digits, share):
    blend = share * made(contest, "atc") + (1 - share) * made(contest, "doc")
    hand_in("Ada", blend.round(digits))
    hand_in("Bob", blend.round(digits))
    assert audit(contest) == []


def test_teams_that_are_right_for_different_reasons_are_not_named(contest, hand_in):
    ada, bob = (made(contest, name) - 0.8 * ERRORS[name] for name in ("own", "other"))
    hand_in("Ada", ada, ada.round(2))
    hand_in("Bob", bob)
    assert audit(contest) == []


def test_without_known_methods_nobody_is_named(contest, hand_in):
    (contest.root / "runs.csv").unlink()
    for team in ("Ada", "Bob"):
        hand_in(team, made(contest, "own"))
    assert audit(contest) == []


def test_what_is_left_is_independent_of_what_is_known_and_of_a_constant():
    known, files = RNG.uniform(0, 100, (3, 60)), RNG.uniform(0, 100, (4, 60))
    left = own_parts(files, known)
    assert left @ known.T == pytest.approx(0, abs=1e-9)
    assert left.sum(axis=1) == pytest.approx(0, abs=1e-9)
    assert np.linalg.norm(left, axis=1) == pytest.approx(1)
    assert np.linalg.norm(own_parts(known + files[:3] / 1000, known), axis=1).max() < 0.1
    many = RNG.uniform(0, 100, (80, 60))  # more than sets: some freedom is kept
    assert np.linalg.norm(own_parts(files, many), axis=1) == pytest.approx(1)
