"""Running methods on a competition: the files, what is in them, and what is left alone."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from baselines import BASELINES, Direct, Estimator
from baselines.run.predict import predict
from starter.tracks.accuracy.observe import ClassifierSubject
from starter.tracks.sets import PublicSets
from submission import UnusableInput, validate
from submission.files import sha256
from submission.predictions import predicted_files
from submission.scoring import read_targets


def test_writes_test_and_validation_predictions_in_the_order_of_the_ids(contest):
    paths = predict(contest, {"constant": BASELINES["constant"]}, progress=False)["constant"]
    assert paths == {
        "test": contest.root / "submissions/constant.csv",
        "val": contest.root / "validation/constant.csv",
    }
    mean = np.mean(list(read_targets(contest, "train").values()))
    for part, path in paths.items():
        assert validate(contest, path, part) == dict.fromkeys(contest.ids(part), mean)


def test_is_what_fitting_and_predicting_by_hand_gives(contest):
    names = ("fd", "rotation", "atc")
    paths = predict(contest, {name: BASELINES[name] for name in names}, progress=False)
    subject = ClassifierSubject.open(PublicSets(contest), "tiny", ("moments", "rotation"))
    meta, test = subject.meta_train(progress=False), subject.observations("test", progress=False)
    for name in names:
        expected = BASELINES[name].fit(meta).predict(test)
        assert list(validate(contest, paths[name]["test"]).values()) == expected.tolist()


def test_the_same_command_gives_the_same_file(contest):
    files = [
        predict(contest, {"fd": BASELINES["fd"]}, progress=False)["fd"]["test"].read_bytes() for _ in range(2)
    ]
    assert files[0] == files[1]


def test_prototypes_stay_unfitted_and_runs_get_the_hashes(contest):
    before = {path: path.read_bytes() for path in contest.private.iterdir()}
    prototype = type(BASELINES["constant"])()
    predict(contest, {"constant": prototype}, progress=False)
    assert not hasattr(prototype, "fitted_")
    assert {path: path.read_bytes() for path in contest.private.iterdir()} == before
    names = [f"{part}/constant.csv" for part in ("submissions", "validation")]
    assert predicted_files(contest) == {name: {sha256(contest.root / name)} for name in names}


def test_a_method_of_ones_own_gets_a_plain_file_name(contest):
    paths = predict(contest, {"mine:Method": BASELINES["constant"]}, progress=False)
    assert paths["mine:Method"]["test"].name == "mine.Method.csv"


class Half(Estimator):
    def _predict(self, observation):
        return 0.5


class FitFails(Half):
    def _fit(self, meta):
        raise ZeroDivisionError("division by zero")


class FitExits(Half):
    def _fit(self, meta):
        sys.exit("enough")


class FitReadsTheMoments(Half):
    def _fit(self, meta):
        meta.sets[0].moments.mean.sum()


class FitGivesNothing(Half):
    def fit(self, meta):
        super().fit(meta)


class FailsInOneSet(Half):
    def _predict(self, observation):
        return 0.5 if observation.set_name != "test_0003" else {}["x"]


class FailsInside(Half):
    def _predict(self, observation):
        return np.linalg.inv(np.zeros((2, 2)))[0, 0]


class GivesNone(Half):
    def _predict(self, observation):
        return None


class GivesText(Half):
    def _predict(self, observation):
        return "much"


class GivesAnArray(Half):
    def _predict(self, observation):
        return observation.logits[:, 0]


class GivesNaN(Half):
    def _predict(self, observation):
        return float("nan")


class PredictsPercent(Half):
    def predict(self, observations):
        return np.full(len(observations), 50.0)


class PredictsAList(Half):
    def predict(self, observations):
        return [0.5] * len(observations)


class PredictsNothing(Half):
    def predict(self, observations):
        return None


PLACE = rf"\({Path(__file__).name}:\d+\)"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (FitFails, rf"fit for tiny: ZeroDivisionError: division by zero {PLACE}"),
        (FitExits, rf"fit for tiny: SystemExit: enough {PLACE}"),
        (
            FitReadsTheMoments,
            rf"fit for tiny: AttributeError: 'NoneType' object has no attribute 'mean' {PLACE}",
        ),
        (FailsInOneSet, rf"predict for tiny/test_0003: KeyError: 'x' {PLACE}"),
        (FailsInside, rf"predict for tiny/test_0001: LinAlgError: Singular matrix {PLACE}"),
        (GivesNone, r"predict for tiny/test_0001: .*"),
        (GivesText, r"predict for tiny/test_0001: .*"),
        (GivesAnArray, r"predict for tiny/test_0001: .*"),
        (GivesNaN, r"predict for tiny/test_0001: ValueError: GivesNaN predicts nan for set 'test_0001'"),
        (
            PredictsPercent,
            r"predict for tiny/test_0001: ValueError: predictions look like percentages: "
            r"return fractions in \[0, 1\], got \[50\.\]",
        ),
        (
            PredictsAList,
            r"predict for tiny/test_0001: ValueError: predict must return an array \(1,\), got list",
        ),
        (
            PredictsNothing,
            r"predict for tiny/test_0001: ValueError: predict must return an array \(1,\), got NoneType",
        ),
    ],
)
def test_a_method_that_fails_is_named_with_the_set_and_the_line(contest, method, message):
    with pytest.raises(UnusableInput) as error:
        predict(contest, {"mine:M": method()}, progress=False)
    advice = "; run `unseen check-method mine:M` for details"
    assert re.fullmatch(f"mine:M fails in {message}{advice}", str(error.value))
    assert not list(contest.root.glob("*/mine*"))


class ChangesTheSource(Half):
    def _fit(self, meta):
        self.source_ = meta.source

    def _predict(self, observation):
        self.source_.observation.logits[0] -= 1
        return 0.5


class ChangesTheTargets(Half):
    def _fit(self, meta):
        meta.targets.sort()


class ChangesTheLabels(Half):
    def _fit(self, meta):
        meta.labels[0][:] = 0


class TrainsTheNetwork(Half):
    def _fit(self, meta):
        for weights in meta.source.classifier.network.parameters():
            weights.add_(1)


@pytest.mark.parametrize("method", [ChangesTheSource, ChangesTheTargets, ChangesTheLabels, TrainsTheNetwork])
def test_what_all_methods_share_is_changed_by_none(contest, method):
    with pytest.raises(
        UnusableInput, match=r"^mine:M changes the labelled source, the targets or labels, which"
    ):
        predict(contest, {"mine:M": method(), "atc": BASELINES["atc"]}, progress=False)
    assert not list(contest.root.glob("[sv]*/*"))


def test_methods_that_finished_before_keep_their_files(contest):
    with pytest.raises(UnusableInput, match="b:B fails in"):
        predict(contest, {"a:A": Half(), "b:B": FailsInOneSet(), "c:C": Half()}, progress=False)
    assert sorted(path.name for path in contest.root.glob("[sv]*/*")) == ["a.A.csv", "a.A.csv"]


def test_a_method_of_the_kit_that_fails_is_named_too(contest):
    def broken(target, source):
        raise RuntimeError("lost")

    with pytest.raises(
        UnusableInput, match=r"^atc fails in predict for tiny/test_0001: RuntimeError: lost \("
    ):
        predict(contest, {"atc": Direct(broken)}, progress=False)


def test_a_fit_that_returns_nothing_does_no_harm(contest):
    paths = predict(contest, {"mine:M": FitGivesNothing()}, progress=False)["mine:M"]
    assert set(validate(contest, paths["test"]).values()) == {0.5}


def test_ctrl_c_in_a_method_stays_ctrl_c(contest):
    class Stopped(Half):
        def _predict(self, observation):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict(contest, {"mine:M": Stopped()}, progress=False)
    assert not list(contest.root.glob("*/mine*"))
