"""gscore-best: what it rests on, what it draws, and that it corrects its plug-in estimate."""

import numpy as np
import pytest
from mixes import gaussian_mixes

from baselines.contract.estimator import Table
from baselines.ood.gscore_best import GscoreBest, by_size, evidence, resample
from baselines.ood.plugin import ind_share, plug_in
from submission import UnusableInput

RNG = np.random.default_rng(0)
REFERENCE, SCORES = np.sort(RNG.normal(size=500)), RNG.normal(1, 2, 200)


def test_the_evidence_begins_with_the_plug_in_estimate_and_rests_on_ranks():
    row = evidence(SCORES, REFERENCE, "fpr95")
    assert row.shape == (27,)
    assert row[0] == plug_in("fpr95", SCORES, REFERENCE, ind_share(SCORES, REFERENCE))
    assert evidence(np.exp(SCORES), np.exp(REFERENCE), "fpr95") == pytest.approx(row, abs=1e-12)
    assert evidence(SCORES[::-1], REFERENCE, "fpr95") == pytest.approx(row, abs=1e-12)
    assert np.isfinite(evidence(np.full(1, 9.0), REFERENCE, "auroc")).all()
    assert np.isfinite(evidence(np.full(50, -9.0), np.zeros(9), "aupr-in")).all()


@pytest.mark.parametrize(("ind", "ood"), [(300, 500), (20, 400), (30, 25), (8, 5)])
def test_resampled_mixes_hold_no_image_twice_and_enough_of_either_kind(ind, ood):
    is_ood = RNG.permutation(np.arange(ind + ood) >= ind)
    for _ in range(50):
        rows = resample(is_ood, (0.2, 0.8), RNG)
        assert len(set(rows)) == len(rows) <= ind + ood
        assert (~is_ood[rows]).sum() >= min(20, ind)
        assert is_ood[rows].sum() >= min(20, ood)


def test_resampled_mixes_are_known_by_the_mix_that_they_are_drawn_from():
    meta = gaussian_mixes(sets=20)
    table = GscoreBest(resamples=3)
    table._prepare(meta.source)
    found = table._tabulate(meta)
    assert found.rows.shape[0] == len(found.targets) == len(found.families) == 80
    assert (found.targets[:20] == meta.targets).all()
    for i, family, target in zip(found.of, found.families, found.targets, strict=True):
        assert family == meta.families[i]
        assert target == pytest.approx(meta.targets[i], abs=0.25)
    known = np.concatenate([mix.scores[~ood] for mix, ood in zip(meta.sets, meta.ood, strict=True)])
    assert set(table.reference_) == {*meta.source.scores, *known}


def test_a_number_of_mixes_below_0_is_refused():
    with pytest.raises(UnusableInput, match="resamples must be at least 0, got -1"):
        GscoreBest(resamples=-1).fit(gaussian_mixes(sets=6))


def learnt(errors, log_n):
    """A method that learnt these errors (m,) of a plug-in estimate from meaningless evidence of ten families."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.uniform(0.4, 0.6, len(errors)), errors * (log_n < 5), log_n])
    method = GscoreBest()
    families = [frozenset({f"f{i % 10}"}) for i in range(len(errors))]
    method._learn(Table(rows, rows[:, 0] + errors, families, np.arange(len(errors))))
    return method, rows


def test_what_cannot_be_learnt_is_left_alone():
    """The evidence tells the errors of small mixes, nothing those of large ones."""
    rng = np.random.default_rng(2)
    log_n = np.log(np.where(np.arange(400) < 200, 50, 800))
    method, rows = learnt(rng.normal(0, 0.1, 400), log_n)
    assert (method.weights_ >= 0).all()
    changes = method._estimate(rows) - rows[:, 0]
    assert np.sqrt(np.mean(changes[:200] ** 2)) == pytest.approx(0.1, rel=0.2)
    assert np.sqrt(np.mean(changes[200:] ** 2)) < 0.02


def test_corrections_of_either_kind_count_by_size():
    rows = np.log([[50], [200], [800], [5000], [20]])
    found = by_size(np.tile([1.0, 2.0], (5, 1)), rows)
    assert found.tolist() == [
        pytest.approx(row)
        for row in ([1, 2, 0, 0], [0.5, 1, 0.5, 1], [0, 0, 1, 2], [0, 0, 1, 2], [1, 2, 0, 0])
    ]
