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
from submission import UnusableInput
from submission.files import sha256
from submission.predictions import predicted_files, write_answer
from submission.scoring import read_targets, validate


def test_writes_test_and_validation_predictions_in_the_order_of_the_ids(contest):
    before = {path: path.read_bytes() for path in contest.private.iterdir()}
    prototype = type(BASELINES["constant"])()
    paths = predict(contest, {"constant": prototype, "mine:Method": prototype})
    names = {"test": "submissions/constant.csv", "val": "validation/constant.csv"}
    assert paths["constant"] == {part: contest.root / name for part, name in names.items()}
    assert paths["mine:Method"]["test"].name == "mine.Method.csv"
    mean = np.mean(list(read_targets(contest, "train").values()))
    for part, path in paths["constant"].items():
        assert validate(contest, path, part) == dict.fromkeys(contest.ids(part), mean)
        assert predicted_files(contest.root)[names[part]] == {sha256(path): "baseline"}
    assert not hasattr(prototype, "fitted_")
    assert {path: path.read_bytes() for path in contest.private.iterdir()} == before


def test_is_what_fitting_and_predicting_by_hand_gives(contest):
    names = ("fd", "rotation", "atc")
    paths = predict(contest, {name: BASELINES[name] for name in names})
    subject = ClassifierSubject.open(PublicSets(contest), "tiny", ("moments", "rotation"))
    meta, test = subject.meta_train(), subject.observations("test")
    for name in names:
        expected = BASELINES[name].fit(meta).predict(test)
        assert list(validate(contest, paths[name]["test"]).values()) == expected.tolist()


class Own(Estimator):
    def __init__(self, learn=None, give=None):
        self.learn = learn
        self.give = give

    def _fit(self, meta):
        if self.learn:
            self.learn(meta)

    def _predict(self, observation):
        return self.give(observation) if self.give else 0.5


def fails_in_one_set(observation):
    return 0.5 if observation.set_name != "test_0003" else {}["x"]


PLACE = rf"\({Path(__file__).name}:\d+\)"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Own(lambda meta: 1 / 0), rf"fit for tiny: ZeroDivisionError: division by zero {PLACE}"),
        (Own(lambda meta: sys.exit("enough")), rf"fit for tiny: SystemExit: enough {PLACE}"),
        (Own(lambda meta: meta.sets.mean), rf"fit for tiny: AttributeError: .*'mean' {PLACE}"),
        (Own(give=fails_in_one_set), rf"predict for tiny/test_0003: KeyError: 'x' {PLACE}"),
        (
            Own(give=lambda seen: None),
            r"predict for tiny/test_0001: ValueError: .* end _predict with a return",
        ),
    ],
)
def test_a_method_that_fails_is_named_with_the_set_and_the_line(contest, method, message):
    with pytest.raises(UnusableInput) as error:
        predict(contest, {"mine:M": method})
    assert re.fullmatch(f"mine:M fails in {message}", str(error.value))
    assert not list(contest.root.glob("*/mine*"))


def test_methods_that_finished_before_keep_their_files(contest):
    with pytest.raises(UnusableInput, match="b:B fails in"):
        predict(contest, {"a:A": Own(), "b:B": Own(give=fails_in_one_set), "c:C": Own()})
    assert sorted(path.name for path in contest.root.glob("[sv]*/*")) == ["a.A.csv", "a.A.csv"]


def rows(competition):
    with (competition.root / "runs.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_run_is_a_line(competition):
    log_run(competition, "gated", BASELINES["gated"], 4.25, 'first, "tried"\n')
    log_run(competition, "forest", Tabular(RandomForestRegressor(random_state=5)), math.nan)
    first, second = rows(competition)
    assert [*first] == ["time", "method", "parameters", "score", "note", "files", "kind", "set"]
    assert (first["method"], first["score"], first["note"]) == ("gated", "4.2500", 'first, "tried"')
    assert json.loads(first["parameters"]) == {"seed": 0}
    assert (first["kind"], second["kind"], second["set"]) == (
        "baseline",
        "yours",
        "RandomForestRegressor(random_state=5)",
    )
    assert datetime.strptime(first["time"], "%Y-%m-%d %H:%M:%S")
    assert (second["score"], json.loads(second["parameters"])["max_depth"]) == ("", None)


def test_no_line_is_lost(competition):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: log_run(competition, f"m{i}", Own(), i), range(24)))
    assert sorted(row["method"] for row in rows(competition)) == sorted(f"m{i}" for i in range(24))


@pytest.fixture
def entry(contest):
    """What `atc` submits."""
    return predict(contest, {"atc": BASELINES["atc"]})["atc"]["test"]


def test_the_same_method_is_verified_without_hidden_files_and_despite_rounding(contest, entry, tmp_path):
    contest.private.rename(tmp_path / "away")
    write_answer(tmp_path / "answer.txt", validate(contest, entry))
    for file in (entry, tmp_path / "answer.txt"):
        assert verify_entry(contest, file, "atc", BASELINES["atc"]).empty


UNSEEDED = Own(give=lambda seen: float(np.random.default_rng().random()))


@pytest.mark.parametrize("method", [BASELINES["constant"], UNSEEDED])
def test_another_method_or_one_without_a_seed_is_not_verified(contest, entry, method):
    found = verify_entry(contest, entry, "mine:M", method)
    assert 8 < len(found) <= 12
    assert found.difference.is_monotonic_decreasing
