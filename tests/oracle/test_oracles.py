"""The oracles: what they learn from, how their networks are drawn, what they refuse."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from baselines import Constant
from baselines.contract.conformance import example_meta_train, example_observation
from oracle import ORACLES, OraA, OraB, OraL, Syp, training
from oracle.ora_a import DRAWS
from submission import UnusableInput

FEW = example_meta_train(sets=3)
BASES = [np.random.default_rng(i).permutation(60) for i in range(12)]
META = dataclasses.replace(example_meta_train(sets=12), bases=BASES)
QUICK = {"iterations": 5, "batch_size": 20}


def test_trees_tell_easy_sets_from_hard_ones():
    meta = example_meta_train(sets=30, n=80)
    pairs = [example_observation(f"t{i}", 200, 0.5 + 1.5 * i, seed=500 + i) for i in range(3)]
    truth = np.array([(observation.predicted == labels).mean() for observation, labels in pairs])
    observations = [observation for observation, _ in pairs]
    predicted = OraL(trees=50).fit(meta).predict(observations)
    constant = Constant().fit(meta).predict(observations)
    assert np.abs(predicted - truth).mean() < 0.5 * np.abs(constant - truth).mean()


def test_trees_learn_from_no_more_images_than_they_are_told():
    trees = OraL(trees=1, most=600).fit(example_meta_train(sets=20)).trees_
    root = trees.dump_model()["tree_info"][0]["tree_structure"]
    assert 250 < root["internal_count"] < 350  # half of them in each tree


def test_seeds_give_different_networks_and_leave_the_global_generator_alone():
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    first, second = (OraA(**QUICK, seed=seed).fit(FEW).networks_[0] for seed in (0, 1))
    assert torch.rand(1) == expected
    assert not torch.equal(first.layers[0].weight, second.layers[0].weight)


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_the_adjustment_weighs_rightly_classified_images_of_hard_sets(weight, monkeypatch):
    seen = []
    monkeypatch.setattr(training, "train", lambda *given, weights, **_: seen.append((*given, weights)))
    OraA(positive_weight=weight, low_accuracy=0.5, indicators="entropy").fit(FEW)
    _, rows, correct, weights = seen[0]
    assert rows.shape == (180, 1)
    assert correct.tolist() == np.concatenate(FEW.correct).tolist()
    low = np.repeat(FEW.targets < 0.5, 60)
    assert 0 < low.mean() < 1
    expected = np.where(low & np.concatenate(FEW.correct), 3.0, 1.0).tolist()
    assert (weights is None) if weight == 1 else (weights.tolist() == expected)


def says_no(network, *_, **__):
    [*network.modules()][-1].bias.data.fill_(-50.0)


def test_a_network_that_says_one_thing_is_drawn_again(monkeypatch, capsys):
    draws = []

    def train(network, *_, **__):
        draws.append(network)
        says_no(network)
        if len(draws) == 3:
            network.forward = lambda rows: rows[:, 0]

    monkeypatch.setattr(training, "train", train)
    oracle = OraA(seed=7).fit(META)
    assert (len(draws), oracle.undertrained_) == (3, "drawn again")
    text = capsys.readouterr().err
    assert all((f"seed {seed}" in text) == (seed < 9) for seed in (7, 8, 9))
    monkeypatch.setattr(training, "train", says_no)
    assert OraA(seed=7).fit(META).undertrained_ == "one answer"
    *others, last = capsys.readouterr().err.splitlines()
    assert ["trained again with the next seed" in line for line in others] == [True] * (DRAWS - 1)
    assert "lower learning_rate" in last


def test_one_answer_may_be_right(monkeypatch):
    trained = []
    monkeypatch.setattr(training, "train", lambda network, *_, **__: trained.append(network))
    right = [np.ones_like(each) for each in FEW.correct]
    OraA().fit(dataclasses.replace(FEW, correct=right, targets=np.ones(3)))
    assert len(trained) == 1


def test_training_errors_are_those_of_predicting_the_meta_train_sets():
    oracle = OraA(iterations=50, batch_size=50).fit(FEW)
    found = oracle.training_errors(FEW)
    for estimate in ("threshold", "mean"):
        oracle.set_params(estimate=estimate)
        errors = oracle.predict(FEW.sets) - FEW.targets
        assert found[estimate] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-5)
    judged = np.concatenate([oracle.probabilities(each) for each in FEW.sets])
    right = np.concatenate(FEW.correct)
    assert found["image"] == pytest.approx(np.sqrt(np.mean((judged - right) ** 2)), rel=1e-5)


def test_the_threshold_and_the_mean():
    oracle = OraA(iterations=20, batch_size=50, threshold=0.4).fit(FEW)
    probabilities = oracle.probabilities(FEW.sets[1])
    assert oracle.predict(FEW.sets[1:2])[0] == (probabilities > np.float32(0.4)).mean()
    mean = clone(oracle).set_params(estimate="mean").fit(FEW)
    assert mean.predict(FEW.sets[1:2])[0] == pytest.approx(probabilities.mean(), rel=1e-6)


def test_of_syp_a_probability_is_the_mean_of_both_networks():
    syp = Syp(**QUICK).fit(FEW)
    together, networks = syp.probabilities(FEW.sets[0]), syp.networks_
    alone = []
    for network in networks:
        syp.networks_ = [network]
        alone.append(syp.probabilities(FEW.sets[0]))
    assert [type(network).__name__ for network in networks] == ["Mlp", "Attention"]
    np.testing.assert_allclose(together, np.mean(alone, axis=0), rtol=1e-6)
    rates = [each.p for each in networks[0].modules() if isinstance(each, nn.Dropout)]
    assert (rates, networks[1].blocks[1].p) == ([0.0] * 3, 0.1)


CHANGES = {
    "ora-a": {**QUICK, "indicators": "entropy,fd,knn,confidence"},
    "ora-b": {**QUICK, "estimate": "mean", "tokens": "one"},
    "syp": {**QUICK, "normalisation": "none", "tokens": "indicators"},
    "ora-l": {"trees": 5, "normalisation": "global"},
}


@pytest.mark.parametrize("name", [*ORACLES, "ora-a, released"])
def test_a_loaded_oracle_predicts_the_same(name, tmp_path):
    name, _, variant = name.partition(", ")
    changes = {**QUICK, "variant": variant} if variant else CHANGES[name]
    oracle = clone(ORACLES[name]).set_params(**changes).fit(META)
    oracle.save(tmp_path / "oracle.safetensors")
    again = clone(ORACLES[name]).load(tmp_path / "oracle.safetensors")
    assert again.get_params() == oracle.get_params()
    np.testing.assert_array_equal(again.predict(META.sets[:3]), oracle.predict(META.sets[:3]))


@pytest.mark.parametrize(
    ("oracle", "wrong"),
    [
        *((OraA, {"iterations": value}) for value in (0, 2.5)),
        *((OraA, {"batch_size": -1}), (OraA, {"expansion": 65}), (OraA, {"seed": -1})),
        *((OraA, {"dropout": 1.0}), (OraA, {"threshold": 1.5}), (OraA, {"momentum": 1.0})),
        *((OraA, {"weight_decay": -1.0}), (OraA, {"positive_weight": 0.0}), (OraA, {"low_accuracy": 2.0})),
        *((OraA, {"device": "gpu"}), (OraA, {"normalisation": "batch"}), (OraA, {"variant": "decay,scale"})),
        *((OraA, {"learning_rate": value}) for value in (0.0, float("nan"))),
        (OraA, {"learning_rate": 1e6, "iterations": 400, "batch_size": 50}),
        *((OraB, {"tokens": "two"}), (OraB, {"heads": 5}), (OraB, {"heads": 0})),
        *((OraL, {"trees": 0}), (OraL, {"leaves": 1}), (OraL, {"rate": 0.0}), (OraL, {"most": 0})),
        *((OraL, {"seed": -1}), (OraL, {"estimate": "median"})),
    ],
)
def test_refuses_parameters_by_name(oracle, wrong):
    with pytest.raises(UnusableInput, match=next(iter(wrong))):
        oracle(**wrong).fit(FEW)
