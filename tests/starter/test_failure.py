"""Both labelings of the same scores, by hand and against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from starter.failure import Groups
from submission.detection import auroc, detection_error, fpr


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
