"""Both labelings of the same scores, by hand and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from starter.detectors.metrics import auroc, detection_error, fpr
from starter.studies.failure import (
    ALL,
    TABLES,
    Groups,
    Scored,
    auroc_table,
    detection_table,
    differences_table,
    groups_table,
    misclassification_table,
    ranks_table,
    rejected_table,
)


def sample(seed=0, n=120, m=80):
    rng = np.random.default_rng(seed)
    correct = rng.uniform(size=n) < 0.7
    return Groups.of(rng.normal(size=n) - correct, correct, rng.normal(0.5, 1, size=m))


def test_failure_detection_weighs_ind_and_ood_alike():
    groups = sample()
    n, m = 120, 80
    scores = np.concatenate([groups.correct, groups.wrong, groups.ood])
    failed = np.repeat([0, 1], [len(groups.correct), len(groups.wrong) + m])
    weights = np.repeat([1 / n, 1 / m], [n, m])
    assert groups.failure == pytest.approx(roc_auc_score(failed, scores, sample_weight=weights))


def test_more_ood_images_of_the_same_kind_change_nothing():
    groups = sample()
    many = Groups(groups.correct, groups.wrong, np.repeat(groups.ood, 7))
    assert many.failure == pytest.approx(groups.failure)
    assert many.new_class == pytest.approx(groups.new_class)


def test_the_decomposition_of_new_class_detection():
    groups = sample()
    parts = groups.accuracy * groups.correct_ood + (1 - groups.accuracy) * groups.wrong_ood
    assert groups.new_class == pytest.approx(parts)
    assert groups.new_class == auroc(np.concatenate([groups.correct, groups.wrong]), groups.ood)


def test_misclassification_is_about_ind_images_alone():
    groups = sample()
    expected = (f(groups.correct, groups.wrong) for f in (fpr, detection_error, auroc))
    assert groups.misclassification == tuple(expected)


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
    clean, ood = (
        rng.normal(size=200).round(1),
        {kind: rng.normal(gap, 1, 90).round(1) for kind, gap in (("near", 0.5), ("far", 2))},
    )
    detectors = {"msp": Scored({"clean": (clean, correct)}, ood)}
    table = detection_table(detectors).set_index("ood")[["fpr95", "detection_error", "auroc"]]
    for kind, others in {**ood, ALL: np.concatenate([*ood.values()])}.items():
        np.testing.assert_allclose(100 * table.loc[kind], swept(clean, others), rtol=1e-12)
    missed = misclassification_table(detectors)[["fpr95", "detection_error", "auroc"]]
    np.testing.assert_allclose(100 * missed.iloc[0], swept(clean[correct], clean[~correct]), rtol=1e-12)


@pytest.mark.parametrize(
    ("fpr95", "error"),
    [
        (82.64, 43.82),
        (74.19, 39.60),
        (79.11, 42.05),
        (82.24, 43.62),
        (82.44, 43.72),
        (74.01, 39.51),
        (81.49, 43.25),
    ],
)
def test_the_published_detection_errors_are_at_the_threshold_of_fpr95(fpr95, error):
    """Rows FACETS T1 and T2 of table VI: (1 - TPR + FPR) / 2 with a TPR of 95 %."""
    assert error == pytest.approx((5 + fpr95) / 2, abs=0.011)


def test_rejected_correct_images_by_counting():
    groups = sample()
    cut = np.sort(groups.ood)[::-1][63]  # 64 of 80 are 80 %
    assert groups.rejected_correct == (groups.correct >= cut).mean()


def test_a_perfect_detector_of_failures_is_no_perfect_detector_of_classes():
    groups = Groups.of([0, 0, 2, 2], [True, True, False, False], [1, 1])
    assert groups.failure == groups.correct_ood == groups.correct_wrong == 1
    assert (groups.new_class, groups.wrong_ood) == (0.5, 0)


FEW = st.lists(st.integers(-3, 3), max_size=6)


@settings(max_examples=60, deadline=None)
@given(FEW, FEW, FEW)
def test_empty_groups_give_nan_where_nothing_is_told(correct, wrong, ood):
    groups = Groups.of([*correct, *wrong], np.repeat([True, False], [len(correct), len(wrong)]), ood)
    assert np.isnan(groups.failure) == (not correct or not (wrong or ood))
    assert np.isnan(groups.new_class) == (not (correct or wrong) or not ood)
    assert np.isnan(groups.misclassification).all() == (not correct or not wrong)
    assert np.isnan(groups.rejected_correct) == (not correct or not ood)
    assert np.isnan(groups.accuracy) == (not (correct or wrong))


def test_every_ind_image_is_right_or_wrong():
    with pytest.raises(
        ValueError, match=r"ind and correct must have one shape \(n,\), got \(2,\) and \(1,\)"
    ):
        Groups.of([0.0, 1.0], [True], [1.0])


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
    return Scored(ind, {"near": rng.normal(0.3, 1, size=150), "far": rng.normal(1.5, 1, size=90)})


DETECTORS = {"msp": scored(), "energy": scored(0.5)}


def test_table_1_has_both_goals_for_every_pair_of_kinds():
    found = auroc_table(DETECTORS)
    assert found[["detector", "ind", "ood"]].values.tolist() == [
        [name, ind, ood] for name in DETECTORS for ind in ("clean", "blurred") for ood in ("near", "far")
    ]
    one = Groups.of(*DETECTORS["energy"].ind["blurred"], DETECTORS["energy"].ood["near"])
    row = found.iloc[6]
    assert (row.new_class, row.failure) == (one.new_class, one.failure)


def test_the_gain_on_the_first_detector_has_two_parts():
    found = groups_table(DETECTORS)
    assert found.gain[:4].tolist() == [0.0] * 4
    assert (found.gain[4:] != 0).all()
    assert (found.from_correct + found.from_wrong).tolist() == pytest.approx(found.gain.tolist())
    parts = found.accuracy * found.correct_ood + (1 - found.accuracy) * found.wrong_ood
    assert parts.tolist() == pytest.approx(found.new_class.tolist())


def test_without_wrong_images_all_gain_is_from_correct_ones():
    perfect = {
        name: Scored({"clean": (each.ind["clean"][0], np.ones(300, bool))}, each.ood)
        for name, each in DETECTORS.items()
    }
    found = groups_table(perfect)
    assert found.from_wrong.tolist() == [0.0] * 4
    assert found.from_correct.tolist() == pytest.approx(found.gain.tolist())
    assert found.wrong_ood.isna().all()


def test_tables_of_single_numbers_are_those_of_the_groups():
    groups = [
        Groups.of(*DETECTORS["msp"].ind[kind], DETECTORS["msp"].ood["near"]) for kind in DETECTORS["msp"].ind
    ]
    rejected = rejected_table(DETECTORS)
    near = rejected[(rejected.detector == "msp") & (rejected.ood == "near")]
    assert near.rejected.tolist() == [each.rejected_correct for each in groups]
    found = misclassification_table(DETECTORS)
    assert len(found) == 4
    assert tuple(found.iloc[1, 2:]) == groups[1].misclassification


def test_intervals_tell_a_better_detector_from_the_same_one():
    found = differences_table({**DETECTORS, "same": scored()}, draws=60)
    assert set(found.detector) == {"energy", "same"}
    same, energy = (found[found.detector == name] for name in ("same", "energy"))
    assert (same[["difference", "low", "high"]] == 0).all(axis=None)
    assert (energy.low < energy.difference).all()
    assert (energy.difference < energy.high).all()
    told = energy[(energy.ind == "clean") & (energy.ood == "far") & (energy.goal == "failure")]
    table = auroc_table(DETECTORS)
    at = table[(table.ind == "clean") & (table.ood == "far")].failure
    assert told.difference.item() == pytest.approx(at.iloc[1] - at.iloc[0])
    assert told.low.item() > 0


def test_differences_are_of_the_same_images():
    other = Scored({"clean": (np.zeros(3), np.ones(3, bool))}, {"near": np.ones(2)})
    with pytest.raises(ValueError, match="other has scores of other images than msp"):
        differences_table({"msp": scored(), "other": other})


def test_ranks_are_shares_of_ood_images_that_look_more_ood():
    ind = {"clean": (np.array([0.0, 1.0, 5.0]), np.array([True, True, False]))}
    found = ranks_table({"msp": Scored(ind, {"ood": np.array([1.0, 2.0, 3.0, 4.0])})}).set_index("group")
    assert found.loc["correct", "q50"] == pytest.approx((1 + 0.875) / 2)
    assert found.loc["wrong", ["q05", "q95"]].tolist() == [0, 0]
    assert found.loc["ood", "q50"] == 0.5


@pytest.mark.parametrize("name", TABLES)
def test_no_table_needs_every_group(name):
    some = Scored({"clean": (np.array([0.0, 1.0]), np.array([True, True]))}, {"ood": np.array([2.0])})
    assert len(TABLES[name]({"msp": some, "energy": some})) > 0
