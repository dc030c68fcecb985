"""Running methods on a competition: the files, what is in them, and what is left alone."""

import numpy as np

from baselines import BASELINES
from baselines.predict import predict
from starter.subject import PublicSets, Subject
from submission import validate


def test_writes_test_and_validation_predictions_in_the_order_of_the_ids(contest):
    paths = predict(contest, {"constant": BASELINES["constant"]}, progress=False)["constant"]
    assert paths == {
        "test": contest.root / "submissions/constant.csv",
        "val": contest.root / "validation/constant.csv",
    }
    mean = np.mean(list(contest.targets("train").values()))
    for part, path in paths.items():
        assert validate(contest, path, part) == dict.fromkeys(contest.ids(part), mean)


def test_is_what_fitting_and_predicting_by_hand_gives(contest):
    names = ("fd", "rotation", "atc")
    paths = predict(contest, {name: BASELINES[name] for name in names}, progress=False)
    subject = Subject.open(PublicSets(contest), "tiny", ("moments", "rotation"))
    meta, test = subject.meta_train(progress=False), subject.observations("test", progress=False)
    for name in names:
        expected = BASELINES[name].fit(meta).predict(test)
        assert list(validate(contest, paths[name]["test"]).values()) == expected.tolist()


def test_the_same_command_gives_the_same_file(contest):
    files = [
        predict(contest, {"fd": BASELINES["fd"]}, progress=False)["fd"]["test"].read_bytes() for _ in range(2)
    ]
    assert files[0] == files[1]


def test_prototypes_stay_unfitted_and_private_untouched(contest):
    before = {path: path.read_bytes() for path in contest.private.iterdir()}
    prototype = type(BASELINES["constant"])()
    predict(contest, {"constant": prototype}, progress=False)
    assert not hasattr(prototype, "fitted_")
    assert {path: path.read_bytes() for path in contest.private.iterdir()} == before


def test_a_method_of_ones_own_gets_a_plain_file_name(contest):
    paths = predict(contest, {"mine:Method": BASELINES["constant"]}, progress=False)
    assert paths["mine:Method"]["test"].name == "mine.Method.csv"
