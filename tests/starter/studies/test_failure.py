"""Both labelings of the same scores, by hand and against scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from starter.observing.detectors.metrics import auroc
from starter.studies import failure


def test_failure_detection_weighs_ind_and_ood_alike():
    rng, n, m = np.random.default_rng(0), 120, 80
    right = rng.uniform(size=n) < 0.7
    ind, ood = rng.normal(size=n) - right, rng.normal(0.5, 1, size=m)
    detectors = {"msp": failure.Scored({"clean": (ind, right)}, {"ood": ood})}
    failed, weights = np.concatenate([~right, np.ones(m)]), np.repeat([1 / n, 1 / m], [n, m])
    expected = roc_auc_score(failed, np.concatenate([ind, ood]), sample_weight=weights)
    assert failure.TABLES["auroc"](detectors).failure.item() == pytest.approx(expected)
    cut = np.sort(ood)[::-1][63]  # 64 of 80 are 80 %
    assert failure.TABLES["rejected"](detectors).rejected.item() == (ind[right] >= cut).mean()


def swept(kept, other):
    """FPR@95, detection error and AUROC in percent, by trying every score as the threshold."""
    tried = [((kept <= cut).mean(), (other <= cut).mean()) for cut in np.sort(np.concatenate([kept, other]))]
    tpr, fpr95 = next((true, false) for true, false in tried if true >= 0.95)
    pairs = [(mine < theirs) + (mine == theirs) / 2 for mine in kept for theirs in other]
    return 100 * np.array([fpr95, (1 - tpr + fpr95) / 2, np.mean(pairs)])


def test_the_tables_of_facets_by_trying_every_threshold():
    """Tables VI and VII of Recalcati et al.: new classes, and misclassified images."""
    rng = np.random.default_rng(3)
    correct = rng.uniform(size=200) < 0.8
    clean = rng.normal(size=200).round(1)
    ood = {kind: rng.normal(gap, 1, 90).round(1) for kind, gap in (("near", 0.5), ("far", 2))}
    detectors = {"msp": failure.Scored({"clean": (clean, correct)}, ood)}
    table = failure.detection_table(detectors).set_index("ood")[["fpr95", "detection_error", "auroc"]]
    for kind, others in {**ood, failure.ALL: np.concatenate([*ood.values()])}.items():
        np.testing.assert_allclose(100 * table.loc[kind], swept(clean, others), rtol=1e-12)
    missed = failure.misclassification_table(detectors)[["fpr95", "detection_error", "auroc"]]
    np.testing.assert_allclose(100 * missed.iloc[0], swept(clean[correct], clean[~correct]), rtol=1e-12)


NUMBERS = np.random.default_rng(5)
CORRECT = NUMBERS.uniform(size=300) < 0.8
SHIFTED = NUMBERS.uniform(size=200) < 0.5


def scored(unit=1.0):
    """A detector's scores of the same images, the better it is the smaller `unit`."""
    rng = np.random.default_rng(6)
    ind = {
        "clean": (unit * rng.normal(size=300) - CORRECT, CORRECT),
        "blurred": (unit * rng.normal(0.5, 1, size=200) - SHIFTED, SHIFTED),
    }
    return failure.Scored(ind, {"near": rng.normal(0.3, 1, size=150), "far": rng.normal(1.5, 1, size=90)})


DETECTORS = {"msp": scored(), "energy": scored(0.5)}


def test_the_gain_on_the_first_detector_has_two_parts():
    found = failure.groups_table(DETECTORS)
    assert found.gain[:4].tolist() == [0.0] * 4
    assert (found.gain[4:] != 0).all()
    assert (found.from_correct + found.from_wrong).tolist() == pytest.approx(found.gain.tolist())
    parts = found.accuracy * found.correct_ood + (1 - found.accuracy) * found.wrong_ood
    assert parts.tolist() == pytest.approx(found.new_class.tolist())


def test_ranks_are_shares_of_ood_images_that_look_more_ood():
    ind = {"clean": (np.array([0.0, 1.0, 5.0]), np.array([True, True, False]))}
    msp = failure.Scored(ind, {"ood": np.array([1.0, 2.0, 3.0, 4.0])})
    found = failure.ranks_table({"msp": msp}).set_index("group")
    assert found.loc["correct", "q50"] == pytest.approx((1 + 0.875) / 2)
    assert found.loc["wrong", ["q05", "q95"]].tolist() == [0, 0]
    assert found.loc["ood", "q50"] == 0.5


@pytest.mark.parametrize("name", failure.TABLES)
def test_no_table_needs_every_group(name):
    some = failure.Scored({"clean": (np.array([0.0, 1.0]), np.array([True, True]))}, {"ood": np.array([2.0])})
    assert len(failure.TABLES[name]({"msp": some, "energy": some})) > 0


RNG = np.random.default_rng(5)


def test_distances_are_to_the_nearest_direction():
    features, reference = RNG.normal(size=(30, 6)), RNG.normal(size=(9, 6))
    unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (features, reference)]
    naive = [min(np.linalg.norm(one - other) for other in unit[1]) for one in unit[0]]
    np.testing.assert_allclose(
        failure.nearest_distances(features.astype(np.float16), reference), naive, atol=2e-3
    )


def test_each_subset_from_near_to_far_has_its_auroc():
    distances = {"blur": RNG.random(203), "near": RNG.random(80)}
    scores = {kind: RNG.normal(size=len(each)) + 2 * each for kind, each in distances.items()}
    clean = RNG.normal(size=50)
    ind = {"clean": (clean, np.ones(50, bool)), "blur": (scores["blur"], np.ones(203, bool))}
    msp = failure.Scored(ind, {"near": scores["near"]})
    found = failure.matched_table({"msp": msp}, distances)
    assert found.groupby("kind").size().to_dict() == {"near": 2, "blur": 5}
    for kind, count in (("near", 40), ("blur", 41)):
        rows = np.argsort(distances[kind])[:count]
        first = found[found.kind == kind].iloc[0]
        assert first.auroc == auroc(clean, scores[kind][rows])
        assert first.distance == pytest.approx(distances[kind][rows].mean())
        assert found[found.kind == kind].distance.is_monotonic_increasing


def test_lines_are_least_squares_with_their_intervals():
    x = RNG.random(30)
    y = 0.6 + 0.3 * x + 0.02 * RNG.normal(size=30)
    frame = pd.DataFrame({"detector": "msp", "kind": "near", "distance": x, "auroc": y})
    near = failure.intercepts_table(frame).iloc[0]
    design = np.stack([np.ones(30), x], 1)
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    variance = np.square(y - design @ coefficients).sum() / 28 * inverse
    assert near[["intercept", "slope"]].tolist() == pytest.approx(coefficients)
    assert near.slope_se == pytest.approx(np.sqrt(variance[1, 1]))
    half = 2.0484071 * np.sqrt(variance[0, 0])  # the t distribution's 97.5 % quantile, 28 degrees of freedom
    assert near.intercept_low == pytest.approx(coefficients[0] - half)
    assert failure.intercepts_table(frame[:2]).isna().to_numpy().sum() == 5
