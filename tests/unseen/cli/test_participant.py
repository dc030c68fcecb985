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


def test_a_regressor_goes_from_check_to_predictions_under_names_of_its_own(folder):
    assert "Next: unseen check-method own_model:model" in run("new-method", "own_model", "--sklearn").text
    assert "FAIL" not in run("check-method", "own_model:model").text
    alphas = ("--set", "weak.ridge__alpha=0.1", "--set", "strong.ridge__alpha=100")
    twice = ("own_model:model", "own_model:model", "--as", "weak", "--as", "strong", *alphas)
    run("predict", "contest", *twice, "--note", "two alphas")
    assert {path.name for path in Path("contest/submissions").iterdir()} == {"weak.csv", "strong.csv"}
    assert Path("contest/runs.csv").read_text().count(",two alphas,") == 2
    run("report", "contest", *twice)
    assert {line.split(",")[0] for line in Path("contest/report.csv").read_text().splitlines()[1:]} == {
        "weak",
        "strong",
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fd", "atc", "--as", "one"), "give --as once per METHOD, in the same order: 2, not 1"),
        (("fd", "atc", "--as", "one", "--as", "one"), "two methods are called one"),
        (("fd", "--as", "atc"), "atc is a method of the kit: give yours another name"),
        (("fd", "--as", "a/b"), "'a/b' cannot name a method"),
    ],
)
def test_names_that_cannot_be_are_refused(arguments, message, folder):
    result = run("predict", "contest", *arguments, check=False)
    assert (result.code, message in result.text) == (2, True), result.text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["new-method", "Not A Name"], 2, "cannot name a module"),
    ],
)
def test_mistakes_get_one_clear_message(arguments, code, message, folder):
    result = run(*arguments, check=False)
    assert (result.code, message in result.text) == (code, True), result.text
