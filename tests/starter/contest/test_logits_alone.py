"""Competitions of classifiers whose logits no linear layer gives: built, observed and predicted by both tracks."""

import sys
from pathlib import Path

import numpy as np
import pytest

from baselines import BASELINES
from baselines.run.choose import choose_for
from baselines.run.predict import predict
from starter.contest.build import build, dry_run
from submission import Competition, UnusableInput
from unseen.api.contest import open as opened
from unseen.api.methods import methods_of

MODULE = "nets_of_logits"
CODE = """
from pathlib import Path
from starter.models.classifiers import read_classifier

def make(classes):
    known = read_classifier(Path({path!r}))
    def logits(x):
        return known.network(x)
    logits.mean, logits.std = known.mean, known.std
    return logits
"""


@pytest.fixture
def bare(weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The trained network as a function that gives logits, named as the user would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path(f"{MODULE}.py").write_text(CODE.format(path=str(weights)), encoding="utf-8")
    yield f"bare={MODULE}:make"
    sys.modules.pop(MODULE, None)


def test_methods_that_read_features_are_left_out(bare, settings, weights):
    few = {"train_sets": 6, "val_sets": 2, "test_sets": 4, "set_size": 30}
    asked = settings(classifiers=(bare, f"tiny={weights}"), group="natural-like", **few)
    assert "images" in dry_run(asked)[0]
    built = build(Path("contest"), asked, 11)
    competition = Competition.open(built.root)
    assert competition.logits_alone == ("bare",)
    assert "logits alone  bare" in competition.describe()
    kit = methods_of("accuracy")
    _, left_out = choose_for(competition, [], [], kit, [*kit])
    unfit = {
        name for name, reason in left_out.items() if "features are read, and bare gives logits" in reason
    }
    assert {"fd", "bop", "dispersion", "rotation"} <= unfit
    assert not unfit & {"atc", "cott", "cot", "nuclear", "mano", "mlls", "doc", "ei", "gde", "gated"}
    with pytest.raises(UnusableInput, match="fd cannot run on contest: features are read, and bare gives"):
        choose_for(competition, ["fd"], [], kit, ())
    written = predict(competition, {name: BASELINES[name] for name in ("atc", "cott", "ei")})
    rows = (row.split(",") for row in written["atc"]["test"].read_text().splitlines()[1:])
    values = {name: float(value) for name, value in rows}
    assert all(abs(values[f"bare/{each}"] - values[f"tiny/{each}"]) < 0.02 for each in built.sets("test")), (
        "it is the same network, but for rounding"
    )
    with pytest.raises(UnusableInput, match="features is not in needs"):
        opened("contest").observations("test", "bare")[0].features.mean()


def test_detectors_that_read_features_are_refused(bare, mix_settings):
    with pytest.raises(UnusableInput, match="detector knn: features are read, and bare gives logits alone"):
        build(Path("refused"), mix_settings(classifiers=(bare,), detectors=("msp", "knn")), 11)
    few = {"train_sets": 6, "val_sets": 2, "test_sets": 4}
    built = build(Path("mixes"), mix_settings(classifiers=(bare,), detectors=("msp",), **few), 11)
    kit = methods_of("ood")
    chosen, left_out = choose_for(built, [], [], kit, [*kit])
    assert "auto-eval" in left_out
    written = predict(built, {name: chosen[name] for name in ("constant", "gscore-kmeans")})
    rows = written["gscore-kmeans"]["test"].read_text().splitlines()[1:]
    assert np.isfinite([float(row.split(",")[1]) for row in rows]).all()
