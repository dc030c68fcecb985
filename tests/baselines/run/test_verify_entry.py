"""A rerun agrees with what the same method submitted, and with nothing else."""

import numpy as np
import pytest

from baselines import BASELINES, Estimator
from baselines.run.predict import predict
from baselines.run.verify_entry import Verification, verify_entry
from submission import InvalidSubmission, UnusableInput, write_predictions
from submission.predictions import write_answer


@pytest.fixture
def entry(contest):
    """What `atc` submits."""
    return predict(contest, {"atc": BASELINES["atc"]}, progress=False)["atc"]["test"]


def verified(contest, file, name="atc", method=None, **options):
    return verify_entry(contest, file, name, method or BASELINES[name], progress=False, **options)


def test_the_same_method_is_verified_to_the_last_bit(contest, entry, tmp_path):
    found = verified(contest, entry, tolerance=0.0)
    assert found.submitted == found.rerun
    assert str(found) == (
        "verified: the method predicts all 12 submitted numbers (largest difference 0, tolerance 0)"
    )
    write_answer(tmp_path / "answer.zip", found.submitted)
    assert not verified(contest, tmp_path / "answer.zip").differing


def test_another_method_is_told_apart_id_by_id(contest, entry):
    found = verified(contest, entry, "constant")
    assert set(found.differing) <= set(contest.ids("test"))
    assert len(found.differing) > 8
    gaps = [found.differences[name] for name in found.differing]
    assert gaps == sorted(gaps, reverse=True)
    first = found.differing[0]
    assert (
        str(found)
        .splitlines()[0]
        .startswith(f"not verified: {len(found.differing)} of 12 predictions differ (")
    )
    assert str(found).splitlines()[1] == (
        f"  {first}: {found.submitted[first]:.6f} submitted, {found.rerun[first]:.6f} now"
    )


def test_private_is_not_needed(contest, entry, tmp_path):
    contest.private.rename(tmp_path / "away")
    assert not verified(contest, entry).differing


def test_the_first_twenty_are_shown():
    values = {f"m/s{number}": number / 100 for number in range(30)}
    text = str(Verification(values, dict.fromkeys(values, 1.0), 1e-4))
    assert text.startswith(
        "not verified: 30 of 30 predictions differ (largest difference 1, tolerance 0.0001)"
    )
    assert len(text.splitlines()) == 22
    assert text.endswith("  ... and 10 more")


def test_the_tolerance_is_inclusive():
    found = Verification({"m/a": 0.5, "m/b": 0.5}, {"m/a": 0.75, "m/b": 0.5}, 0.25)
    assert found.differing == ()
    assert Verification(found.submitted, found.rerun, 0.2).differing == ("m/a",)


class Random(Estimator):
    def _fit(self, meta):
        pass

    def _predict(self, observation):
        return float(np.random.default_rng().random())


class Failing(Random):
    def _predict(self, observation):
        raise RuntimeError("out of luck")


def test_a_method_without_a_seed_is_not_verified(contest, entry):
    assert len(verified(contest, entry, "mine:Random", Random()).differing) > 8


def test_what_cannot_be_verified_is_told(contest, entry, tmp_path):
    with pytest.raises(
        UnusableInput, match=r"mine:Failing fails in predict for tiny/test_0001: .*out of luck"
    ):
        verified(contest, entry, "mine:Failing", Failing())
    for tolerance in (-0.1, 1.0, float("nan")):
        with pytest.raises(UnusableInput, match="--tolerance must be a fraction, 0 or more and below 1, got"):
            verified(contest, entry, tolerance=tolerance)
    write_predictions(tmp_path / "half.csv", {"tiny/test_0001": 0.5})
    with pytest.raises(InvalidSubmission, match="11 problems"):
        verified(contest, tmp_path / "half.csv")
