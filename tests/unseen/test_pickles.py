"""What the library gives can be pickled: methods, fitted and not, and what they see and return."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import unseen
from baselines.contract.conformance import example_meta_train, example_mixes
from baselines.run.tabular import Tabular
from unseen.api.methods import methods_of

QUICK = {"iterations": 3, "batch_size": 20, "trees": 5}
METHODS = [(track, name) for track in ("accuracy", "ood") for name in (*methods_of(track), "Ridge")]


def again(given):
    """Returns what comes out of a pickle of it."""
    return pickle.loads(pickle.dumps(given))


def method_of(track, name):
    """Returns an unfitted method that is fitted in an instant."""
    if name == "Ridge":
        return Tabular(Ridge(), track)
    method = clone(methods_of(track)[name])
    return method.set_params(**{key: QUICK[key] for key in QUICK.keys() & method.get_params()})


@pytest.fixture(scope="module")
def meta():
    return {"accuracy": example_meta_train(12, 40), "ood": example_mixes()}


@pytest.mark.parametrize(("track", "name"), METHODS)
def test_a_method_and_its_intervals_are_the_same_after_a_pickle(track, name, meta):
    method, sets = method_of(track, name), meta[track].sets[:2]
    method = again(method).fit(meta[track])
    expected = method.predict(sets)
    np.testing.assert_array_equal(again(method).predict(sets), expected)
    np.testing.assert_array_equal(method.predict(sets), expected)
    if track == "accuracy" and name in ("constant", "fd", "cot", "aline"):
        unused = again(method)
        ends = method.predict_interval(sets)
        for copy in (unused, again(method)):
            np.testing.assert_array_equal(copy.predict_interval(sets), ends)


@pytest.mark.slow
def test_what_a_competition_gives_can_be_pickled(contest):
    opened = unseen.open(contest.root)
    meta = opened.meta_train()
    rows = opened.observations("test")
    assert meta.source.accuracy == again(meta.source).accuracy  # what it computed is computed again
    for copy, seen in zip((*again(rows), again(rows[0])), (*rows, rows[0]), strict=True):
        np.testing.assert_array_equal(copy.logits, seen.logits)
        np.testing.assert_array_equal(copy.probabilities, seen.probabilities)
    with pytest.raises(ValueError, match="made without its images"):
        again(rows[0]).images()
    images = rows[0].images()[:2]
    classifier = again(meta.source).classifier
    np.testing.assert_array_equal(classifier(images)[0], meta.source.classifier(images)[0])
    method = methods_of("accuracy")["fd"]
    expected = clone(method).fit(meta).predict(rows)
    np.testing.assert_array_equal(again(clone(method).fit(meta)).predict(rows), expected)
    np.testing.assert_array_equal(clone(method).fit(again(meta)).predict(rows), expected)
    scores = unseen.evaluate(opened, "constant")
    pd.testing.assert_frame_equal(pd.DataFrame(again(scores)), pd.DataFrame(scores))
    assert again(opened).sizes == opened.sizes


def test_estimates_and_scores_can_be_pickled():
    labels = np.arange(200) % 4
    logits = np.random.default_rng(0).normal(size=(200, 4)) + 2 * np.eye(4)[labels]
    estimation = unseen.estimate(logits, labels, {"a": logits[:100], "b": logits[100:]})
    assert again(estimation).to_json() == estimation.to_json()
    assert again(estimation).html() == estimation.html()
    score = unseen.Score(3.0, 2.0, 0.5, 48, 0.25)
    assert again(score) == score
    error = unseen.InvalidSubmission("a.csv", ["line 2: no number"], "not recorded")
    assert (str(again(error)), again(error).problems) == (str(error), error.problems)
    assert str(again(unseen.UnusableInput("a: b"))) == "a: b"
