"""Methods beside each other: the report's numbers as a table, the figure, and the log."""

import csv
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unseen
from baselines.report.report import run_report
from submission import UnusableInput
from unseen.api.kit import methods_of

pytestmark = pytest.mark.slow


class Mean(unseen.Estimator):
    def __init__(self, shift=0.0):
        self.shift = shift

    def _fit(self, meta):
        self.mean_ = float(meta.targets.mean()) + self.shift

    def _predict(self, observation):
        return self.mean_


@pytest.fixture
def opened(contest):
    return unseen.open(contest.root)


def test_a_table_has_the_reports_numbers(opened):
    methods = ["constant", "fd", Mean(), Mean(shift=0.1), make_pipeline(StandardScaler(), Ridge())]
    scores = unseen.evaluate(opened, methods, note="both shifts")
    kit = {name: methods_of("accuracy")[name] for name in ("constant", "fd")}
    lines = {(line.method, line.group): line for line in run_report(opened, kit, progress=False).lines()}
    for row in scores[scores.method.isin(kit)].itertuples():
        expected = lines[row.method, row.group]
        assert (row.rmse, row.mae) == (expected.rmse, expected.mae)
    overall = scores[scores.group == "all"].set_index("method")
    assert list(overall.columns[:4]) == ["subject", "group", "sets", "families"]
    assert overall.loc["Mean", "rmse"] == pytest.approx(overall.loc["constant", "rmse"])
    assert "StandardScaler+Ridge" in overall.index
    with (opened.root / "runs.csv").open() as stream:
        logged = {row["method"]: row for row in csv.DictReader(stream)}
    assert logged["Mean(shift=0.1)"]["note"] == "both shifts"
    assert float(logged["fd"]["score"]) == pytest.approx(overall.loc["fd", "rmse"], abs=1e-4)


def test_what_is_predicted_can_be_had_and_plotted(opened):
    scores = unseen.evaluate(opened, "constant")
    predictions = scores.predictions()
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(scores)).predictions(), predictions)
    assert tuple(predictions.index) == opened.ids("val")
    assert np.sqrt(((predictions.constant - predictions.target) ** 2).mean()) * 100 == pytest.approx(
        scores[scores.group == "all"].rmse.item()
    )
    assert scores.plot()._repr_png_().startswith(b"\x89PNG")
    assert type(scores[scores.group == "all"]) is pd.DataFrame


def test_what_breaks_the_contract_is_named(opened):
    with pytest.raises(UnusableInput, match=r"^Mean\(shift=73\) fails in predict for tiny/.*not percentages"):
        unseen.evaluate(opened, Mean(shift=73))
