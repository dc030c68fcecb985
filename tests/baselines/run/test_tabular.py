"""Regressors of scikit-learn as methods: the contract, what is saved, and what is not read."""

import io
import zipfile

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baselines.contract.conformance import check_method, example_meta_train, example_mixes
from baselines.contract.saved import write_saved
from baselines.run.choose import own_parameters, set_parameters
from baselines.run.features import measure_of
from baselines.run.tabular import Tabular, described, is_tabular
from submission import UnusableInput

META = example_meta_train()
FOREST = RandomForestRegressor(5, random_state=0)


@pytest.mark.parametrize("regressor", [make_pipeline(StandardScaler(), Ridge()), FOREST])
@pytest.mark.parametrize("track", ["accuracy", "ood"])
def test_it_keeps_the_contract(regressor, track):
    assert not [str(check) for check in check_method(Tabular(regressor, track), track) if check.problem]


def test_it_learns_from_the_table_that_is_shown():
    method = Tabular(LinearRegression()).fit(META)
    columns = list(measure_of("accuracy", META.source)(META.sets[0]))
    assert list(method.regressor_.feature_names_in_) == columns
    assert columns[-2:] == ["doc", "fd"]
    assert not hasattr(method.regressor, "coef_")


def test_the_columns_of_the_ood_track_are_numbers():
    meta = example_mixes()
    found = measure_of("ood", meta.source)(meta.sets[0])
    assert {"gscore-kmeans", "plugin-mpe", "auto-eval"} < set(found)
    assert np.isfinite(list(found.values())).all()


def test_intervals_hold_the_prediction():
    method = Tabular(Ridge()).fit(META)
    (low, high), (value,) = method.predict_interval(META.sets[:1])[0], method.predict(META.sets[:1])
    assert 0 <= low <= value <= high <= 1


def test_what_is_not_scikit_learns_is_not_read(tmp_path):
    method = Tabular(LGBMRegressor(n_estimators=2, min_child_samples=2, verbose=-1, n_jobs=1)).fit(META)
    method.save(tmp_path / "m.safetensors")
    with pytest.raises(UnusableInput, match=r"has .*lightgbm.*, which is not from scikit-learn"):
        Tabular(LGBMRegressor()).load(tmp_path / "m.safetensors")


def elsewhere(data: bytes) -> bytes:
    """The saved regressor, of a module that scikit-learn does not have."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as packed, zipfile.ZipFile(found, "w") as other:
        for name in packed.namelist():
            other.writestr(name, packed.read(name).replace(b"linear_model._ridge", b"linear_model.gone"))
    return found.getvalue()


@pytest.mark.parametrize("changed", [elsewhere, lambda data: b"no zip"])
def test_a_damaged_regressor_is_named(tmp_path, changed):
    method, path = Tabular(Ridge()).fit(META), tmp_path / "m.safetensors"
    state = method._state()
    data = np.frombuffer(changed(state["regressor"].tobytes()), np.uint8)
    write_saved(path, method._kind, method._parameters(), {**state, "regressor": data})
    with pytest.raises(UnusableInput, match=r"m.safetensors was saved by another version of the kit \("):
        Tabular(Ridge()).load(path)


def test_a_saved_file_of_another_regressor_is_refused(tmp_path):
    Tabular(Ridge()).fit(META).save(tmp_path / "m.safetensors")
    with pytest.raises(UnusableInput, match=r"holds Tabular\(Ridge\), not Tabular\(RandomForestRegressor\)"):
        Tabular(FOREST).load(tmp_path / "m.safetensors")


def test_parameters_of_steps_are_set_by_text():
    methods = {"mine:model": Tabular(make_pipeline(StandardScaler(), Ridge()))}
    set_parameters(methods, {"mine:model": {"ridge__alpha": 10}})
    assert own_parameters(methods["mine:model"])["ridge__alpha"] == 10.0
    with pytest.raises(UnusableInput, match="has no such parameter; it has"):
        set_parameters(methods, {"mine:model": {"alpha": 10}})


def test_regressors_are_told_from_others():
    assert is_tabular(Ridge())
    assert not any(map(is_tabular, (Ridge, StandardScaler(), "ridge", Tabular(Ridge()), None)))
    assert described(Ridge()) == "Ridge"
