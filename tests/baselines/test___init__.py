"""The names that a participant's file imports."""

import sys

OWN = """
from baselines import Estimator
from starter.observing import Observation


class Mean(Estimator):
    def _predict(self, observation: Observation) -> float:
        return float(observation.probabilities.max(axis=1).mean())
"""


def test_a_participants_file_needs_two_imports(tmp_path, monkeypatch):
    from baselines.contract import check_method
    from baselines.run.user_method import load_method

    (tmp_path / "own_mean.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    method = load_method("own_mean:Mean")
    assert [str(check) for check in check_method(method) if check.problem] == []


def test_the_public_names_are_the_contracts():
    import baselines
    import starter.observing
    from baselines import contract
    from starter.observing import observation

    for name in contract.__all__:
        assert getattr(baselines, name) is getattr(contract, name)
    assert {*starter.observing.__all__} == {"MetaTrain", "Observation", "ScoredMix", "Source"}
    for name in starter.observing.__all__:
        assert getattr(starter.observing, name) is getattr(observation, name)
