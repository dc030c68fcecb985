"""Running methods on a competition: the files, the log of runs, and verifying what was handed in."""

import csv
import json
import math
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from baselines import BASELINES, Estimator
from baselines.run.predict import log_run, predict, verify_entry
from baselines.run.tabular import Tabular
from starter.contest.accuracy.observe import ClassifierSubject
from starter.observing.sets import PublicSets
from submission import InvalidSubmission, UnusableInput
from submission.files import sha256
from submission.predictions import predicted_files, write_answer, write_predictions
from submission.scoring import read_targets, validate


def test_writes_test_and_validation_predictions_in_the_order_of_the_ids(contest):
    paths = predict(contest, {"constant": BASELINES["constant"]})["constant"]
    assert paths == {
        "test": contest.root / "submissions/constant.csv",
        "val": contest.root / "validation/constant.csv",
    }
    mean = np.mean(list(read_targets(contest, "train").values()))
    for part, path in paths.items():
        assert validate(contest, path, part) == dict.fromkeys(contest.ids(part), mean)


def test_is_what_fitting_and_predicting_by_hand_gives(contest):
    names = ("fd", "rotation", "atc")
    paths = predict(contest, {name: BASELINES[name] for name in names})
    subject = ClassifierSubject.open(PublicSets(contest), "tiny", ("moments", "rotation"))
    meta, test = subject.meta_train(), subject.observations("test")
    for name in names:
        expected = BASELINES[name].fit(meta).predict(test)
        assert list(validate(contest, paths[name]["test"]).values()) == expected.tolist()


def test_prototypes_stay_unfitted_and_runs_get_the_hashes(contest):
    before = {path: path.read_bytes() for path in contest.private.iterdir()}
    prototype = type(BASELINES["constant"])()
    predict(contest, {"constant": prototype})
    assert not hasattr(prototype, "fitted_")
    assert {path: path.read_bytes() for path in contest.private.iterdir()} == before
    names = [f"{part}/constant.csv" for part in ("submissions", "validation")]
    assert predicted_files(contest.root) == {
        name: {sha256(contest.root / name): "baseline"} for name in names
    }


def test_a_method_of_ones_own_gets_a_plain_file_name(contest):
    paths = predict(contest, {"mine:Method": BASELINES["constant"]})
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


class FailsInOneSet(Half):
    def _predict(self, observation):
        return 0.5 if observation.set_name != "test_0003" else {}["x"]


class GivesNone(Half):
    def _predict(self, observation):
        return None


PLACE = rf"\({Path(__file__).name}:\d+\)"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (FitFails, rf"fit for tiny: ZeroDivisionError: division by zero {PLACE}"),
        (FitExits, rf"fit for tiny: SystemExit: enough {PLACE}"),
        (FitReadsTheMoments, rf"fit for tiny: AttributeError: .*'mean' {PLACE}"),
        (FailsInOneSet, rf"predict for tiny/test_0003: KeyError: 'x' {PLACE}"),
        (GivesNone, r"predict for tiny/test_0001: TypeError: .*"),
    ],
)
def test_a_method_that_fails_is_named_with_the_set_and_the_line(contest, method, message):
    with pytest.raises(UnusableInput) as error:
        predict(contest, {"mine:M": method()})
    assert re.fullmatch(f"mine:M fails in {message}", str(error.value))
    assert not list(contest.root.glob("*/mine*"))


def test_methods_that_finished_before_keep_their_files(contest):
    with pytest.raises(UnusableInput, match="b:B fails in"):
        predict(contest, {"a:A": Half(), "b:B": FailsInOneSet(), "c:C": Half()})
    assert sorted(path.name for path in contest.root.glob("[sv]*/*")) == ["a.A.csv", "a.A.csv"]


def rows(competition):
    with (competition.root / "runs.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_run_is_a_line(competition):
    log_run(competition, "stack", BASELINES["stack"], 4.25, 'first, "tried"\n')
    log_run(competition, "forest", Tabular(RandomForestRegressor(random_state=5)), math.nan)
    first, second = rows(competition)
    assert [*first] == ["time", "method", "parameters", "seed", "score", "note", "files", "kind"]
    told = (first["method"], first["seed"], first["score"], first["note"])
    assert told == ("stack", "0", "4.2500", 'first, "tried"')
    assert json.loads(first["parameters"]) == {"seed": 0}
    assert (first["kind"], second["kind"]) == ("baseline", "yours")
    assert datetime.strptime(first["time"], "%Y-%m-%d %H:%M:%S")
    assert (second["seed"], second["score"], json.loads(second["parameters"])["max_depth"]) == ("5", "", None)


def test_no_line_is_lost(competition):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: log_run(competition, f"m{i}", Half(), i), range(24)))
    assert sorted(row["method"] for row in rows(competition)) == sorted(f"m{i}" for i in range(24))


@pytest.fixture
def entry(contest):
    """What `atc` submits."""
    return predict(contest, {"atc": BASELINES["atc"]})["atc"]["test"]


def verified(contest, file, name="atc", method=None):
    return verify_entry(contest, file, name, method or BASELINES[name])


def test_the_same_method_is_verified_without_hidden_files_and_despite_rounding(contest, entry, tmp_path):
    contest.private.rename(tmp_path / "away")
    assert verified(contest, entry).empty
    values = validate(contest, entry)
    write_answer(tmp_path / "answer.zip", values)
    assert verified(contest, tmp_path / "answer.zip").empty


class Unseeded(Half):
    def _predict(self, observation):
        return float(np.random.default_rng().random())


@pytest.mark.parametrize("method", [BASELINES["constant"], Unseeded()])
def test_another_method_or_one_without_a_seed_is_not_verified(contest, entry, method):
    found = verified(contest, entry, "mine:M", method)
    assert 8 < len(found) <= 12
    assert found.difference.is_monotonic_decreasing


def test_what_cannot_be_verified_is_told(contest, tmp_path):
    write_predictions(tmp_path / "half.csv", {"tiny/test_0001": 0.5})
    with pytest.raises(InvalidSubmission, match="11 problems"):
        verified(contest, tmp_path / "half.csv")
