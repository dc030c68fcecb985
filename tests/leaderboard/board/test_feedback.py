import math

import numpy as np
import pytest

from leaderboard.board.feedback import ladder, standard_error
from leaderboard.board.statistics import Families


def singles(count: int) -> Families:
    return Families.of([str(i) for i in range(count)], ["group"] * count)


def climb(squared: np.ndarray, families: Families) -> list[int]:
    return ladder(squared.mean(axis=1).tolist(), lambda i: squared[i], families)


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


def test_the_first_stands_until_another_is_better_by_more_than_its_standard_error() -> None:
    start = np.full(100, 25.0)
    noisy = start + 10 * np.where(np.arange(100) % 2, 1, -1)  # standard error of the difference: 1.005
    assert climb(np.stack([start, noisy - 1.0, noisy - 1.01, start]), singles(100)) == [0, 0, 2, 2]


def test_an_equal_one_and_a_worse_one_never_stand() -> None:
    start = np.full(10, 25.0)
    assert climb(np.stack([start, start, start + 1, start - 0.001]), singles(10)) == [0, 0, 0, 3]


def test_losses_are_asked_for_only_where_the_mean_is_lower() -> None:
    asked: list[int] = []

    def squared(place: int) -> np.ndarray:
        asked.append(place)
        return np.full(5, [4.0, 9.0, 1.0][place])

    assert ladder([4.0, 9.0, 1.0], squared, singles(5)) == [0, 0, 2]
    assert asked == [0, 2]


def test_losses_that_are_not_known_change_nothing() -> None:
    squared = np.array([[4.0] * 5, [np.nan] * 5, [1.0] * 5])
    assert ladder([4.0, 3.0, 1.0], lambda i: squared[i], singles(5)) == [0, 0, 2]


@pytest.mark.parametrize("size", [1, 3])
def test_a_change_within_one_family_never_stands_however_large_it_is(size: int) -> None:
    families = Families.of([str(i // size) for i in range(60)], ["group"] * 60)
    start = np.random.default_rng(0).uniform(1, 900, 60)
    changed = np.where(np.arange(60)[:, None] // size == np.arange(60 // size), 0.0, start[:, None]).T
    assert climb(np.concatenate([start[None], changed]), families) == [0] * (1 + len(changed))
