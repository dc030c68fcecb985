"""Images matched by distance, against straightforward computations; lines against statsmodels' formulas."""

import itertools

import numpy as np
import pandas as pd
import pytest

from starter.detectors.metrics import auroc
from starter.studies.matched import intercepts_table, matched_table, nearest_distances, subsets

RNG = np.random.default_rng(5)


def test_distances_are_to_the_nearest_direction():
    features, reference = RNG.normal(size=(30, 6)), RNG.normal(size=(9, 6))
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (features, reference)]
    naive = [min(np.linalg.norm(one - other) for other in unit[1]) for one in unit[0]]
    np.testing.assert_allclose(nearest_distances(features.astype(np.float16), reference), naive, atol=2e-3)
    assert nearest_distances(3 * reference, reference).max() < 1e-3
    assert nearest_distances(np.zeros((2, 6)), reference) == pytest.approx([2**0.5] * 2)


def test_subsets_go_from_near_to_far_and_lose_nobody():
    values = RNG.random(1003)
    cut = subsets(values)
    assert len(cut) == 25
    assert sorted(np.concatenate(cut)) == list(range(1003))
    assert all(values[a].max() <= values[b].min() for a, b in itertools.pairwise(cut))
    assert {len(each) for each in cut} == {40, 41}
    assert len(subsets(values[:3])) == 1
    assert len(subsets(np.zeros(20_000))) == 100


def test_each_subset_has_its_auroc():
    distances = {"near": RNG.random(80), "blur": RNG.random(200)}
    clean = {"msp": RNG.normal(size=50)}
    scores = {"msp": {kind: RNG.normal(size=len(each)) + 2 * each for kind, each in distances.items()}}
    found = matched_table(clean, scores, distances)
    assert found.groupby("kind").size().to_dict() == {"near": 2, "blur": 5}
    rows = np.argsort(distances["near"])[:40]
    first = found[found.kind == "near"].iloc[0]
    assert first.auroc == auroc(clean["msp"], scores["msp"]["near"][rows])
    assert first.distance == pytest.approx(distances["near"][rows].mean())


def test_lines_are_least_squares_with_their_intervals():
    x = RNG.random(30)
    y = 0.6 + 0.3 * x + 0.02 * RNG.normal(size=30)
    frame = pd.DataFrame({"detector": "msp", "kind": "near", "distance": x, "auroc": y})
    flat = frame.assign(kind="far", auroc=0.9)
    found = intercepts_table(pd.concat([frame, flat])).set_index("kind")
    design = np.stack([np.ones(30), x], 1)
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    variance = np.square(y - design @ coefficients).sum() / 28 * inverse
    near = found.loc["near"]
    assert near[["intercept", "slope"]].tolist() == pytest.approx(coefficients)
    assert near.slope_se == pytest.approx(np.sqrt(variance[1, 1]))
    half = 2.0484071 * np.sqrt(variance[0, 0])  # the t distribution's 97.5 % quantile, 28 degrees of freedom
    assert near[["intercept_low", "intercept_high"]].tolist() == pytest.approx(
        [coefficients[0] - half, coefficients[0] + half]
    )
    assert near.level == pytest.approx(coefficients @ [1, x.mean()])
    assert near.level_high - near.level_low < near.intercept_high - near.intercept_low
    assert found.loc["far", ["level_low", "level_high"]].tolist() == pytest.approx([0.9, 0.9])
    assert intercepts_table(frame[:2]).isna().to_numpy().sum() == 8
