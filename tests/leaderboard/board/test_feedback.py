import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from large import PUBLIC, large_competition, noisy
from rules import with_rules

from leaderboard.board.feedback import Listening, betters, heard, standard_error, together
from leaderboard.board.publish import publish
from leaderboard.board.shown import shown
from leaderboard.board.statistics import Families
from leaderboard.entry.submit import Receipt, submit
from leaderboard.ledger.kept import kept_table
from leaderboard.ledger.ledger import Ledger
from leaderboard.ledger.rescore import rescore
from submission import Competition, write_predictions
from submission.solution import solution_of
from submission.told import KEPT, coarse_step

Clock = Callable[[], datetime]
HandIn = Callable[[dict[str, float], str], Receipt]


def singles(count: int) -> Families:
    return Families.of([str(i) for i in range(count)], ["group"] * count)


def test_with_a_row_a_family_the_standard_error_is_the_papers() -> None:
    differences = np.random.default_rng(0).normal(1, 3, 50)
    expected = np.std(differences, ddof=1) / math.sqrt(50)
    assert standard_error(differences, singles(50)) == pytest.approx(expected)


def test_rows_of_one_family_count_as_one() -> None:
    differences = np.random.default_rng(0).normal(1, 3, 50)
    doubled = Families.of([str(i // 2) for i in range(100)], ["group"] * 100)
    expected = standard_error(differences, singles(50))
    assert standard_error(np.repeat(differences, 2), doubled) == pytest.approx(expected)
    assert standard_error(differences, Families.of(["a"] * 50, ["group"] * 50)) == 0


def test_better_is_what_gains_more_than_the_standard_error_of_the_difference() -> None:
    start = np.full(100, 25.0)
    noisy_ones = start + 10 * np.where(np.arange(100) % 2, 1, -1)  # standard error of the difference: 1.005
    for gain, is_better in ((1.0, False), (1.01, True)):
        assert betters(np.sqrt(noisy_ones - gain), np.sqrt(start), singles(100)) is is_better
    assert not betters(np.sqrt(start), np.sqrt(start), singles(100))
    assert not betters(np.sqrt(start + 1), np.sqrt(start), singles(100))
    assert betters(np.sqrt(start - 0.001), np.sqrt(start), singles(100))


@pytest.mark.parametrize("size", [1, 3])
def test_a_change_within_one_family_is_never_better_however_large_it_is(size: int) -> None:
    families = Families.of([str(i // size) for i in range(60)], ["group"] * 60)
    start = np.random.default_rng(0).uniform(1, 30, 60)
    for family in range(60 // size):
        assert not betters(np.where(np.arange(60) // size == family, 0.0, start), start, families)


@pytest.fixture
def large(tmp_path: Path) -> Competition:
    """24 public rows; nobody knows more than that labels lie between 0 and 100."""
    return large_competition(tmp_path / "large")


@pytest.fixture
def hand_in(large: Competition, tmp_path: Path, clock: Clock) -> HandIn:
    def submitted(predictions: dict[str, float], team: str = "Team") -> Receipt:
        write_predictions(tmp_path / "file.csv", predictions)
        return submit(Competition.open(large.root), tmp_path / "file.csv", team, clock)

    return submitted


def dense(competition: Competition, seed: int) -> dict[str, float]:
    """Every prediction changed by 20 points, up or down at random."""
    signs = np.random.default_rng(seed).choice([-1, 1], len(competition.ids("test")))
    return dict(zip(competition.ids("test"), (0.5 + 0.2 * signs).tolist(), strict=True))


def left(competition: Competition) -> list[float]:
    """What each group of teams leaves of the labels' error, as a share of the prior's."""
    ledger = Ledger(competition.private / "ledger.sqlite")
    listening = Listening.of(competition, ledger, shown(competition))
    entries = ledger.entries()
    predictions, _ = kept_table(competition, ledger, entries)
    known = [listening.told(made, predictions)[1] for made in together(entries)]
    return [listening.hidden.left(each) / listening.hidden.error for each in known]


def test_with_the_ladder_a_team_hears_coarsely_of_what_is_news(large: Competition, hand_in: HandIn) -> None:
    competition = with_rules(large, feedback="ladder")
    base = noisy(competition, 10, 0)
    one = next(name for name in base if name.split("/")[1] in PUBLIC)
    target = {row.id: row.prediction for row in solution_of(competition)}[one]
    worse = dict.fromkeys(base, 0.4)
    told = [
        hand_in(predictions, "Team").answer
        for predictions in (worse, base, {**base, one: target}, noisy(competition, 2, 1), worse)
    ]
    assert [answer.stands for answer in told] == [None, 2, 2, 4, 4]
    assert [answer.score for answer in told] == [None, 10.0, 10.0, 0.0, 0.0]
    assert coarse_step(24, 100 / math.sqrt(12)) == 5.0
    (line,) = publish(competition).standings
    assert (line.rank, line.score.rmse, line.submissions) == (1, 0.0, 5)


def test_a_team_that_was_told_no_score_has_no_rank(large: Competition, hand_in: HandIn) -> None:
    competition = with_rules(large, feedback="ladder")
    hand_in(noisy(competition, 5, 0), "good")
    found = hand_in(dict.fromkeys(competition.ids("test"), 0.4), "bad")
    assert found.text(2) == "not better than the best baseline by more than chance"
    published = publish(competition)
    assert [(line.name, line.rank) for line in published.standings] == [("good", 1), ("bad", None)]
    assert "bad,2026-01-01 02:00:00,,1,team" in published.csv.read_text()


def test_every_score_under_rounded_is_counted(large: Competition, hand_in: HandIn) -> None:
    for seed in range(26):
        hand_in(dense(large, seed), "Team")
    (share,) = left(large)
    assert share < 0.05


def test_guarded_says_nothing_new_before_the_labels_are_told(large: Competition, hand_in: HandIn) -> None:
    competition = with_rules(large, feedback="guarded")
    answers = [hand_in(dense(competition, seed), "Team").answer for seed in range(30)]
    first = next(place for place, answer in enumerate(answers) if answer.silent)
    assert 4 <= first <= 8
    assert all(answer.silent for answer in answers[first:])
    assert left(competition)[0] >= KEPT
    assert hand_in(noisy(competition, 1, 0), "Team").text(2).startswith("entered, without a score")


def test_guarded_counts_teams_of_a_like_name_together(large: Competition, hand_in: HandIn) -> None:
    competition = with_rules(large, feedback="guarded")
    names = ("A", "A B", "A 2", "A C")
    answers = [hand_in(dense(competition, seed), names[seed % 4]).answer for seed in range(12)]
    assert [answer.silent for answer in answers[8:]] == [True] * 4
    assert left(competition)[0] >= KEPT
    assert not hand_in(dense(competition, 99), "Others").answer.silent


def test_nobody_takes_back_what_other_teams_were_told(large: Competition, hand_in: HandIn) -> None:
    """A name that is like those of two teams joins the first, and their answers stay."""
    competition = with_rules(large, feedback="guarded")
    for seed in range(10):
        hand_in(dense(competition, seed), "Team One")
    assert not hand_in(noisy(competition, 2, 0), "Team Two").answer.silent
    before = publish(competition).csv.read_text().splitlines()
    assert hand_in(dense(competition, 10), "Team").answer.silent
    after = publish(competition).csv.read_text().splitlines()
    assert [line for line in after if ",Team," not in line] == before


def test_what_is_refused_does_not_depend_on_the_labels(
    large: Competition, tmp_path: Path, clock: Clock
) -> None:
    """As long as nothing is told, other labels give the same refusals."""
    silent = []
    for seed in (0, 1):
        competition = with_rules(large_competition(tmp_path / f"other {seed}"), feedback="guarded")
        found = []
        for number in range(8):
            worse = {
                name: 0.05 * (1 + (number + place) % 2) for place, name in enumerate(competition.ids("test"))
            }
            write_predictions(tmp_path / "file.csv", worse)
            found.append(submit(competition, tmp_path / "file.csv", "Team", clock).answer)
        silent.append([(answer.stands, answer.silent) for answer in found])
    assert silent[0] == silent[1]


def test_guarded_says_the_same_of_public_and_of_private_rows(large: Competition, hand_in: HandIn) -> None:
    """Else a change of one row, once little more may be told, would tell whether the row is public."""
    competition = with_rules(large, feedback="guarded")
    flat = dict.fromkeys(competition.ids("test"), 0.5)
    for seed in range(20):
        if hand_in(dense(competition, seed), "Team").answer.silent:
            break
    rows = list(flat)[20:28]
    assert {name.split("/")[1] in PUBLIC for name in rows} == {True, False}
    assert all(hand_in({**flat, name: 0.9}, "Team").answer.silent for name in rows)
    early = [
        [hand_in({**flat, name: 0.9}, f"{team} probes").answer.silent for _ in range(10)]
        for team, name in (("one", rows[0]), ("other", rows[-1]))
    ]
    assert early[0] == early[1]
    assert set(early[0]) == {True, False}


def test_a_corrected_label_takes_no_answer_back(large: Competition, hand_in: HandIn, clock: Clock) -> None:
    competition = with_rules(large, feedback="guarded")
    base = noisy(competition, 10, 0)
    before = [hand_in(values, "Team").answer for values in (base, noisy(competition, 2, 1))]
    for seed in range(8):
        hand_in(dense(competition, seed), "Team")
    rescore(competition, {next(iter(base)): 0.5}, (), "wrong", clock)
    (line,) = publish(competition).standings
    assert [answer.stands for answer in before] == [1, 2]
    assert (line.rank, line.submissions) == (1, 10)
    assert hand_in(noisy(competition, 1, 2), "Team").answer.silent


def test_a_lost_file_is_told_of_no_more(large: Competition, hand_in: HandIn) -> None:
    competition = with_rules(large, feedback="ladder")
    hand_in(noisy(competition, 5, 0), "Team")
    ledger = Ledger(competition.private / "ledger.sqlite")
    ledger.file(ledger.entries()[0]).unlink()
    (competition.private / "predictions.bin").unlink()
    assert heard(competition, ledger, 1)[0].silent
