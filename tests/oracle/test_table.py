"""Min-max scaling by the set, by all meta-train images, or not at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import MinMaxScaler

from oracle.table import KINDS, Normalisation
from submission import UnusableInput

NAMES = ("entropy", "fd", "variance")
TABLES = [
    np.column_stack([np.arange(5) + i, np.full(5, 2.0 + i), np.arange(5) ** 2]).astype(np.float32)
    for i in range(3)
]


def scaled(kind, table):
    return Normalisation.of(kind, NAMES, TABLES).apply(table.copy())


def test_by_the_set_with_what_it_shares_by_the_meta_train_range():
    result = scaled("set", TABLES[1])
    np.testing.assert_allclose(
        result[:, [0, 2]], MinMaxScaler().fit_transform(TABLES[1][:, [0, 2]]), rtol=1e-6
    )
    assert result[:, 1].tolist() == [0.5] * 5


def test_globally_is_by_the_range_of_all_images():
    expected = MinMaxScaler().fit(np.concatenate(TABLES)).transform(TABLES[2])
    np.testing.assert_allclose(scaled("global", TABLES[2]), expected, rtol=1e-6)


def test_pooled_is_globally_for_what_is_learnt_from_and_by_the_set_for_others():
    pooled = Normalisation.of("pooled", NAMES, TABLES)
    assert pooled.apply(TABLES[1].copy(), learnt=True).tolist() == scaled("global", TABLES[1]).tolist()
    assert pooled.apply(TABLES[1].copy()).tolist() == scaled("set", TABLES[1]).tolist()


def test_none_changes_nothing():
    assert scaled("none", TABLES[2]).tolist() == TABLES[2].tolist()


@pytest.mark.parametrize(("distance", "expected"), [(0.5, 0.0), (9.0, 1.0), (3.0, 0.5)])
@pytest.mark.parametrize("kind", ["set", "global"])
def test_fd_outside_the_meta_train_range_is_clamped(kind, distance, expected):
    table = np.full((4, 3), distance, np.float32)
    assert scaled(kind, table)[:, 1].tolist() == [expected] * 4


@pytest.mark.parametrize("kind", ["set", "global"])
def test_columns_without_range_become_0(kind):
    constant = np.full((5, 3), 3.0, np.float32)
    assert (
        Normalisation.of(kind, NAMES, [constant]).apply(constant.copy()).tolist() == np.zeros((5, 3)).tolist()
    )


@given(arrays(np.float32, (6, 3), elements=st.floats(-1e6, 1e6, width=32)), st.sampled_from(KINDS[:2]))
def test_the_result_lies_in_0_to_1(table, kind):
    result = scaled(kind, table)
    assert result.min() >= 0
    assert result.max() <= 1


def test_refuses_another_kind():
    with pytest.raises(UnusableInput, match="normalisation must be set, global, none, got 'batch'"):
        Normalisation.of("batch", NAMES, TABLES)
