"""Regressors of scikit-learn as methods: the contract, what is saved, and what is not read."""

import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from baselines.contract.conformance import check_method, example_meta_train
from baselines.run.choose import set_parameter
from baselines.run.tabular import MEASURES, Tabular
from submission import UnusableInput

META = example_meta_train()
FOREST = RandomForestRegressor(5, random_state=0)


@pytest.mark.parametrize("regressor", [make_pipeline(StandardScaler(), Ridge()), FOREST])
@pytest.mark.parametrize("track", ["accuracy", "ood"])
@pytest.mark.slow
def test_it_keeps_the_contract(regressor, track):
    assert not [str(check) for check in check_method(Tabular(regressor, track), track) if check.problem]


def test_it_learns_from_the_table_that_is_shown():
    method = Tabular(LinearRegression()).fit(META)
    columns = list(MEASURES["accuracy"](META.sets[0], META.source))
    assert list(method.regressor_.feature_names_in_) == columns
    assert columns[-2:] == ["doc", "fd"]
    assert not hasattr(method.regressor, "coef_")


def test_a_saved_file_of_another_regressor_is_refused(tmp_path):
    Tabular(Ridge()).fit(META).save(tmp_path / "m.safetensors")
    with pytest.raises(UnusableInput, match=r"Tabular\(Ridge\), not Tabular\(RandomForestRegressor\)"):
        Tabular(FOREST).load(tmp_path / "m.safetensors")


def test_parameters_of_steps_are_set_by_text_and_saved(tmp_path):
    methods = {"mine:model": Tabular(make_pipeline(StandardScaler(), Ridge()))}
    set_parameter(methods, "mine:model.ridge__alpha=10")
    methods["mine:model"].fit(META).save(tmp_path / "m.safetensors")
    loaded = Tabular(make_pipeline(StandardScaler(), Ridge())).load(tmp_path / "m.safetensors")
    assert loaded.parameters()["ridge__alpha"] == 10.0
    with pytest.raises(UnusableInput, match="has no such parameter; it has"):
        set_parameter(methods, "mine:model.alpha=10")
