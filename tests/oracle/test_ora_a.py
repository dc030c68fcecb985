"""ORA-A: its network, what it learns, what it refuses."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.base import clone

from baselines import Constant
from baselines.contract.conformance import example_meta_train, example_observation
from oracle import OraA, Syp, training
from oracle.ora_a import DRAWS
from submission import UnusableInput

QUICK = {"iterations": 600, "batch_size": 300, "learning_rate": 0.5}


def test_learns_to_tell_easy_sets_from_hard_ones():
    meta = example_meta_train(sets=30, n=80)
    targets = [
        example_observation(f"t{i}", 200, skill, seed=500 + i) for i, skill in enumerate((0.5, 2.0, 3.5))
    ]
    truth = np.array([(observation.predicted == labels).mean() for observation, labels in targets])
    observations = [observation for observation, _ in targets]
    predicted = OraA(**QUICK).fit(meta).predict(observations)
    constant = Constant().fit(meta).predict(observations)
    assert np.abs(predicted - truth).mean() < 0.5 * np.abs(constant - truth).mean()


def test_leaves_the_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    OraA(iterations=3, batch_size=10).fit(example_meta_train(sets=2))
    assert torch.rand(1) == expected


def test_seeds_give_different_networks():
    meta = example_meta_train(sets=3)
    first, second = (OraA(iterations=5, batch_size=20, seed=seed).fit(meta).networks_[0] for seed in (0, 1))
    assert not torch.equal(first.layers[0].weight, second.layers[0].weight)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_the_adjustment_weighs_rightly_classified_images_of_hard_sets(weight, monkeypatch):
    meta, seen = example_meta_train(sets=3), []
    monkeypatch.setattr(training, "train", lambda *arguments: seen.append(arguments))
    OraA(positive_weight=weight, low_accuracy=0.5, indicators="entropy").fit(meta)
    _, rows, correct, weights, *_ = seen[0]
    assert rows.shape == (180, 1)
    assert correct.tolist() == np.concatenate(meta.correct).tolist()
    low = np.repeat(meta.targets < 0.5, 60)
    assert 0 < low.mean() < 1
    expected = np.where(low & np.concatenate(meta.correct), 3.0, 1.0).tolist()
    assert (weights is None) if weight == 1 else (weights.tolist() == expected)


def test_a_network_that_says_one_thing_is_drawn_again(monkeypatch, capsys):
    meta, draws, learn = example_meta_train(sets=12), [], training.train

    def train(network, *arguments):
        draws.append(network)
        if len(draws) == 3:
            learn(network, *arguments)
        else:
            network.layers[-1].bias.data.fill_(-50.0)

    monkeypatch.setattr(training, "train", train)
    oracle = OraA(**QUICK, seed=7).fit(meta)
    assert len(draws) == 3
    assert 0 < (oracle.probabilities(meta.sets[6]) > 0.5).mean() < 1
    text = capsys.readouterr().err
    assert "seed 7" in text
    assert "seed 8" in text
    assert "seed 9" not in text


def test_the_last_draw_stays(capsys):
    meta = example_meta_train(sets=3)
    networks = Syp(iterations=1, batch_size=2, learning_rate=1e-6, weight_decay=0.0).fit(meta).networks_
    assert len(networks) == 2
    assert f"so do all {DRAWS} attempts: lower learning_rate" in capsys.readouterr().err


def test_one_answer_may_be_right(monkeypatch):
    meta, trained = example_meta_train(sets=3), []
    monkeypatch.setattr(training, "train", lambda network, *_: trained.append(network))
    right = [np.ones_like(each) for each in meta.correct]
    OraA().fit(dataclasses.replace(meta, correct=right, targets=np.ones(3)))
    assert len(trained) == 1


def test_training_errors_are_those_of_predicting_the_meta_train_sets():
    meta = example_meta_train(sets=6)
    oracle = OraA(iterations=50, batch_size=50).fit(meta)
    found = oracle.training_errors(meta)
    for estimate in ("threshold", "mean"):
        oracle.chosen_["estimate"] = estimate
        errors = oracle.predict(meta.sets) - meta.targets
        assert found[estimate] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-5)
    judged = np.concatenate([oracle.probabilities(each) for each in meta.sets])
    right = np.concatenate(meta.correct)
    assert found["image"] == pytest.approx(np.sqrt(np.mean((judged - right) ** 2)), rel=1e-5)


def test_the_threshold_and_the_mean():
    meta = example_meta_train(sets=3)
    oracle = OraA(iterations=20, batch_size=50, threshold=0.4).fit(meta)
    probabilities = oracle.probabilities(meta.sets[1])
    assert oracle.predict(meta.sets[1:2])[0] == (probabilities > np.float32(0.4)).mean()
    mean = clone(oracle).set_params(estimate="mean").fit(meta)
    assert mean.predict(meta.sets[1:2])[0] == pytest.approx(probabilities.mean(), rel=1e-6)


def test_needs_follow_the_indicators():
    assert OraA().needs == ("moments", "image_stats")
    assert OraA(indicators="entropy,knn").needs == ("features",)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("iterations", 0),
        ("iterations", 2.5),
        ("batch_size", -1),
        ("expansion", 65),
        ("seed", -1),
        ("dropout", 1.0),
        ("threshold", 1.5),
        ("momentum", 1.0),
        ("weight_decay", -1.0),
        ("positive_weight", 0.0),
        ("low_accuracy", 2.0),
        ("device", "gpu"),
        ("normalisation", "batch"),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
    ],
)
def test_refuses_parameters_out_of_range(parameter, value):
    with pytest.raises(UnusableInput, match=parameter):
        OraA().set_params(**{parameter: value}).fit(example_meta_train(sets=2))


@pytest.mark.parametrize(
    "parameters", [{"seed": 2**63 - 1}, {"seed": np.int64(3)}, {"batch_size": np.int64(1)}]
)
def test_takes_parameters_at_the_ends_of_their_range(parameters):
    meta = example_meta_train(sets=2)
    assert OraA(**{"iterations": 1, "batch_size": 5, **parameters}).fit(meta).predict(meta.sets).shape == (2,)


@pytest.mark.parametrize("iterations", [90, 400])
def test_training_that_diverges_is_an_error(iterations):
    with pytest.raises(UnusableInput, match="lower learning_rate"):
        OraA(iterations=iterations, batch_size=50, learning_rate=1e6).fit(example_meta_train(sets=2))
