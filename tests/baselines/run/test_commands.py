"""`new-method`."""

from pathlib import Path

import pytest
from command_line import run

OWN = """from baselines import Estimator
from starter.observing import MetaTrain, Observation, Source


class Own(Estimator):
    def _fit(self, meta: MetaTrain) -> None:
        source: Source = meta.source
        self.shift_ = meta.targets.mean() - self.sure(source.observation)

    def _predict(self, observation: Observation) -> float:
        return self.sure(observation) + self.shift_

    def sure(self, observation: Observation) -> float:
        return float(observation.probabilities.max(axis=1).mean())
"""


def test_the_documented_imports_serve_a_file_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(OWN)
    assert "FAIL" not in run("check-method", "own:Own").text


def test_a_new_method_goes_from_check_to_predictions(mixes):
    assert "--track ood" in run("new-method", "own_way", "--track", "ood").text
    assert run("check-method", "own_way:OwnWay", "--track", "ood").code == 0
    run("predict", "mixes", "own_way:OwnWay")
    assert run("validate", "mixes", "mixes/submissions/own_way.OwnWay.csv").text.startswith("valid\n")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["new-method", "Not A Name"], 2, "cannot name a module"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text
