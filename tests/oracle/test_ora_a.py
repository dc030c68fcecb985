"""ORA-A: its network, what it learns, what it refuses."""

import numpy as np
import pytest
import torch

from baselines import Constant
from baselines.conformance import example_meta_train, example_observation
from oracle import OraA
from oracle.ora_a import mlp

QUICK = {"iterations": 600, "batch_size": 300, "learning_rate": 0.5}


def test_the_network_is_the_winners_at_ratio_8():
    network = mlp(6, 8, 0.0)
    widths = [layer.out_features for layer in network if isinstance(layer, torch.nn.Linear)]
    assert widths == [48, 48, 48, 24, 1]
    assert sum(parameter.numel() for parameter in network.parameters()) == 6241


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
    first, second = (OraA(iterations=5, batch_size=20, seed=seed).fit(meta).network_ for seed in (0, 1))
    assert not torch.equal(first[0].weight, second[0].weight)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"iterations": 0}, "iterations must be at least 1, got 0"),
        ({"batch_size": -1}, "batch_size must be at least 1"),
        ({"dropout": 1.0}, "dropout in"),
        ({"learning_rate": 0.0}, "learning_rate above 0"),
    ],
)
def test_refuses_parameters_out_of_range(parameters, message):
    with pytest.raises(ValueError, match=message):
        OraA(**parameters).fit(example_meta_train(sets=2))


def test_a_loss_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="lower learning_rate"):
        OraA(iterations=400, batch_size=50, learning_rate=1e38).fit(example_meta_train(sets=2))
