"""Indicators of single images against independent references, their choice by name, and their scaling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.preprocessing import MinMaxScaler

from baselines.accuracy.atc import atc
from baselines.accuracy.entropy import entropy
from baselines.accuracy.fd import fd
from baselines.contract.conformance import example_meta_train
from oracle import OraA, indicators
from oracle.indicators import INDICATORS, KINDS, SIX, Normalisation, indicator_names, indicator_table
from starter.observing.observation import NEEDS
from submission import UnusableInput

META = example_meta_train(sets=6)
SOURCE, TARGET = META.source, META.sets[3]


def column(name):
    return indicator_table(TARGET, SOURCE, (name,))[:, 0]


def test_the_papers_six():
    table = indicator_table(TARGET, SOURCE, indicator_names(SIX))
    assert table.shape == (len(TARGET), 6)
    assert table.dtype == np.float32
    assert column("entropy").mean() == pytest.approx(entropy(TARGET, SOURCE), rel=1e-6)
    assert column("atc").mean() == pytest.approx(atc(TARGET, SOURCE))
    assert set(column("atc")) <= {0.0, 1.0}
    np.testing.assert_allclose(column("fd"), fd(TARGET, SOURCE), rtol=1e-6)
    for i, name in enumerate(("variance", "image_entropy", "laplacian")):
        np.testing.assert_array_equal(column(name), TARGET.image_stats[:, i])
    np.testing.assert_allclose(column("deviation") ** 2, column("variance"), rtol=1e-5)
    probability = TARGET.probabilities.max(axis=1)
    np.testing.assert_allclose(column("confidence"), np.log(probability / (1 - probability)), rtol=1e-4)


def test_the_winners_atc_splits_the_source_at_its_accuracy():
    of_source = indicator_table(SOURCE.observation, SOURCE, ("atc_released",))[:, 0]
    assert (of_source >= 0).sum() == SOURCE.correct.sum()
    assert np.ptp(column("atc_released") + column("entropy")) < 1e-5


def test_knn_is_the_tenth_distance_among_directions():
    distances = cdist(
        *(
            each.astype(float) / np.linalg.norm(each.astype(float), axis=1, keepdims=True)
            for each in (TARGET.features, SOURCE.train_ref.features)
        )
    )
    np.testing.assert_allclose(column("knn"), np.sort(distances, axis=1)[:, 9], rtol=1e-3, atol=1e-4)


def test_every_indicator_reads_what_it_names():
    for name, indicator in INDICATORS.items():
        assert set(indicator.needs) <= set(NEEDS), name
        assert np.isfinite(column(name)).all(), name
        assert not indicator.of_set or len(set(column(name))) == 1, name
    assert OraA(indicators="variance,fd,laplacian").needs == ("image_stats", "moments")
    assert OraA(indicators="entropy,knn").needs == ("features",)


@pytest.mark.parametrize("names", ["entropy,blur", ""])
def test_refuses_names(names):
    with pytest.raises(UnusableInput, match="there is no indicator"):
        indicator_names(names)


NAMES = ("entropy", "fd", "variance")
TABLES = [
    np.column_stack([np.arange(5) + i, np.full(5, 2.0 + i), np.arange(5) ** 2]).astype(np.float32)
    for i in range(3)
]


def scaled(kind, table):
    return Normalisation.of(kind, NAMES, TABLES).apply(table.copy())


def test_a_set_is_scaled_by_its_range_and_what_it_shares_by_the_meta_train_range():
    result = scaled("set", TABLES[1])
    expected = MinMaxScaler().fit_transform(TABLES[1][:, [0, 2]])
    np.testing.assert_allclose(result[:, [0, 2]], expected, rtol=1e-6)
    assert result[:, 1].tolist() == [0.5] * 5


def test_other_kinds_scale_by_all_images_or_not_at_all():
    expected = MinMaxScaler().fit(np.concatenate(TABLES)).transform(TABLES[2])
    np.testing.assert_allclose(scaled("global", TABLES[2]), expected, rtol=1e-6)
    assert scaled("none", TABLES[2]).tolist() == TABLES[2].tolist()
    pooled = Normalisation.of("pooled", NAMES, TABLES)
    assert pooled.apply(TABLES[1].copy(), learnt=True).tolist() == scaled("global", TABLES[1]).tolist()
    assert pooled.apply(TABLES[1].copy()).tolist() == scaled("set", TABLES[1]).tolist()


@pytest.mark.parametrize(("distance", "expected"), [(0.5, 0.0), (9.0, 1.0), (3.0, 0.5)])
@pytest.mark.parametrize("kind", ["set", "global"])
def test_fd_outside_the_meta_train_range_is_clamped(kind, distance, expected):
    table = np.full((4, 3), distance, np.float32)
    assert scaled(kind, table)[:, 1].tolist() == [expected] * 4


@given(arrays(np.float32, (6, 3), elements=st.floats(-1e6, 1e6, width=32)), st.sampled_from(KINDS[:2]))
def test_the_result_lies_in_0_to_1_and_columns_without_range_become_0(table, kind):
    table[:, 0] = table[0, 0]
    result = Normalisation.of(kind, NAMES, [table]).apply(table.copy())
    assert result.min() >= 0
    assert result.max() <= 1
    assert not result[:, 0].any()


def test_the_fits_of_an_ablation_compute_a_distance_once(monkeypatch):
    computed = []
    monkeypatch.setattr(indicators, "DISTANCES", {})
    monkeypatch.setattr(indicators, "fd", lambda *seen: computed.append(seen) or fd(*seen))
    first, second = (indicator_table(each, SOURCE, ("fd",)) for each in (TARGET, META.sets[4]))
    assert first[0] != second[0]
    np.testing.assert_array_equal(indicator_table(TARGET, SOURCE, ("fd",)), first)
    assert len(computed) == 2
