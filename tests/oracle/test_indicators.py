"""The six indicators and their normalisation."""

import numpy as np
import pytest

from baselines.atc import atc
from baselines.conformance import example_meta_train
from baselines.entropy import entropy
from baselines.fd import fd
from oracle.indicators import INDICATORS, Normalisation, indicator_table

META = example_meta_train(sets=6)
SOURCE, TARGET = META.source, META.sets[3]


def column(name):
    return indicator_table(TARGET, SOURCE)[:, INDICATORS.index(name)]


def test_columns_are_the_papers_six():
    assert indicator_table(TARGET, SOURCE).shape == (len(TARGET), 6)
    assert column("entropy").mean() == pytest.approx(entropy(TARGET, SOURCE), rel=1e-6)
    assert column("atc").mean() == pytest.approx(atc(TARGET, SOURCE))
    assert set(column("atc")) <= {0.0, 1.0}
    np.testing.assert_allclose(column("fd"), fd(TARGET, SOURCE), rtol=1e-6)
    for i, name in enumerate(("variance", "image_entropy", "laplacian")):
        np.testing.assert_array_equal(column(name), TARGET.image_stats[:, i])


def test_each_column_is_scaled_by_the_sets_own_range_and_fd_by_the_meta_trains():
    tables = [indicator_table(observation, SOURCE) for observation in META.sets]
    scaled = [Normalisation.of(tables)(table) for table in tables]
    distances = np.array([table[0, 2] for table in tables])
    expected = (distances - distances.min()) / (distances.max() - distances.min())
    np.testing.assert_allclose([table[0, 2] for table in scaled], expected, rtol=1e-5)
    for table in scaled:
        others = np.delete(table, 2, axis=1)
        assert others.min(axis=0).tolist() == [0] * 5
        assert others.max(axis=0).tolist() == [1] * 5


def test_fd_outside_the_meta_train_range_is_clamped():
    table = np.ones((4, 6), np.float32)
    for distance, expected in ((0.5, 0.0), (9.0, 1.0), (3.0, 0.5)):
        table[:, 2] = distance
        assert Normalisation(2.0, 4.0)(table)[:, 2].tolist() == [expected] * 4


def test_columns_without_range_become_0():
    constant = np.full((5, 6), 3.0, np.float32)
    assert Normalisation(3.0, 3.0)(constant).tolist() == np.zeros((5, 6)).tolist()
