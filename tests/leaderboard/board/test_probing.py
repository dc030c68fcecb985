from datetime import datetime, timezone

import numpy as np

from leaderboard.board.probing import near_copies, probing_warning
from leaderboard.ledger.ledger import Entry

ROWS = 60


def entries(count: int) -> list[Entry]:
    time = datetime(2026, 1, 1, tzinfo=timezone.utc)
    rest = (time, "Team", "t1", "", "scored", 5.0, 5.0, "s", "", False, "", "")
    return [Entry(10 * (place + 1), *rest) for place in range(count)]


def probes(count: int) -> np.ndarray:
    """A base, and copies of it with one row changed each."""
    return np.concatenate([np.full((1, ROWS), 0.6), np.where(np.eye(count, ROWS) > 0, 1.0, 0.6)])


def test_one_row_at_a_time_is_told_with_the_numbers() -> None:
    assert probing_warning(entries(9), probes(8)) == (
        "team 'Team': 8 of 9 submissions differ from an earlier one in at most 6 of 60 rows "
        "(numbers 20, 30, 40, 50, 60, ...): labels are probed that way"
    )


def test_decoys_in_between_hide_nothing() -> None:
    rng = np.random.default_rng(0)
    mixed = np.stack([row for probe in probes(6) for row in (probe, rng.random(ROWS))])
    assert near_copies(mixed) == [2, 4, 6, 8, 10, 12]
    assert probing_warning(entries(14), mixed) is not None


def test_methods_that_move_most_rows_and_copies_are_no_probes() -> None:
    rng = np.random.default_rng(0)
    honest = 0.6 + 0.001 * rng.normal(size=(30, ROWS))
    assert near_copies(honest) == []
    assert near_copies(np.repeat(honest[:1], 10, axis=0)) == []
    assert probing_warning(entries(30), honest) is None


def test_a_few_corrected_rows_now_and_then_are_not_told() -> None:
    assert near_copies(probes(4)) == [1, 2, 3, 4]
    assert probing_warning(entries(5), probes(4)) is None


def test_lost_predictions_are_no_probes() -> None:
    assert near_copies(np.full((8, ROWS), np.nan)) == []
