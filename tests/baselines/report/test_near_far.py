"""The table of near and far mixes, against errors taken one by one."""

from dataclasses import replace

import numpy as np
import pytest
from mixes import gaussian_mixes
from scipy.stats import pearsonr

from baselines import OOD_BASELINES
from baselines.contract.held_out import held_out
from baselines.ood.ude import Ude
from baselines.report.gscore import TABLES, write_table
from baselines.report.near_far import FOLDS, folds, near_far_table
from baselines.report.noise_floor import FLOOR
from submission.metrics import noise_floor

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
    assert found.rmse[3] == pytest.approx(noise_floor(near, sizes), rel=0.3)
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
