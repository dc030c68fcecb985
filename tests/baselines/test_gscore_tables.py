"""Tables of the Gscore paper on made-up mixes, and the folds behind them."""

import numpy as np
import pandas as pd
import pytest
from mixes import gaussian_mixes
from scipy.stats import pearsonr, spearmanr

from baselines import OOD_BASELINES
from baselines.families import subset
from baselines.gscore_tables import FLOOR, METHODS, SIZES, TABLES, ablate, floor, pooled, write_table
from baselines.held_out import family_folds, held_out, random_folds
from baselines.ude import Ude
from submission.errors import UnusableInput
from submission.metrics import noise_floor

META = gaussian_mixes(sets=40, n=400, share=(0.5, 0.5))
SUBJECTS = {"net:msp:fpr95": META, "net:mls:fpr95": gaussian_mixes(sets=40, n=400, seed=1)}


def test_a_fold_leaves_a_family_out_of_what_it_learns_from():
    test = gaussian_mixes(sets=20, seed=2)
    parts = family_folds(META, test)
    assert sorted(i for fold in parts for i in fold.test) == list(range(20))
    for fold in parts:
        assert all(test.families[i] == {fold.operation} for i in fold.test)
        assert {META.families[i] for i in fold.train} == set(META.families) - {frozenset({fold.operation})}


def test_random_splits_keep_families_together_and_repeat():
    parts = random_folds(META, META, 5)
    assert len(parts) == 5
    for fold, again in zip(parts, random_folds(META, META, 5), strict=True):
        assert {META.families[i] for i in fold.train}.isdisjoint(META.families[i] for i in fold.test)
        assert len(fold.train) + len(fold.test) == 40
        assert (fold.test == again.test).all()
    assert len({tuple(fold.test) for fold in parts}) > 1


@pytest.mark.parametrize("name", ["gscore-ude-w", "plugin-mpe", "constant"])
def test_held_out_is_a_fit_on_the_others(name):
    parts = family_folds(META, META)[:2]
    for fold, found in zip(parts, held_out(OOD_BASELINES[name], META, META, parts), strict=True):
        fitted = type(OOD_BASELINES[name])(**OOD_BASELINES[name].get_params()).fit(subset(META, fold.train))
        assert found == pytest.approx(fitted.predict(subset(META, fold.test).sets))


def test_correlations_are_those_of_the_points():
    points, found = TABLES["fig3"](SUBJECTS), TABLES["4"](SUBJECTS)
    assert len(points) == 80
    assert found.subject.tolist() == list(SUBJECTS)
    first = points[points.subject == "net:msp:fpr95"]
    assert first.target.tolist() == META.targets.tolist()
    assert found.pearson[0] == pytest.approx(pearsonr(first.gscore, first.target)[0])
    assert found.spearman[0] == pytest.approx(spearmanr(first.gscore, first.target)[0])
    assert found.pearson[0] < -0.8


def test_the_floor_is_about_binomial():
    sizes = [int(ood.sum()) for ood in META.ood]
    assert floor(META, "fpr95") == pytest.approx(noise_floor(META.targets, sizes), rel=0.25)


def test_the_methods_table(monkeypatch):
    monkeypatch.setattr("baselines.gscore_tables.OOD_BASELINES", {"gscore-ude-w": Ude()})
    found = TABLES["1"]({"net:msp:fpr95": META})
    assert found.method.tolist() == ["gscore-ude-w", FLOOR]
    assert (found.rmse > 0).all()
    assert found.deviation[0] > 0


def test_easy_families_come_first():
    found = TABLES["fig7"](SUBJECTS)
    msp = found[found.subject == "net:msp:fpr95"]
    assert msp.target.is_monotonic_increasing
    assert msp.family.iloc[0] == "f9"
    assert msp.target.iloc[-1] == pytest.approx(np.mean(META.targets[::10]))
    auroc = TABLES["fig7"]({"net:msp:auroc": META})
    assert auroc.target.is_monotonic_decreasing


def test_backbones_have_the_accuracy_and_mean_metrics():
    found = TABLES["2"]({"net:msp:fpr95": META})
    assert found.accuracy[0] == META.source.accuracy
    assert found.predicted[0] == pytest.approx(found.true[0], abs=0.15)


def test_pools_hold_every_score_once():
    ind, ood = pooled(META)
    assert set(ood) == {f"f{i}" for i in range(10)}
    assert len(ind) + sum(map(len, ood.values())) == 40 * 400


@pytest.mark.parametrize(("name", "axis"), [("fig9-ratio", "ratio"), ("fig9-size", "size")])
def test_gscore_still_correlates_on_other_mixes(name, axis):
    found = TABLES[name]({"net:msp:fpr95": META})
    at = found[(found.method == "gscore-ude-w") & (found[axis] == (1.0 if axis == "ratio" else SIZES[-1]))]
    assert at.pearson.item() > 0.8
    assert set(found.method) == {*METHODS, "gscore-kmeans"}


def test_the_reference_may_be_small():
    found = TABLES["fig10"]({"net:msp:fpr95": META})
    assert found["size"].tolist() == [50, 100, 200, 500, 1000, 2000]
    assert (found.pearson > 0.8).all()


def test_a_table_is_written_beside_its_plot(tmp_path):
    for name in ("4", "fig3", "fig7", "fig9-ratio"):
        table, plot = write_table(name, TABLES[name]({"net:msp:fpr95": META}), tmp_path / "new")
        assert len(pd.read_csv(table)) > 0
        assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_competition_is_ablated(ood_contest):
    frame, paths = ablate(ood_contest, "fig7")
    assert set(frame.subject) == set(ood_contest.subjects)
    assert [path.name for path in paths] == ["gscore-fig7.csv", "gscore-fig7.png"]
    assert all(path.parent == ood_contest.root / "ablation" and path.exists() for path in paths)


def test_what_cannot_be_ablated_is_told(ood_contest, contest):
    with pytest.raises(UnusableInput, match="'9' is unknown; the Gscore paper has 1, 2, 4, fig3"):
        ablate(ood_contest, "9")
    with pytest.raises(UnusableInput, match="OOD track"):
        ablate(contest, "1")
