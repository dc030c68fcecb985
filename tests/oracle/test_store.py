"""Saved oracles predict what they did; damaged ones are refused in one line."""

import json
import shutil

import numpy as np
import pytest

from baselines.conformance import example_meta_train
from oracle import ORACLES, OraA, OraL, UnseenBest
from oracle.store import CLASSES, load, save
from submission import UnusableInput

META = example_meta_train(sets=8)
QUICK = {
    "ora-a": {"iterations": 5, "batch_size": 20, "indicators": "entropy,fd,knn,calibrated"},
    "ora-b": {"iterations": 5, "batch_size": 20},
    "syp": {"iterations": 5, "batch_size": 20, "estimate": "mean", "tokens": "indicators"},
    "ora-l": {"trees": 5, "normalisation": "global"},
    "unseen-best": {"trees": 5},
}


def test_every_oracle_of_the_kit_can_be_saved():
    assert list(CLASSES) == list(ORACLES)


@pytest.mark.parametrize("name", list(CLASSES))
def test_a_loaded_oracle_predicts_the_same(name, tmp_path):
    oracle = CLASSES[name](**QUICK[name]).fit(META)
    save(oracle, tmp_path / "saved")
    assert sorted(path.name for path in (tmp_path / "saved").iterdir()) == [
        "oracle.json",
        "oracle.safetensors",
    ]
    again = load(tmp_path / "saved")
    assert again.get_params() == oracle.get_params()
    np.testing.assert_array_equal(again.predict(META.sets[:3]), oracle.predict(META.sets[:3]))


@pytest.mark.parametrize("estimate", ["trees", "transport"])
def test_parts_of_unseen_best(estimate, tmp_path):
    oracle = UnseenBest(estimate=estimate, trees=3).fit(META)
    save(oracle, tmp_path)
    np.testing.assert_array_equal(load(tmp_path).predict(META.sets[:2]), oracle.predict(META.sets[:2]))


def test_an_unfitted_oracle_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="OraA is no fitted oracle of the kit"):
        save(OraA(), tmp_path)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    save(OraL(trees=2).fit(META), folder)
    return folder


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "oracle.json").unlink(), "holds no saved oracle"),
        (lambda folder: (folder / "oracle.safetensors").write_bytes(b"no"), "holds no saved oracle"),
        (lambda folder: (folder / "oracle.json").write_text("[]"), "holds no saved oracle"),
        (lambda folder: change(folder, format="unseen-oracle 0"), "has the format 'unseen-oracle 0'"),
        (lambda folder: change(folder, oracle="pickle"), "holds no saved oracle: 'pickle'"),
        (lambda folder: change(folder, parameters={"trees": 0}), "trees must be a whole number"),
    ],
)
def test_damage_is_refused(damage, message, saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "copy")
    damage(folder)
    with pytest.raises(UnusableInput, match=message):
        load(folder)


def change(folder, **values):
    document = json.loads((folder / "oracle.json").read_text())
    (folder / "oracle.json").write_text(json.dumps(document | values))
