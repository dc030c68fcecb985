from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from large import large_competition, noisy
from rules import with_rules

from leaderboard.board.audit import audit_board
from leaderboard.entry.submit import submit
from submission import write_predictions

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
    assert lines[0] == "told of the 24 public rows, whose labels anybody knows to 28.9 points:"
    assert lines[-3].startswith(
        "* rounded   25.7 after 5 (a day), 0.0 after 55 (30 days), 0.0 after 55 (the end)"
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
