from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import pytest

from leaderboard.board.probing import directions, near_copies, probing_warnings
from leaderboard.ledger.ledger import Entry

ROWS = 60
PUBLIC = np.arange(18)


def entries(count: int) -> list[Entry]:
    time = datetime(2026, 1, 1, tzinfo=timezone.utc)
    rest = (time, "Team", "t1", "", "scored", 5.0, 5.0, "s", "", False, "", "")
    return [Entry(10 * (place + 1), *rest) for place in range(count)]


def probes(count: int) -> np.ndarray:
    """A base, and copies of it with one row changed each."""
    return np.concatenate([np.full((1, ROWS), 0.6), np.where(np.eye(count, ROWS) > 0, 1.0, 0.6)])


def warnings(predictions: np.ndarray) -> list[str]:
    return probing_warnings(entries(len(predictions)), predictions, PUBLIC, 0.01)


def test_one_row_at_a_time_is_told_with_the_numbers() -> None:
    assert warnings(probes(8)) == [
        "team 'Team': 8 of 9 submissions differ from an earlier one, but for small changes, in at most 6 of 60 "
        "rows (numbers 20, 30, 40, 50, 60, ...), a way to find out labels"
    ]


def test_decoys_in_between_hide_nothing() -> None:
    rng = np.random.default_rng(0)
    mixed = np.stack([row for probe in probes(6) for row in (probe, rng.random(ROWS))])
    assert near_copies(mixed) == [2, 4, 6, 8, 10, 12]
    assert "differ from an earlier one" in warnings(mixed)[0]


def test_small_changes_of_all_other_rows_hide_nothing() -> None:
    rng = np.random.default_rng(0)
    jittered = probes(8) + rng.uniform(-0.01, 0.01, (9, ROWS))
    assert near_copies(jittered) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_methods_that_move_most_rows_and_copies_are_no_probes() -> None:
    rng = np.random.default_rng(0)
    honest = 0.6 + 0.001 * rng.normal(size=(30, ROWS))
    assert near_copies(honest) == []
    assert near_copies(np.repeat(honest[:1], 10, axis=0)) == []
    assert warnings(0.6 + 0.001 * np.arange(30)[:, None] * rng.normal(size=ROWS)) == []


def test_a_few_corrected_rows_now_and_then_are_not_told() -> None:
    assert near_copies(probes(4)) == [1, 2, 3, 4]
    assert warnings(probes(4)) == []


def test_lost_predictions_are_no_probes() -> None:
    assert near_copies(np.full((8, ROWS), np.nan)) == []
    assert directions(np.full((8, ROWS), np.nan), 0.01) == 0


@pytest.mark.parametrize("step", [0.01, 0.1, 1.0])
def test_dense_submissions_of_varied_amplitude_are_told_by_their_directions(step: float) -> None:
    rng = np.random.default_rng(0)
    amplitudes = rng.uniform(0.1, 0.4, (12, 1))
    dense = 0.5 + amplitudes * rng.choice([-1, 1], size=(12, ROWS))
    assert near_copies(dense) == []
    (warning,) = probing_warnings(entries(12), dense, PUBLIC, step)
    assert warning == (
        "team 'Team': 12 submissions differ in 11 directions, with 18 public rows: scores in as many directions "
        "as rows reveal every label (see unseen audit)"
    )
    assert probing_warnings(entries(8), dense[:8], PUBLIC, step) == []


def test_teams_of_a_like_name_are_told_together() -> None:
    rng = np.random.default_rng(0)
    made = [replace(entry, team=f"Team{place % 2 or ''}") for place, entry in enumerate(entries(12))]
    (warning,) = probing_warnings(made, rng.uniform(0.2, 0.8, (12, ROWS)), PUBLIC, 0.01)
    assert warning.startswith("teams 'Team' and 'Team1': 12 submissions differ in 11 directions")
