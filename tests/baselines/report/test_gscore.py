"""Tables of the Gscore paper on made-up mixes, and the folds behind them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from mixes import gaussian_mixes
from scipy.stats import pearsonr, spearmanr

from baselines import OOD_BASELINES
from baselines.contract.families import subset
from baselines.contract.held_out import family_folds, held_out, random_folds
from baselines.ood.ude import Ude
from baselines.report.gscore import METHODS, SIZES, TABLES, ablate, pooled, write_table
from baselines.report.near_far import FLOOR, deviations
from starter.classifiers import read_classifier, save_classifier
from starter.making.build import build
from submission.errors import UnusableInput
from submission.metrics import deviation_floor

META = gaussian_mixes(sets=40, n=400, share=(0.5, 0.5))
SUBJECTS = {"net:msp:fpr95": META, "net:mls:fpr95": gaussian_mixes(sets=40, n=400, seed=1)}


def test_a_fold_leaves_a_family_out_of_what_it_learns_from():
    test = gaussian_mixes(sets=20, seed=2)
    parts = family_folds(META, test)
    assert sorted(i for fold in parts for i in fold.test) == list(range(20))
    for fold in parts:
        assert all(test.families[i] == {fold.operation} for i in fold.test)
        assert {META.families[i] for i in fold.train} == set(META.families) - {frozenset({fold.operation})}


def test_random_splits_keep_ood_sets_together_and_repeat():
    parts = random_folds(META, 5)
    assert len(parts) == 5
    for fold, again in zip(parts, random_folds(META, 5), strict=True):
        assert {META.ood_sets[i] for i in fold.train}.isdisjoint(META.ood_sets[i] for i in fold.test)
        assert (len(fold.train), len(fold.test)) == (30, 10)
        assert (fold.test == again.test).all()
    assert len({tuple(fold.test) for fold in parts}) > 1
    assert not {META.families[i] for i in fold.train}.isdisjoint(META.families[i] for i in fold.test)


def test_random_splits_are_of_families_where_ood_sets_have_no_names():
    unnamed = replace(META, ood_sets=())
    for fold in random_folds(unnamed, 3):
        assert {META.families[i] for i in fold.train}.isdisjoint(META.families[i] for i in fold.test)


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
    found = deviation_floor(list(deviations(META, "fpr95")))
    assert found == pytest.approx(
        deviation_floor(np.sqrt(META.targets * (1 - META.targets) / sizes)), rel=0.25
    )


def test_the_methods_table(monkeypatch):
    monkeypatch.setattr("baselines.report.gscore.OOD_BASELINES", {"gscore-ude-w": Ude()})
    found = TABLES["1"]({"net:msp:fpr95": META})
    assert found.method.tolist() == ["gscore-ude-w", FLOOR]
    parts = family_folds(META, META)
    errors = [
        Ude().fit(subset(META, fold.train)).predict(subset(META, fold.test).sets) - META.targets[fold.test]
        for fold in parts
    ]
    assert found.rmse[0] == pytest.approx(100 * np.sqrt(np.mean(np.concatenate(errors) ** 2)))
    assert found.low[0] < found.rmse[0] < found.high[0]
    assert found.low.isna().tolist() == [False, True]


def test_the_papers_random_splits_stand_beside_the_families(monkeypatch):
    monkeypatch.setattr("baselines.report.gscore.OOD_BASELINES", {"gscore-ude-w": Ude()})
    found = TABLES["1"](SUBJECTS, 5)
    assert found.split.tolist() == ["family", "random", "family"] * 2
    errors = [
        Ude().fit(subset(META, fold.train)).predict(subset(META, fold.test).sets) - META.targets[fold.test]
        for fold in random_folds(META, 5)
    ]
    each = [100 * np.sqrt(np.mean(one**2)) for one in errors]
    assert found.loc[1, ["rmse", "rmse_deviation"]].tolist() == pytest.approx([np.mean(each), np.std(each)])


def test_correlations_over_random_splits_are_of_the_tested_mixes():
    found = TABLES["4"](SUBJECTS, 5)
    assert found.split.tolist() == ["family", "random"] * 2
    assert found.pearson[1] == pytest.approx(found.pearson[0], abs=0.1)
    assert (found.pearson_deviation[[1, 3]] > 0).all()
    assert found.pearson_deviation[[0, 2]].isna().all()


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
    assert found.true.tolist() == [pytest.approx(META.targets.mean())]
    assert found.predicted[0] == pytest.approx(found.true[0], abs=0.15)
    split = TABLES["2"](SUBJECTS, 5)
    assert split.split.tolist() == ["family", "random"] * 2
    assert (split.predicted_deviation[[1, 3]] > 0).all()


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


@pytest.mark.slow
def test_a_table_is_written_beside_its_plot(tmp_path):
    frames = {name: TABLES[name](SUBJECTS) for name in ("4", "fig3", "fig7", "fig9-ratio")}
    for name, frame in {**frames, "2": TABLES["2"](SUBJECTS, 2)}.items():
        table, plot = write_table(name, frame, tmp_path / "new")
        assert len(pd.read_csv(table)) > 0
        assert plot.read_bytes().startswith(b"\x89PNG")


def test_a_competition_is_ablated(ood_contest):
    frame, paths = ablate(ood_contest, "fig7")
    one = ood_contest.subjects[1]
    assert ablate(ood_contest, "fig7", only=[one])[0].equals(
        frame[frame.subject == one].reset_index(drop=True)
    )
    assert set(frame.subject) == set(ood_contest.subjects)
    assert [path.name for path in paths] == ["gscore-fig7.csv", "gscore-fig7.png"]
    assert all(path.parent == ood_contest.root / "ablation" and path.exists() for path in paths)


def test_several_backbones_are_compared(tmp_path, mix_settings, weights):
    worse = read_classifier(weights)
    with torch.no_grad():
        head = worse.network.head.weight
        head += head.std() * torch.randn(head.shape, generator=torch.Generator().manual_seed(0))
    save_classifier(worse, tmp_path / "worse.safetensors")
    both = (f"tiny={weights}", f"worse={tmp_path / 'worse.safetensors'}")
    competition = build(tmp_path / "mixes", mix_settings(classifiers=both, detectors=("msp",)), 11)
    frame, _ = ablate(competition, "2", splits=2)
    assert frame.subject.tolist() == [name for name in competition.subjects for _ in range(2)]
    with np.load(competition.file("reference.npz")) as reference:
        images, labels = reference["images"], reference["labels"]
    for spec in both:
        name, _, path = spec.partition("=")
        rows = frame[frame.subject == f"{name}:msp:fpr95"]
        logits, _ = read_classifier(Path(path))(images)
        right = float((logits.numpy().argmax(axis=1) == labels).mean())
        assert rows.accuracy.tolist() == [pytest.approx(right, abs=0.003)] * 2
        assert rows.true.between(0, 1).all()


def test_what_cannot_be_ablated_is_told(ood_contest):
    with pytest.raises(UnusableInput, match="'9' is unknown; the Gscore paper has 1, 2, 4, fig3"):
        ablate(ood_contest, "9")
    with pytest.raises(UnusableInput, match="--splits is for tables 1, 2, 4, not for fig7"):
        ablate(ood_contest, "fig7", 5)
    with pytest.raises(UnusableInput, match="--subject net: no such subject; there are tiny:"):
        ablate(ood_contest, "fig7", only=["net"])
