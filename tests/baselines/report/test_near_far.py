"""The table of near and far mixes, against errors taken one by one.

What chance gives to a mix's FPR, with either threshold.
"""

from dataclasses import replace

import numpy as np
import pytest
from mixes import gaussian_mixes
from scipy.stats import pearsonr

from baselines import OOD_BASELINES
from baselines.contract.held_out import held_out
from baselines.ood.scored import mix_scores
from baselines.ood.ude import Ude
from baselines.report.gscore import TABLES, write_table
from baselines.report.near_far import FLOOR, FOLDS, correlation, deviations, folds, near_far_table
from starter.detectors.metrics import fpr
from submission.metrics import deviation_floor

PLAIN = gaussian_mixes(sets=40, n=400, share=(0.5, 0.5))
FAMILIES = [next(iter(family)) for family in PLAIN.families]
META = replace(PLAIN, ood_sets=[f"{f}_{'near' if f < 'f4' else 'far'}_zoo" for f in FAMILIES])


def test_errors_are_those_of_mixes_whose_families_were_left_out(monkeypatch, tmp_path):
    monkeypatch.setattr("baselines.report.near_far.OOD_BASELINES", {"gscore-ude-w": Ude()})
    found = near_far_table({"net:msp:fpr95": META})
    assert found.kind.tolist() == ["far", "far", "near", "near"]
    assert found.method.tolist() == ["gscore-ude-w", FLOOR] * 2
    predicted = np.empty(40)
    parts = folds(META)
    for fold, values in zip(parts, held_out(Ude(), META, META, parts), strict=True):
        predicted[fold.test] = values
    for kind, row in (("far", found.iloc[0]), ("near", found.iloc[2])):
        mine = [kind in name for name in META.ood_sets]
        errors = 100 * (predicted - META.targets)[mine]
        assert row.rmse == pytest.approx(np.sqrt(np.mean(errors**2)))
        assert row.pearson == pytest.approx(pearsonr(predicted[mine], META.targets[mine])[0])
        assert 0 < row.rmse_deviation < row.rmse
    sizes = [int(ood.sum()) for ood, name in zip(META.ood, META.ood_sets, strict=True) if "near" in name]
    near = META.targets[["near" in name for name in META.ood_sets]]
    assert found.rmse[3] == pytest.approx(deviation_floor(np.sqrt(near * (1 - near) / sizes)), rel=0.3)
    assert all(path.exists() for path in write_table("near-far", found, tmp_path))


def test_folds_test_every_family_once():
    parts = folds(META)
    assert len(parts) == FOLDS
    assert sorted(np.concatenate([fold.test for fold in parts])) == list(range(40))
    for fold in parts:
        assert {META.families[i] for i in fold.train}.isdisjoint(META.families[i] for i in fold.test)
        assert len(fold.train) + len(fold.test) == 40


def test_it_is_a_table_of_the_track():
    assert TABLES["near-far"] is near_far_table
    assert "constant" in OOD_BASELINES


META_OF_NOISE_FLOOR = gaussian_mixes(sets=6, n=400)


@pytest.mark.parametrize("threshold", ["pool", "mix"])
def test_deviations_are_those_of_drawing_the_images_again(threshold):
    rng = np.random.default_rng(1)
    wanted = []
    for mix, ood in zip(META_OF_NOISE_FLOOR.sets, META_OF_NOISE_FLOOR.ood, strict=True):
        scores, values = mix_scores(mix), []
        for _ in range(300):
            kept, new = (rng.choice(scores[part], part.sum()) for part in (~ood, ood))
            pool = rng.choice(META_OF_NOISE_FLOOR.source.scores, len(META_OF_NOISE_FLOOR.source.scores))
            values.append(fpr(pool if threshold == "pool" else kept, new))
        wanted.append(np.std(values))
    found = deviations(replace(META_OF_NOISE_FLOOR, fpr=threshold), "fpr95")
    np.testing.assert_allclose(found, wanted, rtol=0.25)


def test_a_threshold_from_few_images_adds_to_chance():
    pool, mix = (
        deviations(replace(META_OF_NOISE_FLOOR, fpr=threshold), "fpr95").mean()
        for threshold in ("pool", "mix")
    )
    assert mix > 1.2 * pool


def test_predictions_that_differ_by_rounding_alone_have_no_correlation():
    constant, truth = np.full(20, 0.9), np.linspace(0.1, 0.8, 20)
    assert np.isnan(correlation(constant + 1e-15 * np.arange(20), truth)).all()
    assert np.isnan(correlation(np.zeros(20), truth)).all()
    assert np.isnan(correlation(truth[:2], truth[:2])).all()
    assert np.isfinite(correlation(constant + 1e-6 * np.arange(20), truth)).all()
