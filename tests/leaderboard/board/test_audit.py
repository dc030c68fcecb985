import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
from large import large_competition, noisy
from predicted import as_predicted
from rules import with_rules

from leaderboard import publish
from leaderboard.board.attack import Told
from leaderboard.board.audit import Attacked, attack_board, audit_board, read_board
from leaderboard.entry.submit import submit
from submission import UnusableInput, write_predictions

Clock = Callable[[], datetime]
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def test_what_was_told_and_can_be_is_said(tmp_path: Path, clock: Clock) -> None:
    competition = with_rules(
        large_competition(tmp_path / "large"),
        daily_limit=5,
        deadline=datetime(2026, 1, 11, tzinfo=timezone.utc),
    )
    for seed in range(5):
        write_predictions(competition.root / f"submissions/m{seed}.csv", noisy(competition, 5, seed))
    as_predicted(competition)
    for number in range(4):
        signs = np.random.default_rng(number).choice([-1, 1], len(competition.ids("test")))
        values = dict(zip(competition.ids("test"), (0.5 + 0.2 * signs).tolist(), strict=True))
        write_predictions(tmp_path / "file.csv", values)
        submit(competition, tmp_path / "file.csv", "A" if number < 3 else "B", clock)
    found = audit_board(competition, NOW)
    assert found.sound
    assert (found.rows, found.kit[0], found.everybody[0]) == (24, 3, 7)
    assert found.teams is not None
    assert found.teams[:2] == ("A", 6)
    assert found.prior > found.kit[1] > found.teams[2] > found.everybody[1]
    lines = str(found).splitlines()
    assert lines[0].startswith("24 public rows, whose labels anybody can guess with an RMSE of 28.9 points; ")
    assert lines[-3].startswith(
        "* rounded   25.7 after 5 (one day), 0.0 after 55 (30 days), 0.0 after 55 (the end)"
    )
    assert lines[-1].endswith("26.0 after 55 (the end)")


def test_with_the_ladder_too_all_answers_are_counted(tmp_path: Path, clock: Clock) -> None:
    competition = with_rules(large_competition(tmp_path / "large"), feedback="ladder")
    for number, team in enumerate(("A", "A", "B", "B")):
        write_predictions(tmp_path / "file.csv", noisy(competition, 20 - 5 * number, number))
        submit(competition, tmp_path / "file.csv", team, clock)
    found = audit_board(competition, NOW)
    assert found.kit == (0, found.prior)
    assert found.everybody[0] >= 6
    assert found.everybody[1] < found.prior


def test_a_board_is_attacked_with_what_it_shows(tmp_path: Path) -> None:
    competition = large_competition(tmp_path / "large")
    with pytest.raises(UnusableInput, match=r"leaderboard\.csv is missing: run `unseen leaderboard"):
        attack_board(competition, 5)
    publish(competition)
    nothing = attack_board(competition, 5)
    assert nothing.sound
    assert str(nothing) == "attack: impossible, since the board shows no baseline"
    for seed in range(5):
        write_predictions(competition.root / f"submissions/m{seed}.csv", noisy(competition, 5 + seed, seed))
    as_predicted(competition)
    shutil.rmtree(competition.private / "shown", ignore_errors=True)
    publish(competition)
    found = attack_board(competition, 5)
    assert (len(found.told.rmse), found.told.mae, found.told.step, found.told.public) == (3, None, 0.1, 24)
    assert str(found).startswith("attack on 3 baselines, RMSE to 0.1: ")
    assert found.error >= 0


def test_the_board_of_version_1_is_read_with_its_mae(tmp_path: Path) -> None:
    competition = large_competition(tmp_path / "large")
    write_predictions(competition.root / "submissions/m.csv", noisy(competition, 5, 0))
    as_predicted(competition)
    lines = ("TeamName,Score,MAE,Kind", "m,5.25,4.1,baseline", "gone,6.25,5.1,baseline", "A,1.5,1.2,team")
    (competition.root / "leaderboard.csv").write_text("\n".join(lines) + "\n")
    told = read_board(competition, 24)
    assert told.mae is not None
    assert (told.rmse.tolist(), told.mae.tolist(), told.step) == ([5.25], [4.1], 0.01)
    assert told.predictions.shape == (1, len(competition.ids("test")))


def test_labels_that_an_attack_finds_are_an_error() -> None:
    told = Told(np.zeros((1, 4)), np.ones(1), None, 0.1, 2, np.arange(4), None)
    assert Attacked(told, 1, 4.6, 5.0, 1.0).sound
    assert not Attacked(told, 2, 0.1, 5.0, 1.0).sound
    assert str(Attacked(told, None, 5.0, 5.0, 9.0)).endswith("no solution found in 9 s, which proves nothing")
