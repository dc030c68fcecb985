"""ProjNorm against SGD written out, and what its training must leave alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from baselines.accuracy.projnorm import ProjNorm
from baselines.contract.conformance import CLASSES, example_meta_train, example_observation
from starter.models.classifiers.networks.small import Small
from starter.observing.observation import Observation
from submission import UnusableInput

QUICK = {"iterations": 3, "batch_size": 16, "learning_rate": 0.01}
PLAIN = example_meta_train(sets=4)
CLASSIFIER = replace(PLAIN.source.classifier, mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.3))
META = replace(PLAIN, source=replace(PLAIN.source, classifier=CLASSIFIER))


def trained_by_hand(images, labels, seed):
    """The weights after QUICK's steps: momentum 0.9, the rate on half a cosine."""
    network = Small(CLASSES)
    network.load_state_dict(CLASSIFIER.network.state_dict())
    network.train()
    speed = [torch.zeros_like(weight) for weight in network.parameters()]
    torch.manual_seed(seed)
    for step in range(QUICK["iterations"]):
        batch = torch.randint(len(images), (QUICK["batch_size"],))
        inputs = (images[batch].astype(np.float32) / 255 - CLASSIFIER.mean) / CLASSIFIER.std
        logits = network(torch.from_numpy(inputs.astype(np.float32)).permute(0, 3, 1, 2))
        loss = cross_entropy(logits, torch.from_numpy(labels[batch]))
        rate = QUICK["learning_rate"] * (1 + math.cos(math.pi * step / QUICK["iterations"])) / 2
        gradients = torch.autograd.grad(loss, list(network.parameters()))
        with torch.no_grad():
            for weight, moving, gradient in zip(network.parameters(), speed, gradients, strict=True):
                moving.mul_(0.9).add_(gradient)
                weight.sub_(rate * moving)
    return torch.cat([weight.detach().flatten() for weight in network.parameters()])


def test_projnorm_against_sgd_written_out():
    method = ProjNorm(**QUICK, seed=5).fit(META)
    weights = []
    with torch.random.fork_rng(devices=[]):
        for observation, labels in [
            (META.source.observation, META.source.labels),
            *((observation, observation.predicted) for observation in META.sets),
        ]:
            order = np.lexsort(observation.logits.T)
            weights.append(trained_by_hand(observation.images()[order], labels[order], 5))
    distances = [float((each - weights[0]).norm()) for each in weights[1:]]
    slope, level = np.polyfit(distances, META.targets, 1)
    expected = np.clip(level + slope * np.array(distances), 0, 1)
    np.testing.assert_allclose(method.predict(META.sets), expected, atol=1e-3)


@pytest.mark.parametrize("name", ["iterations", "batch_size"])
def test_no_steps_and_no_images_are_no_training(name):
    with pytest.raises(UnusableInput, match=f"{name} must be at least 1, got 0"):
        ProjNorm(**{**QUICK, name: 0}).fit(META)


def test_network_and_global_generator_stay_as_they_are():
    before = {name: tensor.clone() for name, tensor in CLASSIFIER.network.state_dict().items()}
    state = torch.get_rng_state()
    ProjNorm(**QUICK).fit(META).predict(META.sets[:1])
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in CLASSIFIER.network.state_dict().items())
    assert not any(weight.requires_grad for weight in CLASSIFIER.network.parameters())


def test_a_set_of_one_image():
    pair, _ = example_observation("pair", 2, 2.0, seed=0)
    single = Observation("single", "example", pair.logits[:1], render=lambda: pair.images()[:1])
    assert np.isfinite(ProjNorm(**QUICK).fit(META).predict([single])).all()


def test_training_that_diverges_is_told_with_the_set():
    with pytest.raises(ValueError, match="not finite on set 'train_0'"):
        ProjNorm(**{**QUICK, "learning_rate": 1e30}).fit(META)
