"""Tables of the Gscore paper on made-up mixes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from mixes import gaussian_mixes
from scipy.stats import pearsonr, spearmanr

from baselines.contract.families import divided, folds, random_folds, subset
from baselines.ood.ude import Ude
from baselines.report.correlations import METHODS, SIZES, correlation
from baselines.report.gscore import (
    DRAWS,
    EASIEST,
    FLOOR,
    FOLDS,
    _spread,
    ablate,
    deviations,
    make_table,
    write_table,
)
from starter.contest.ood.observe import MixSets
from starter.observing.detectors.metrics import fpr
from submission import make_id
from submission.errors import UnusableInput
from submission.scoring import read_targets

META = gaussian_mixes(sets=40, n=400, share=(0.5, 0.5))
SUBJECTS = {"net:msp:fpr95": META, "net:mls:fpr95": gaussian_mixes(sets=40, n=400, seed=1)}
FAMILIES = [next(iter(family)) for family in META.families]


@pytest.fixture
def tabled(tmp_path):
    """Make a table, and write it beside its plot."""

    def make(name, subjects, splits=0):
        frame = make_table(name, subjects, splits)
        table, plot = write_table(name, frame, tmp_path / "new")
        assert len(pd.read_csv(table)) == len(frame)
        assert plot.read_bytes().startswith(b"\x89PNG")
        return frame

    return make


def test_correlations_are_those_of_the_points(tabled):
    points, found = tabled("fig3", SUBJECTS), tabled("4", SUBJECTS, 5)
    assert len(points) == 80
    first = points[points.subject == "net:msp:fpr95"]
    assert first.target.tolist() == META.targets.tolist()
    assert found.split.tolist() == ["family", "random"] * 2
    assert found.pearson[0] == pytest.approx(pearsonr(first.gscore, first.target)[0])
    assert found.spearman[0] == pytest.approx(spearmanr(first.gscore, first.target)[0])
    assert found.pearson[0] < -0.8
    assert found.pearson[1] == pytest.approx(found.pearson[0], abs=0.1)
    assert found.pearson_deviation.isna().tolist() == [True, False] * 2


def test_predictions_that_differ_by_rounding_alone_have_no_correlation():
    constant, truth = np.full(20, 0.9), np.linspace(0.1, 0.8, 20)
    assert np.isnan(correlation(constant + 1e-15 * np.arange(20), truth)).all()
    assert np.isnan(correlation(np.zeros(20), truth)).all()
    assert np.isnan(correlation(truth[:2], truth[:2])).all()
    assert np.isfinite(correlation(constant + 1e-6 * np.arange(20), truth)).all()


def held_out_errors(parts):
    found = []
    for fold in parts:
        test = subset(META, fold.test)
        found.append(100 * (Ude().fit(subset(META, fold.train)).predict(test.sets) - test.targets))
    return found


@pytest.fixture
def one_method(monkeypatch):
    monkeypatch.setattr("baselines.report.gscore.OOD_BASELINES", {"gscore-ude-w": Ude()})


@pytest.mark.usefixtures("one_method")
def test_the_methods_table_has_errors_on_left_out_families_and_on_random_splits(tabled):
    found = tabled("1", {"net:msp:fpr95": META}, 5)
    assert found.method.tolist() == ["gscore-ude-w", "gscore-ude-w", FLOOR]
    assert found.split.tolist() == ["family", "random", "family"]
    errors = np.concatenate(held_out_errors(folds(META.families)))
    assert found.rmse[0] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert found.low[0] < found.rmse[0] < found.high[0]
    assert found.low.isna().tolist() == [False, True, True]
    each = [np.sqrt(np.mean(one**2)) for one in held_out_errors(random_folds(META, 5))]
    assert found.loc[1, ["rmse", "rmse_deviation"]].tolist() == pytest.approx([np.mean(each), np.std(each)])


def test_the_deviation_is_that_of_the_rmse_over_draws_of_whole_families():
    errors = np.array([0.1, -0.2, 0.05, 0.3, 0.0, -0.15, 0.25])
    families = np.array(["b", "a", "b", "c", "a", "b", "c"])
    own = [errors[families == name] for name in "abc"]
    draws = np.random.default_rng(0).integers(3, size=(DRAWS, 3))
    drawn = [np.concatenate([own[place] for place in draw]) for draw in draws]
    values = [100 * np.sqrt(np.mean(each**2)) for each in drawn]
    assert _spread(errors, families) == pytest.approx(np.std(values, ddof=0), rel=1e-9)


@pytest.mark.usefixtures("one_method")
def test_errors_on_near_and_far_mixes_are_those_of_left_out_families(tabled):
    names = [f"{family}_{'near' if family < 'f4' else 'far'}_zoo" for family in FAMILIES]
    found = tabled("near-far", {"net:msp:fpr95": replace(META, ood_sets=names)})
    assert found.kind.tolist() == ["far", "far", "near", "near"]
    assert found.method.tolist() == ["gscore-ude-w", FLOOR] * 2
    errors, parts = np.empty(40), divided(META, FOLDS)
    for fold, values in zip(parts, held_out_errors(parts), strict=True):
        errors[fold.test] = values
    for kind, row in (("far", found.iloc[0]), ("near", found.iloc[2])):
        mine = [kind in name for name in names]
        truth = META.targets[mine]
        assert row.rmse == pytest.approx(np.sqrt(np.mean(errors[mine] ** 2)))
        assert row.pearson == pytest.approx(pearsonr(truth + errors[mine] / 100, truth)[0])
        assert 0 < row.rmse_deviation < row.rmse


@pytest.mark.parametrize("threshold", ["pool", "mix"])
@pytest.mark.slow
def test_deviations_are_those_of_drawing_the_images_again(threshold):
    meta, rng, wanted = gaussian_mixes(sets=6, n=400), np.random.default_rng(1), []
    for mix, ood in zip(meta.sets, meta.ood, strict=True):
        scores, values = mix.scores, []
        for _ in range(300):
            kept, new = (rng.choice(scores[part], part.sum()) for part in (~ood, ood))
            pool = rng.choice(meta.source.scores, len(meta.source.scores))
            values.append(fpr(pool if threshold == "pool" else kept, new))
        wanted.append(np.std(values))
    np.testing.assert_allclose(deviations(replace(meta, fpr=threshold), "fpr95"), wanted, rtol=0.25)


def test_easy_families_come_first(tabled):
    found = tabled("fig7", SUBJECTS)
    msp = found[found.subject == "net:msp:fpr95"]
    assert msp.target.is_monotonic_increasing
    assert msp.family.iloc[0] == "f9"
    assert msp.target.iloc[-1] == pytest.approx(np.mean(META.targets[::10]))
    assert make_table("fig7", {"net:msp:auroc": META}).target.is_monotonic_decreasing


def test_backbones_have_the_accuracy_and_mean_metrics(tabled):
    found = tabled("2", SUBJECTS, 5)
    assert found.split.tolist() == ["family", "random"] * 2
    assert found.accuracy[0] == META.source.accuracy
    assert found.true[0] == pytest.approx(META.targets.mean())
    assert found.predicted[0] == pytest.approx(found.true[0], abs=0.15)
    assert found.predicted_deviation.isna().tolist() == [True, False] * 2


def test_families_have_the_truth_and_the_prediction_of_a_fit_without_them():
    found = make_table("5", {"net:msp:fpr95": META})
    mine = found[found.method == "gscore-ude-w"]
    errors = np.concatenate(held_out_errors(folds(META.families)))
    weights = mine.family.map(FAMILIES.count)
    assert np.average(mine.true, weights=weights) == pytest.approx(META.targets.mean())
    assert np.average(mine.predicted - mine.true, weights=weights) == pytest.approx(errors.mean() / 100)


def test_all_mixes_are_counted_by_their_metric(tmp_path):
    found = make_table("fig8", {"net:msp:fpr95": META})
    inside = (found["from"].iloc[8] <= META.targets) & (META.targets < found["from"].iloc[9])
    assert (found.mixes.sum(), found.mixes.iloc[8]) == (40, inside.sum())
    assert all(path.exists() for path in write_table("fig8", found, tmp_path))


@pytest.mark.parametrize(
    ("name", "axis", "value", "least"),
    [
        ("fig9-ratio", "ratio", 1.0, 0.8),
        ("fig9-size", "size", SIZES[-1], 0.8),
        ("fig9-random", "draw", 1, 0.3),
    ],
)
@pytest.mark.slow
def test_gscore_still_correlates_on_other_mixes(name, axis, value, least, tabled):
    found = tabled(name, {"net:msp:fpr95": META})
    at = found[(found.method == "gscore-ude-w") & (found[axis] == value)]
    assert at.pearson.item() > least
    assert set(found.method) == {*METHODS, "gscore-kmeans"}
    assert found.pearson.nunique() == len(found.dropna())


def test_the_reference_may_be_small(tabled):
    found = tabled("fig10", {"net:msp:fpr95": META})
    assert found["size"].tolist() == [50, 100, 200, 500, 1000, 2000]
    assert (found.pearson > 0.8).all()


def test_the_sets_that_are_told_best_are_shown_with_their_images(ood_contest):
    frame, (_, plot) = ablate(ood_contest, "fig12")
    mixes, targets = MixSets(ood_contest).mixes, read_targets(ood_contest, "train")
    assert [*frame.subject.unique()] == [*ood_contest.subjects]
    for subject, rows in frame.groupby("subject"):
        own = pd.Series([targets[make_id(subject, mix.name)] for mix in mixes])
        means = own.groupby([mix.ood_set for mix in mixes]).mean().to_dict()
        best = sorted(means.values(), reverse=subject.endswith("auroc"))[:EASIEST]
        assert rows.target.tolist() == pytest.approx(best)
        assert [means[name] for name in rows.ood_set] == pytest.approx(best)
    bars = write_table("fig12", frame, plot.parent / "bars")[1]
    assert bars.read_bytes() != plot.read_bytes()


def test_a_competition_is_ablated(ood_contest):
    frame, paths = ablate(ood_contest, "fig7")
    assert set(frame.subject) == set(ood_contest.subjects)
    assert [path.name for path in paths] == ["gscore-fig7.csv", "gscore-fig7.png"]
    assert all(path.parent == ood_contest.root / "ablation" and path.exists() for path in paths)
    with pytest.raises(UnusableInput, match="'9' is unknown"):
        ablate(ood_contest, "9")
