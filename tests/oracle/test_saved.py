"""Saved oracles predict what they did, whatever their parameters."""

import numpy as np
import pytest
from sklearn.base import clone

from baselines.contract.conformance import example_meta_train
from baselines.contract.saved import write_saved
from oracle import ORACLES, UnseenBest
from submission import UnusableInput

META = example_meta_train(sets=8)
CHANGES = {
    "ora-a": {"iterations": 5, "batch_size": 20, "indicators": "entropy,fd,knn,calibrated"},
    "ora-b": {"iterations": 5, "batch_size": 20, "estimate": "cv"},
    "syp": {"iterations": 5, "batch_size": 20, "estimate": "mean", "tokens": "indicators"},
    "ora-l": {"trees": 5, "normalisation": "global"},
    "unseen-best": {"copies": 1},
}


@pytest.mark.parametrize("name", list(ORACLES))
def test_a_loaded_oracle_predicts_the_same(name, tmp_path):
    oracle = clone(ORACLES[name]).set_params(**CHANGES[name]).fit(META)
    oracle.save(tmp_path / "oracle.safetensors")
    again = clone(ORACLES[name]).load(tmp_path / "oracle.safetensors")
    assert again.get_params() == oracle.get_params()
    np.testing.assert_array_equal(again.predict(META.sets[:3]), oracle.predict(META.sets[:3]))


def test_another_oracles_file_is_refused(tmp_path):
    UnseenBest().fit(META).save(tmp_path / "oracle.safetensors")
    with pytest.raises(UnusableInput, match="holds UnseenBest, not OraA"):
        clone(ORACLES["ora-a"]).load(tmp_path / "oracle.safetensors")


@pytest.mark.parametrize("name", ["ora-a", "ora-l", "unseen-best"])
def test_a_file_that_lacks_a_key_is_refused_in_one_line(name, tmp_path):
    oracle = clone(ORACLES[name]).set_params(**CHANGES[name]).fit(META)
    state, path = oracle._state(), tmp_path / "oracle.safetensors"
    for key in state:
        write_saved(path, oracle._kind, oracle._parameters(), {k: v for k, v in state.items() if k != key})
        with pytest.raises(UnusableInput, match="was saved by another version of the kit") as caught:
            clone(ORACLES[name]).load(path)
        assert f"(no '{key}')" in str(caught.value)
