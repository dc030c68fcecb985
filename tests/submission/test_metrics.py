import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from submission.metrics import score, skill, spearman

PREDICTIONS = {"m/a": 0.5, "m/b": 0.75, "m/c": 0.25, "n/a": 0.25, "n/b": 0.5, "n/c": 0.0}
TARGETS = {"m/a": 0.5, "m/b": 0.5, "m/c": 0.25, "n/a": 0.5, "n/b": 0.25, "n/c": 0.75}


def test_a_score_worked_out_by_hand() -> None:
    """Errors 0, 25, 0, 25, 25, 75 points. Spearman of m: ranks 2 3 1 and 2.5 2.5 1; of n: -1."""
    found = score(PREDICTIONS, TARGETS)
    assert found.rmse == pytest.approx(math.sqrt((3 * 625 + 5625) / 6), abs=1e-12)
    assert found.mae == pytest.approx(25)
    assert found.spearman == pytest.approx((math.sqrt(3) / 2 - 1) / 2)
    assert found.n == 6


def test_spearman_is_undefined_as_soon_as_it_is_for_one_subject() -> None:
    constant = {**TARGETS, "n/a": 0.5, "n/b": 0.5, "n/c": 0.5}
    assert math.isnan(score(constant, TARGETS).spearman)
    two = {name: value for name, value in TARGETS.items() if name != "n/c"}
    assert math.isnan(score(two, two).spearman), "of two sets it would be 1 or -1, whatever is predicted"


@given(
    st.integers(2, 30).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(0, 6), min_size=n, max_size=n)] * 2)
    )
)
def test_spearman_agrees_with_scipy(pair: tuple[list[int], list[int]]) -> None:
    x, y = pair
    found = spearman(x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
        assert -1 <= found <= 1


def test_skill_and_its_bounds() -> None:
    assert skill(0, 10) == 1
    assert skill(10, 10) == 0
    assert skill(20, 10) == -3
    assert math.isnan(skill(1, 0))
    assert math.isnan(skill(1, math.nan))
